"""What alerts need of the world. See `domain.ports`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

from matins.domain.alerts.channels import Channel, ChannelRecord
from matins.domain.alerts.deliveries import Delivery, Notice, Sent, Taken
from matins.domain.alerts.judging import Judged, Subject
from matins.domain.alerts.texts import Detail
from matins.domain.jobs.alerting import AlertRules
from matins.domain.runs.attempts import Result


class Resealed(NamedTuple):
    """The secrets of a channel, sealed by the newest key, and whether they are others than before:
    then its failures are forgotten.
    """

    sealed: str
    is_changed: bool


class ChannelStore(Protocol):
    """The channels of all teams. Each method that changes one is a transaction under its lock."""

    async def put(
        self, team: str, channel: Channel, seal: Callable[[str | None], Resealed]
    ) -> tuple[ChannelRecord, bool]:
        """Write what `seal` makes of what is sealed so far, None where there is none. Return the
        channel, and whether it was there.

        The team is made on first use, and with its first channel its jobs are watched.
        """

    async def reseal(self, team: str, name: str, seal: Callable[[str], str]) -> ChannelRecord:
        """Replace what is sealed of a channel. Raises NotFoundError."""

    async def delete(self, team: str, name: str) -> ChannelRecord:
        """Delete a channel, with its deliveries; without any the team's jobs are not watched.

        Raises NotFoundError.
        """

    async def add_test(self, team: str, name: str, delivery: UUID) -> Delivery:
        """Put a message on the outbox that tests a channel. Raises NotFoundError."""


class RuleStore(Protocol):
    """The alert rules of teams. Each change lets the team's jobs be looked at anew."""

    async def put_rules(self, team: str, rules: AlertRules) -> AlertRules | None:
        """Write rules; return those of that name before. The team is made on first use."""

    async def delete_rules(self, team: str, name: str) -> AlertRules | None:
        """Delete rules; return what they were."""


class Content(NamedTuple):
    """What a message is about: the first notices of so many, and the details of the first few."""

    notices: list[Notice]
    total: int
    details: Sequence[Detail]


class Outbox(Protocol):
    """Messages on their way to channels."""

    async def take(self, limit: int, lease_s: float) -> list[Taken]:
        """Take messages that are due, one of each channel to which nobody sends.

        Nobody else sends to these channels before the lease is over, and nothing more is gathered
        into these messages.
        """

    async def content(self, delivery: UUID) -> Content:
        """Return what a message is about."""

    async def record(self, taken: Taken, sent: Sent) -> bool:
        """Write what came of a try, and let others send to the channel; False if others did."""

    async def purge(self, older_than_s: float, limit: int) -> int:
        """Delete messages that ended so long ago; return how many."""


class Announcement(NamedTuple):
    """An edge that is to be announced to the channels that are `named`; see `channels_of`."""

    edge_id: UUID
    named: Sequence[str]
    notice: Notice


class Lookout(Protocol):
    """The jobs that are looked at."""

    async def wake(self) -> None:
        """Let jobs be looked at that have changed since the last call, or of which a run died; and
        within a minute those that are bad and of which a run was made, has started or has ended.
        """

    async def due(self, limit: int) -> list[Subject]:
        """Return jobs that are to be looked at now. One that can't be read is put off."""

    async def write(
        self, looked: Sequence[tuple[Subject, Judged]], announcements: Sequence[Announcement]
    ) -> set[UUID]:
        """Write what looks have made of jobs, with the messages about it, in one transaction.

        Left out is what somebody else has looked at meanwhile; return the jobs that were written.
        """


class TakenPing(NamedTuple):
    """A ping that was let through: of which job, when, and when its run has started, if it said."""

    job_id: UUID
    now: datetime
    started_at: datetime | None


class Pinged(NamedTuple):
    """A run that something else tells of, by its end."""

    run_id: UUID
    taken: TakenPing
    due_at: datetime
    started_at: datetime | None
    result: Result


class CheckinStore(Protocol):
    """The check-ins of all teams."""

    async def rotate(self, team: str, name: str, token_hash: bytes) -> bool:
        """Replace the token of a check-in; False if there is no such."""

    async def take(self, token_hash: bytes, *, begins: bool) -> TakenPing | None:
        """Take a ping, and note the start of a run if it `begins`; None for a token that is not
        known, or is used too often.
        """

    async def knows(self, token_hash: bytes) -> bool:
        """Return whether a token is known."""

    async def record(self, pinged: Pinged) -> bool:
        """Write a run; False if its job has one with its due time. Its job is looked at anew."""
