"""The ledger: every due time has a row. What still lacks one when a job changes, and its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from matins.domain.calendars.closures import Closures
from matins.domain.jobs.spec import PRIORITIES, JobSpec, JobState
from matins.domain.runs.claims import Claim
from matins.domain.runs.states import Kind, RunState
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.ids import run_id

SECOND = timedelta(seconds=1)

RANGE_MIN = 10
"""Up to so many skipped due times in a row get a row each; more share one."""


class LockedJob(msgspec.Struct, frozen=True):
    """A stored job as a change of it finds it.

    All due times up to `accounted_until`, inclusive, have their rows; later ones may have. If it
    follows the ends of its runs: `follows` is the due time of the one that it waits for.
    """

    id: UUID
    team_id: int
    partition: int
    revision: int
    state: JobState
    spec: JobSpec
    timing: Timing
    calendars: tuple[int, ...]
    changed_at: datetime
    accounted_until: datetime
    follows: datetime | None = None
    is_behind: bool = False
    """Whether one of its `calendars` has been replaced by a newer version."""

    def timetable(self, *, override: bool = True) -> Timetable | None:
        """When it is due; None without a schedule. Raises ScheduleError.

        `override`: with its overrides.
        """
        timing = self.timing if override else msgspec.structs.replace(self.timing, overrides=())
        return timetable_of(self.spec, self.id, timing)


def timetable_of(spec: JobSpec, job_id: UUID, timing: Timing) -> Timetable | None:
    """When a job is due; None without a schedule. Raises ScheduleError."""
    if spec.schedule is None:
        return None
    return timing.compile(spec.schedule, job_id)


def retimed(job: LockedJob, spec: JobSpec, closures: tuple[Closures, ...], now: datetime) -> Timing:
    """Give what decides about due times from now on. A new schedule counts its runs anew.

    Overrides stay where the new schedule has a due time for them. Raises ScheduleError.
    """
    since = job.timing.since if spec.schedule == job.spec.schedule else now
    timing = msgspec.structs.replace(job.timing, since=since, closures=closures, overrides=())
    timetable = timetable_of(spec, job.id, timing)
    if timetable is None:
        return timing
    if timetable.following is not None:
        kept = job.timing.overrides if spec.schedule == job.spec.schedule else ()
    else:
        overrides = job.timing.overrides
        kept = tuple(
            it for it in overrides if timetable.next_after(it.due_at - SECOND) == it.due_at
        )
    return msgspec.structs.replace(timing, overrides=kept)


def unaccounted(
    due: Sequence[datetime], rows: Iterable[tuple[datetime, datetime | None]]
) -> list[list[datetime]]:
    """Give the stretches of due times that no row covers.

    Both are in order; a row covers its due time, or all from that one up to a second.
    """
    stretches: list[list[datetime]] = [[]]
    covering = iter(rows)
    first, last = next(covering, (None, None))
    for at in due:
        while first is not None and (last or first) < at:
            first, last = next(covering, (None, None))
        if first is None or at < first:
            stretches[-1].append(at)
        elif stretches[-1]:
            stretches.append([])
    return [stretch for stretch in stretches if stretch]


def skip(
    job: LockedJob, timetable: Timetable, stretch: Sequence[datetime], why: str
) -> list[Claim]:
    """Claims that put a stretch of due times on record as skipped: few singly, many as a range."""
    if len(stretch) > RANGE_MIN:
        return [_claim(job, timetable, stretch[0], reason=why, until=stretch[-1], n=len(stretch))]
    return [_claim(job, timetable, at, reason=why) for at in stretch]


def catch_up(job: LockedJob, timetable: Timetable, due: Sequence[datetime]) -> list[Claim]:
    """Claims that run due times which have passed."""
    return [_claim(job, timetable, at) for at in due]


def _claim(  # the parts of a row
    job: LockedJob,
    timetable: Timetable,
    due: datetime,
    *,
    reason: str = "",
    until: datetime | None = None,
    n: int = 1,
) -> Claim:
    return Claim(
        run_id=run_id(job.id, due, Kind.SCHEDULED),
        job_id=job.id,
        team_id=job.team_id,
        revision=job.revision,
        partition=job.partition,
        pool=job.spec.pool,
        priority=PRIORITIES[job.spec.priority],
        due_at=due,
        fire_at=timetable.fire_time(due),
        state=RunState.SKIPPED if reason else RunState.QUEUED,
        reason=reason,
        due_until=until,
        due_count=n,
    )
