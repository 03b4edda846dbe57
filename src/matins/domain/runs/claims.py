"""What a scheduler loads, claims and writes back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from matins.domain.jobs.misfire import Misfire
from matins.domain.jobs.overlap import OverlapPolicy
from matins.domain.jobs.spec import JobState
from matins.domain.runs.admission.waiting import Waiting
from matins.domain.runs.states import Kind, RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.timetable import Timetable


class Mark(NamedTuple):
    """A place in what falls due in a partition, which is in the order of time, then id."""

    at: datetime
    id: UUID


BEGINNING: Final = Mark(datetime(1, 1, 1, tzinfo=UTC), UUID(int=0))
"""Before all that can be due."""


class DueJob(msgspec.Struct, frozen=True):
    """What a scheduler knows of a job: enough to claim its runs, and no more.

    All due times up to `next_due_at`, exclusive, are accounted for. None: nothing more will be due,
    because the schedule has come to its end or the job is not active.
    """

    id: UUID
    partition: int
    revision: int
    state: JobState
    schedule: Schedule
    timing: Timing
    misfire: Misfire
    pool: str
    next_due_at: datetime | None
    next_fire_at: datetime | None
    overlap: OverlapPolicy
    open_since: datetime
    """All its runs that were due before are over; known only where overlap is not allowed."""
    team_id: int = 0
    priority: int = 1
    fault: str = ""
    """Why its stored schedule or misfire policy can't be read; both are empty then."""

    def timetable(self) -> Timetable:
        """Return when it is due. Raises ScheduleError."""
        return self.timing.compile(self.schedule, self.id)


class Claim(msgspec.Struct, frozen=True):
    """A run to be made: `queued`, `waiting` to be asked about, or `skipped` with its reason.

    What is to be queued waits as well, if anything must be asked about it: so if any run of its job
    due from `open_since` on is unfinished. None: nobody looks for one.

    A skipped claim may stand for `due_count` due times in a row, from `due_at` to `due_until`. Such
    a range is claimed together with the step past it, to what is due next, or to nothing: its key
    holds off a second row for the first of them only. It is made where no row lies within it, and
    is the last claim of its job in a batch. `follows_end`: the job's next due time
    follows the end of this run. `rank`: its place in the queue; None: by the time of the claim.
    """

    run_id: UUID
    job_id: UUID
    revision: int
    partition: int
    pool: str
    due_at: datetime
    fire_at: datetime
    kind: Kind = Kind.SCHEDULED
    state: RunState = RunState.QUEUED
    reason: str = ""
    due_until: datetime | None = None
    due_count: int = 1
    next_due_at: datetime | None = None
    next_fire_at: datetime | None = None
    follows_end: bool = False
    priority: int = 1
    rank: int | None = None
    open_since: datetime | None = None


class Claimed(msgspec.Struct, frozen=True):
    """The answer to a batch of claims.

    `made` holds the runs that this very claim inserted. `refused` are partitions whose lease the
    fence did not find: nothing of theirs was written. `stale` are jobs whose revision has moved on,
    that are no longer active, or, where they follow ends or catch up, that are being changed or
    have stepped past a claim: load them again. What is in none of these had its row before, or is a
    range that met one.
    `waiting` are the places of those that were made and wait to be asked about.
    """

    made: set[UUID] = set()
    refused: set[int] = set()
    stale: set[UUID] = set()
    waiting: list[Waiting] = []

    def with_(self, other: Claimed) -> Claimed:
        """Return the answer to both batches."""
        return Claimed(
            self.made | other.made,
            self.refused | other.refused,
            self.stale | other.stale,
            self.waiting + other.waiting,
        )


class Advance(msgspec.Struct, frozen=True):
    """A job's next due time, written some seconds after its claims, in batches.

    Every due time up to `accounted_until` has its row. All runs due before `open_since` are over;
    None: that is not known.
    """

    job_id: UUID
    revision: int
    next_due_at: datetime | None
    next_fire_at: datetime | None
    accounted_until: datetime
    open_since: datetime | None = None


class AwaitedEnd(msgspec.Struct, frozen=True):
    """A job that follows the ends of its runs, and waits for what follows its last one.

    That run was due at `due_at`, and has ended. `run_count` is how many due times its schedule has
    had so far; it is counted only with `max_runs`.
    """

    job: DueJob
    due_at: datetime
    ended_at: datetime
    run_count: int = 0


class FollowUp(msgspec.Struct, frozen=True):
    """The due time that follows the end of the run that was due at `follows`; None: none does."""

    job_id: UUID
    revision: int
    follows: datetime
    next_due_at: datetime | None
    next_fire_at: datetime | None
