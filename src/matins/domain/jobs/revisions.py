"""What is written when a job is made or changed: a revision of it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec

from matins.domain.calendars.compiled import CompiledCalendar
from matins.domain.jobs.authors import NOBODY, Author
from matins.domain.jobs.changes import LockedJob, timetable_of
from matins.domain.jobs.decisions import JobChange
from matins.domain.jobs.pausing import Pause
from matins.domain.jobs.spec import Job, JobSpec, JobState
from matins.domain.time.instants import SECOND
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.next_due import NextDue, chain_from, next_due
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.errors import InvalidInputError, ScheduleError


class JobRevision(msgspec.Struct, frozen=True):
    """What a job is from `at` on. `calendars` are the versions that `timing` keeps to."""

    spec: JobSpec
    state: JobState
    at: datetime
    timing: Timing
    calendars: tuple[int, ...] = ()
    next_due: NextDue = NextDue()
    reason: str = ""
    pause: Pause = Pause()
    author: Author = NOBODY


def first_revision(
    job_id: UUID,
    spec: JobSpec,
    now: datetime,
    calendars: tuple[int, ...] = (),
    closures: tuple[CompiledCalendar, ...] = (),
) -> JobRevision:
    """Return a new job's first revision, due after now. Raises InvalidInputError."""
    timing = Timing(now.replace(microsecond=0), now, closures)
    timetable = compiled(spec, job_id, timing)
    due = timetable.next_after(now) or timetable.next_after_end(now) if timetable else None
    first = chain_from(now) if spec.upstream else next_due(timetable, due)
    return JobRevision(spec, JobState.ACTIVE, now, timing, calendars, first)


def ongoing(job: LockedJob, change: JobChange, now: datetime, reason: str = "") -> JobRevision:
    """Return the next revision of a job whose schedule goes on. Raises InvalidInputError."""
    timing, due = job.timing, job.next_due
    if change.overrides is not None:
        timing = msgspec.structs.replace(timing, overrides=change.overrides)
    if change.state is not JobState.ACTIVE:
        due = NextDue(follows=due.follows) if change.spec.upstream else NextDue()
    elif change.overrides is not None and due.due_at is not None:
        due = _with_overrides(compiled(change.spec, job.id, timing), due.due_at, timing, now)
    reason = reason or change.pause.reason
    return JobRevision(
        change.spec, change.state, now, timing, job.calendars, due, reason, change.pause
    )


def compiled(spec: JobSpec, job_id: UUID, timing: Timing) -> Timetable | None:
    """Return when a job is due that is being written; None without a schedule.

    Raises InvalidInputError.
    """
    try:
        return timetable_of(spec, job_id, timing)
    except ScheduleError as error:
        raise InvalidInputError.at("schedule", str(error)) from error


def first_view(job_id: UUID, team: str, revision: JobRevision) -> Job:
    """Return a job that was just made, as its owner sees it."""
    return _view(job_id, team, 1, revision.at, revision)


def revised_view(job: LockedJob, revision: JobRevision) -> Job:
    """Return a job that was just changed, as its owner sees it."""
    return _view(job.id, job.team, job.revision + 1, job.created_at, revision)


def unchanged_view(job: LockedJob) -> Job:
    """Return a job that stays as it is, as its owner sees it."""
    return Job(
        id=job.id,
        team=job.team,
        revision=job.revision,
        state=job.state,
        spec=job.spec,
        created_at=job.created_at,
        changed_at=job.changed_at,
        next_due_at=job.next_due.due_at,
        next_fire_at=job.next_due.fire_at,
        reason=job.reason,
        overrides=list(job.timing.overrides),
        paused_until=job.paused_until,
    )


def _view(job_id: UUID, team: str, number: int, created_at: datetime, revision: JobRevision) -> Job:
    return Job(
        id=job_id,
        team=team,
        revision=number,
        state=revision.state,
        spec=revision.spec,
        created_at=created_at,
        changed_at=revision.at,
        next_due_at=revision.next_due.due_at,
        next_fire_at=revision.next_due.fire_at,
        reason=revision.reason,
        overrides=list(revision.timing.overrides),
        paused_until=revision.pause.until,
    )


def _with_overrides(
    timetable: Timetable | None, due: datetime, timing: Timing, now: datetime
) -> NextDue:
    """Return what is next with other overrides, of a job whose next due time was `due`."""
    assert timetable is not None  # it has a next due time
    if timetable.following is not None:
        return next_due(timetable, due)
    # What lies before the next due time has its row, but a moved one may be new.
    moves = [
        override.move_to
        for override in timing.overrides
        if override.move_to and override.move_to > now
    ]
    return next_due(timetable, timetable.next_after(min([due, *moves]) - SECOND))
