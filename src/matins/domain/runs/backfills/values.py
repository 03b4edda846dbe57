"""What an owner asks of a backfill, and where one stands."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import ClassVar, Final, Literal
from uuid import UUID

import msgspec

from matins.domain.jobs.spec import JobSpec
from matins.domain.runs.states import RunState
from matins.domain.time.instants import FIRST_DUE, instant_problems
from matins.domain.values.errors import Problem
from matins.domain.values.texts import length_problems

DUE_MAX: Final = 1_000_000
"""The most due times of one backfill."""

LIMIT_MAX: Final = 1_000
"""The most runs of one backfill at once."""

LIST_MAX: Final = 1_000
"""The most ranges that are listed of what is left out."""

_REASON_MAX: Final = 500

Order = Literal["oldest", "newest"]
"""Which due times are made up for first."""


class BackfillState(StrEnum):
    """Where a backfill stands."""

    ACTIVE = "active"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    DONE = "done"


class BackfillRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The due times to make up for: from `since`, before `until`, or before now.

    At most `limit` of their runs are unfinished at once. `again`: also those that ran.
    """

    EXAMPLE: ClassVar[str] = '{since: "2026-11-01T00:00:00Z", until: "2026-11-08T00:00:00Z"}'

    since: datetime
    until: datetime | None = None
    limit: int = 1
    order: Order = "oldest"
    again: bool = False
    reason: str = ""

    def problems(self, now: datetime) -> list[Problem]:
        """Return all that is wrong with it, if it is asked now."""
        problems = instant_problems("since", self.since)
        if self.until is not None:
            problems += instant_problems("until", self.until)
        if not problems:
            problems = _span_problems(self.since, self.until or now, now)
        if not 1 <= self.limit <= LIMIT_MAX:
            problems.append(Problem("limit", f"must be from 1 to {LIMIT_MAX}"))
        return problems + length_problems("reason", self.reason, _REASON_MAX)


def kind_problems(spec: JobSpec) -> list[Problem]:
    """Return why a job can't be backfilled whose due times are on no schedule."""
    if spec.schedule is None:
        message = "has no schedule, so that it was never due; trigger it instead"
        return [Problem("job", message)]
    if spec.schedule.follows_end:
        message = "is due when a run before has ended, so that no due time was missed; trigger it"
        return [Problem("job", message)]
    if chain := spec.schedule.chain:
        message = f"is due with the runs of {', '.join(chain.jobs)}; replay those, or trigger it"
        return [Problem("job", message)]
    return []


class Span(msgspec.Struct, frozen=True):
    """Which due times a backfill is for: from `since`, before `until`; both are whole seconds."""

    since: datetime
    until: datetime
    order: Order = "oldest"
    again: bool = False


class LeftOut(msgspec.Struct, frozen=True):
    """Due times in a row that don't run, and why; with `due_count` 0 a time without any."""

    first_at: datetime
    last_at: datetime
    due_count: int
    reason: str


class BackfillPlan(msgspec.Struct, frozen=True):
    """What a backfill comes to: so many due times, and those of them `to_run`.

    `left_out` counts the others by their reasons; `ranges` lists them, the first 1000.
    """

    since: datetime
    until: datetime
    due: int
    to_run: int
    first_due_at: datetime | None = None
    last_due_at: datetime | None = None
    left_out: Mapping[str, int] = {}
    ranges: list[LeftOut] = []


class BackfillCounts(msgspec.Struct, frozen=True):
    """How far a backfill has come.

    `planned`: runs as they were counted when it began; `made`: runs that were made so far;
    `left_out`: due times so far that don't run.
    """

    planned: int = 0
    made: int = 0
    left_out: int = 0
    succeeded: int = 0
    dead: int = 0
    cancelled: int = 0
    skipped: int = 0

    @property
    def ended(self) -> int:
        """How many runs have ended."""
        return self.succeeded + self.dead + self.cancelled + self.skipped


class Backfill(msgspec.Struct, frozen=True, omit_defaults=False):
    """A backfill as its owner sees it.

    `unfinished` counts its runs that have not ended, by state. `per_hour` is how many have ended
    in an hour since it began, or was resumed; by that it ends at `ends_at`.
    """

    id: UUID
    team: str
    job: str
    state: BackfillState
    since: datetime
    until: datetime
    order: Order
    limit: int
    again: bool
    counts: BackfillCounts
    made_at: datetime
    finished_at: datetime | None = None
    reason: str = ""
    unfinished: Mapping[RunState, int] = {}
    per_hour: float | None = None
    ends_at: datetime | None = None
    left_out: Mapping[str, int] = {}
    ranges: list[LeftOut] = []


class BackfillStarted(msgspec.Struct, frozen=True, omit_defaults=False):
    """What a backfill comes to, and the backfill itself; None after a dry run."""

    plan: BackfillPlan
    backfill: Backfill | None = None


class CancelBackfill(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to cancel a backfill: `runs`, with the runs that it has made and that have not ended."""

    runs: bool = False


class Rated(msgspec.Struct, frozen=True):
    """From when on the pace of a backfill is measured, and how many runs had ended by then."""

    at: datetime
    ended: int


def pace(
    counts: BackfillCounts, unfinished: int, rated: Rated, now: datetime, *, walked: bool
) -> tuple[float | None, datetime | None]:
    """Return how many runs end in an hour, and when the last one will; None: not known yet."""
    elapsed_s = (now - rated.at).total_seconds()
    ended = counts.ended - rated.ended
    if ended <= 0 or elapsed_s <= 0:
        return None, None
    left = unfinished if walked else max(counts.planned - counts.made, 0) + unfinished
    return ended / elapsed_s * 3600, now + timedelta(seconds=left * elapsed_s / ended)


def _span_problems(since: datetime, until: datetime, now: datetime) -> list[Problem]:
    problems = []
    if since < FIRST_DUE:
        problems.append(Problem("since", "lies before 1970"))
    if until > now:
        message = "lies ahead; a backfill is for the past, so leave it out to mean now"
        problems.append(Problem("until", message))
    elif since >= until:
        problems.append(Problem("since", "must lie before `until`, and before now"))
    return problems
