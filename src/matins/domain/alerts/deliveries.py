"""Messages on their way: what is taken to be sent, its tries, and when it is tried next."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple
from uuid import UUID

import msgspec

from matins.domain.alerts.channels import ChannelKind
from matins.domain.alerts.edges import Turn
from matins.domain.values.ids import hashed_id

DeliveryKind = Literal["bad", "well", "still", "test"]
DeliveryState = Literal["waiting", "delivered", "given_up"]

GATHER: Final = timedelta(seconds=10)
"""So long a message waits for more of its kind."""

GATHER_BURST: Final = timedelta(minutes=1)
"""So long, from its beginning, once it tells of several jobs."""

GIVE_UP: Final = timedelta(days=1)
"""A message that has not arrived by then is given up."""

_FIRST_WAIT_S: Final = 5.0
_LONGEST_WAIT_S: Final = 900.0
_ERROR_MAX: Final = 500


class Notice(msgspec.Struct, frozen=True):
    """What a message says of one job: what turned, by which rule, since when and why."""

    job_id: UUID
    team: str
    job: str
    rule: str
    turn: Turn
    at: datetime
    since: datetime
    reason: str
    run_id: UUID | None = None

    @property
    def on(self) -> str:
        """What its rule is about: `late`, where the rule is `late 10m`."""
        return self.rule.partition(" ")[0]


class Try(msgspec.Struct, frozen=True):
    """One try to deliver a message; without an error it has arrived."""

    at: datetime
    took_s: float
    error: str = ""


class Delivery(msgspec.Struct, frozen=True):
    """A message and its tries, as it is shown. It is about so many `notices`."""

    id: UUID
    team: str
    channel: str
    kind: DeliveryKind
    state: DeliveryState
    made_at: datetime
    notices: int
    tries: list[Try] = []
    send_at: datetime | None = None
    ended_at: datetime | None = None


class Taken(NamedTuple):
    """A message that is ours to send since `taken_at`, and where: `sealed` has the URL.

    So many `tries` were before.
    """

    id: UUID
    channel_id: int
    channel: str
    channel_kind: ChannelKind
    sealed: str
    team: str
    kind: DeliveryKind
    made_at: datetime
    taken_at: datetime
    tries: int

    def after(self, error: str, took_s: float) -> Sent:
        """Return what comes of a try; a test is not tried again."""
        last_try = Try(self.taken_at, round(took_s, 3), error and error_line(error))
        if not error:
            return Sent("delivered", last_try, 0.0)
        is_late = self.kind == "test" or self.taken_at - self.made_at >= GIVE_UP
        return Sent("given_up" if is_late else "waiting", last_try, wait_s(self.tries + 1))


class Sent(NamedTuple):
    """What came of a try: how the message stands now, and until when it waits for the next."""

    state: DeliveryState
    last_try: Try
    wait_s: float


def kind_of(turn: Turn) -> DeliveryKind:
    """Return the kind of message by which a turn is told."""
    match turn:
        case Turn.BAD | Turn.FLAPPING:
            return "bad"
        case Turn.WELL:
            return "well"
        case Turn.STILL:
            return "still"


def wait_s(tries: int) -> float:
    """Return how long a message waits after so many tries in vain."""
    doubled: float = _FIRST_WAIT_S * 2.0 ** min(tries - 1, 10)
    return min(_LONGEST_WAIT_S, doubled)


def error_line(error: str) -> str:
    """Return an error as it is kept: one line, and not too long."""
    return " ".join(error.split())[:_ERROR_MAX] or "it failed without a word"


def delivery_id(channel_id: int, kind: str, edges: Sequence[UUID]) -> UUID:
    """Name the message that begins with these edges: whoever makes it again gives it that name."""
    words = b"".join(edge.bytes for edge in edges)
    return hashed_id(b"matins.message", b"%d %b %b" % (channel_id, kind.encode(), words))
