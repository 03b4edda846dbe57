"""Replays of many dead letters, at a bounded rate: what is asked for, and how far one may go."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import ClassVar, Final
from uuid import UUID

import msgspec

from matins.domain.jobs.limits import parse_rate, rate_problems
from matins.domain.runs.dead import DeadChoice
from matins.domain.values.errors import Problem

RATE: Final = "10/s"
"""The rate of who says none."""

STEP_MAX: Final = 500
"""The most runs that are replayed in a statement."""

_BURST: Final = timedelta(seconds=1)
"""What a replay may make up for at once when nobody worked it off for a while."""


class ReplayState(StrEnum):
    """Where a replay stands."""

    ACTIVE = "active"
    CANCELLED = "cancelled"
    DONE = "done"


class ReplayDead(DeadChoice, frozen=True, forbid_unknown_fields=True):
    """Which dead letters are replayed, and at what rate: 5/s, 100/m, 20/h or 1/d."""

    EXAMPLE: ClassVar[str] = '{job: nightly, rate: "100/m"}'

    rate: str = RATE

    def problems(self) -> list[Problem]:
        """Return all that is wrong with it."""
        return super().problems() + rate_problems("rate", self.rate)


class Replay(msgspec.Struct, frozen=True, omit_defaults=False):
    """A replay as its owner sees it: of `planned` letters so many were `replayed`.

    Those that can't be are `left_out`, and stay open. By its rate it ends at `ends_at`.
    """

    id: UUID
    team: str
    state: ReplayState
    rate: str
    planned: int
    replayed: int
    left_out: int
    made_at: datetime
    made_by: str
    until: datetime
    job: str | None = None
    fingerprint: str | None = None
    since: datetime | None = None
    finished_at: datetime | None = None
    ends_at: datetime | None = None


class OpenReplay(msgspec.Struct, frozen=True):
    """A replay that is not over, as a scheduler finds it at `now`.

    Letters of runs up to `mark` are decided. The rate is used up to `paced_at`; `step` rises with
    each step, and with a cancel.
    """

    id: UUID
    rate: str
    mark: UUID | None
    paced_at: datetime
    step: int
    now: datetime

    @property
    def due(self) -> int:
        """How many runs may be replayed now."""
        return max(0, min(STEP_MAX, (self.now - self._begin) // parse_rate(self.rate).spacing))

    @property
    def _begin(self) -> datetime:
        """From when on the rate is not used yet, however long nobody came by."""
        burst = max(_BURST, parse_rate(self.rate).spacing)
        return max(self.paced_at, self.now - burst)

    def paced(self, count: int) -> datetime:
        """Return up to when the rate is used once so many more are replayed."""
        return self._begin + count * parse_rate(self.rate).spacing


class ReplayStep(msgspec.Struct, frozen=True):
    """The runs that are replayed in one statement; `is_last`: there are no more letters."""

    replay: OpenReplay
    run_ids: Sequence[UUID]
    mark: UUID | None
    paced_at: datetime
    is_last: bool


def step(replay: OpenReplay, run_ids: Sequence[UUID], limit: int) -> ReplayStep:
    """Return the next step of a replay, of which these are the next runs, up to a limit."""
    mark, count = run_ids[-1] if run_ids else replay.mark, len(run_ids)
    return ReplayStep(replay, run_ids, mark, replay.paced(count), is_last=count < limit)


def end_of(replay: Replay, now: datetime) -> Replay:
    """Return a replay with when it will end by its rate, if it is active."""
    if replay.state is not ReplayState.ACTIVE:
        return replay
    left = max(0, replay.planned - replay.replayed - replay.left_out)
    return msgspec.structs.replace(replay, ends_at=now + left * parse_rate(replay.rate).spacing)
