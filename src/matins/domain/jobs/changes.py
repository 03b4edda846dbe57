"""A stored job as a change of it finds it, and when it is due from the change on."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import msgspec

from matins.domain.calendars.compiled import CompiledCalendar
from matins.domain.jobs.misfire import Missed
from matins.domain.jobs.pausing import Pause
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.time.instants import SECOND
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.next_due import NextDue
from matins.domain.timetables.timetable import Timetable


class JobRef(NamedTuple):
    """A job as somebody has read it, who wants to change it only if it is still so."""

    team: str
    name: str
    id: UUID
    revision: int


class LockedJob(msgspec.Struct, frozen=True):
    """A stored job as a change of it finds it."""

    id: UUID
    team: str
    team_id: int
    partition: int
    revision: int
    state: JobState
    spec: JobSpec
    timing: Timing
    calendars: tuple[int, ...]
    created_at: datetime
    changed_at: datetime
    next_due: NextDue = NextDue()
    reason: str = ""
    is_behind: bool = False
    """Whether one of its `calendars` has been replaced by a newer version."""
    paused_until: datetime | None = None
    resume_missed: Missed = "skip"

    @property
    def pause(self) -> Pause:
        """Return the pause that the job is in."""
        return Pause(self.reason, self.paused_until, self.resume_missed)

    def timetable(self, *, override: bool = True) -> Timetable | None:
        """Return when it is due; None without a schedule. Raises ScheduleError.

        `override`: with its overrides.
        """
        timing = self.timing if override else msgspec.structs.replace(self.timing, overrides=())
        return timetable_of(self.spec, self.id, timing)


def timetable_of(spec: JobSpec, job_id: UUID, timing: Timing) -> Timetable | None:
    """Return when a job is due; None without a schedule. Raises ScheduleError."""
    if spec.schedule is None:
        return None
    return timing.compile(spec.schedule, job_id)


def retimed(
    job: LockedJob, spec: JobSpec, closures: tuple[CompiledCalendar, ...], now: datetime
) -> Timing:
    """Return what decides about due times from now on. A new schedule counts its runs anew.

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
            override
            for override in overrides
            if timetable.next_after(override.due_at - SECOND) == override.due_at
        )
    return msgspec.structs.replace(timing, overrides=kept)
