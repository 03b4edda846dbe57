"""What the deeds of owners make of a job: decided from where it stands, and the present."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Literal

import msgspec

from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.misfire import COUNT_MAX, RUN_MAX, Missed, split_pending
from matins.domain.jobs.overrides import overridden, restored
from matins.domain.jobs.pausing import NO_END, Pause
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.schedules.schedule import Override
from matins.domain.time.instants import SECOND
from matins.domain.values.errors import ConflictError, ScheduleError, check
from matins.domain.values.texts import label_problems


class JobChange(msgspec.Struct, frozen=True):
    """What a job is to become.

    `reason` is why due times that have passed are skipped, all but the newest `run_max`; with None
    the schedule goes on, and nothing is skipped. Without `overrides` a job keeps those that it has,
    where they still mean something. `asks`: not while other jobs follow it. `pause` is that of a
    paused job.
    """

    spec: JobSpec
    state: JobState
    change: Literal["changed", "paused", "resumed", "deleted"]
    reason: str | None = None
    run_max: int = 0
    overrides: tuple[Override, ...] | None = None
    asks: bool = False
    pause: Pause = NO_END


class Moment(msgspec.Struct, frozen=True):
    """When a change is decided: due times up to `recorded_until`, inclusive, have their rows."""

    now: datetime
    recorded_until: datetime


Decide = Callable[[LockedJob, Moment], JobChange | None]
"""What a job is to become; None: it stays as it is. Raises what its owner is told."""


def replace(job: LockedJob, spec: JobSpec) -> JobChange | None:
    """Decide what a new spec makes of a job. A paused one stays paused, a broken one is mended."""
    state = JobState.PAUSED if job.state is JobState.PAUSED else JobState.ACTIVE
    if spec == job.spec and state is job.state:
        return None
    if job.state is JobState.QUARANTINED:
        return JobChange(spec, state, "changed", job.state)
    if spec.schedule == job.spec.schedule:
        return JobChange(spec, state, "changed", pause=_kept(job))
    reason = "changed" if state is JobState.ACTIVE else job.state
    return JobChange(spec, state, "changed", reason, pause=_kept(job))


def relabel(
    job: LockedJob, labels: Mapping[str, str], dropped: Collection[str]
) -> JobChange | None:
    """Decide what a job becomes with these labels besides, and without those that are dropped."""
    _refuse_quarantined(job)
    kept = {name: value for name, value in job.spec.labels.items() if name not in dropped}
    spec = msgspec.structs.replace(job.spec, labels=kept | dict(labels))
    check(label_problems(spec.labels))
    return replace(job, spec)


def pause(job: LockedJob, wanted: Pause, moment: Moment) -> JobChange | None:
    """Decide what a pause makes of a job. It takes the place of the one that the job is in."""
    if job.state is JobState.PAUSED and job.pause == wanted:
        return None
    _refuse_quarantined(job)
    check(wanted.problems(moment.now))
    reason = None if job.state is JobState.PAUSED else "paused"
    return JobChange(job.spec, JobState.PAUSED, "paused", reason, pause=wanted)


def pause_if_active(job: LockedJob, wanted: Pause, moment: Moment) -> JobChange | None:
    """Decide what a pause of many jobs makes of one: one that is paused keeps its own pause."""
    return None if job.state is JobState.PAUSED else pause(job, wanted, moment)


def resume(job: LockedJob, missed: Missed) -> JobChange | None:
    """Decide what becomes of a paused or quarantined job that goes on, and of what it missed."""
    if job.state is JobState.ACTIVE:
        return None
    return JobChange(job.spec, JobState.ACTIVE, "resumed", job.state, RUN_MAX[missed])


def resume_if_paused(job: LockedJob, missed: Missed) -> JobChange | None:
    """Decide what becomes of one of many jobs that go on: one that is quarantined stays so."""
    return resume(job, missed) if job.state is JobState.PAUSED else None


def end_pause(job: LockedJob, moment: Moment) -> JobChange | None:
    """Decide what becomes of a job whose pause may be over, and of what it missed.

    What was due from the end of the pause on is late and no more: its misfire policy decides.
    """
    until = job.paused_until
    if job.state is not JobState.PAUSED or until is None or until > moment.now:
        return None
    count = max(RUN_MAX[job.resume_missed], _late(job, until, moment.now))
    return JobChange(job.spec, JobState.ACTIVE, "resumed", job.state, count)


def override(job: LockedJob, wanted: Override, moment: Moment) -> JobChange | None:
    """Decide what a job becomes with one occurrence skipped or moved."""
    _refuse_quarantined(job)
    overrides = overridden(job, wanted, moment.recorded_until, moment.now)
    if overrides == job.timing.overrides:
        return None
    return JobChange(job.spec, job.state, "changed", overrides=overrides, pause=_kept(job))


def restore(job: LockedJob, due_at: datetime, moment: Moment) -> JobChange:
    """Decide what a job becomes with one occurrence as its schedule says."""
    _refuse_quarantined(job)
    overrides = restored(job, due_at, moment.recorded_until, moment.now)
    return JobChange(job.spec, job.state, "changed", overrides=overrides, pause=_kept(job))


def sync_calendars(job: LockedJob) -> JobChange | None:
    """Decide whether a job takes the current versions of its calendars.

    One that does not run now takes them as it goes on.
    """
    if job.state is not JobState.ACTIVE or not job.is_behind:
        return None
    return JobChange(job.spec, job.state, "changed", "changed")


def delete(job: LockedJob, *, force: bool = True) -> JobChange:
    """Decide what the end of a job makes of it; without `force` not while others follow it."""
    reason = "deleted" if job.state is JobState.ACTIVE else job.state
    return JobChange(job.spec, JobState.DELETED, "deleted", reason, asks=not force)


def _kept(job: LockedJob) -> Pause:
    """Return the pause in which a job stays, if it is paused."""
    return job.pause if job.state is JobState.PAUSED else NO_END


def _late(job: LockedJob, since: datetime, now: datetime) -> int:
    """Return how many due times since then are to run by the misfire policy of a job."""
    try:
        timetable = job.timetable()
    except ScheduleError:
        return 0
    if timetable is None or timetable.following is not None:
        return 0
    due = timetable.due_between(since - SECOND, now, 2 * COUNT_MAX)
    groups = split_pending(due, job.spec.misfire, now)
    return sum(len(group.due) for group in groups if group.skip_reason is None)


def _refuse_quarantined(job: LockedJob) -> None:
    """Keep the reason of a quarantine on the job until its owner mends it."""
    if job.state is JobState.QUARANTINED:
        raise ConflictError(
            "the job is quarantined, so nothing of it is claimed; mend or delete it"
        )
