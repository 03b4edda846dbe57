"""What the deeds of owners make of a job: decided from where it stands, and the present."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Literal

import msgspec

from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.misfire import RUN_MAX, Missed
from matins.domain.jobs.overrides import overridden, restored
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.schedules.schedule import Override
from matins.domain.values.errors import ConflictError


class JobChange(msgspec.Struct, frozen=True):
    """What a job is to become.

    `reason` is why due times that have passed are skipped, all but the newest `run_max`; with None
    the schedule goes on, and nothing is skipped. Without `overrides` a job keeps those that it has,
    where they still mean something. `asks`: not while other jobs follow it.
    """

    spec: JobSpec
    state: JobState
    change: Literal["changed", "paused", "resumed", "deleted"]
    reason: str | None = None
    run_max: int = 0
    overrides: tuple[Override, ...] | None = None
    asks: bool = False


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
        return JobChange(spec, state, "changed")
    return JobChange(spec, state, "changed", "changed" if state is JobState.ACTIVE else job.state)


def pause(job: LockedJob) -> JobChange | None:
    """Decide what a pause makes of a job."""
    if job.state is JobState.PAUSED:
        return None
    _refuse_quarantined(job)
    return JobChange(job.spec, JobState.PAUSED, "paused", "paused")


def resume(job: LockedJob, missed: Missed) -> JobChange | None:
    """Decide what becomes of a paused or quarantined job that goes on, and of what it missed."""
    if job.state is JobState.ACTIVE:
        return None
    return JobChange(job.spec, JobState.ACTIVE, "resumed", job.state, RUN_MAX[missed])


def override(job: LockedJob, wanted: Override, moment: Moment) -> JobChange | None:
    """Decide what a job becomes with one occurrence skipped or moved."""
    _refuse_quarantined(job)
    overrides = overridden(job, wanted, moment.recorded_until, moment.now)
    if overrides == job.timing.overrides:
        return None
    return JobChange(job.spec, job.state, "changed", overrides=overrides)


def restore(job: LockedJob, due_at: datetime, moment: Moment) -> JobChange:
    """Decide what a job becomes with one occurrence as its schedule says."""
    _refuse_quarantined(job)
    overrides = restored(job, due_at, moment.recorded_until, moment.now)
    return JobChange(job.spec, job.state, "changed", overrides=overrides)


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


def _refuse_quarantined(job: LockedJob) -> None:
    """Keep the reason of a quarantine on the job until its owner mends it."""
    if job.state is JobState.QUARANTINED:
        raise ConflictError(
            "the job is quarantined, so nothing of it is claimed; mend or delete it"
        )
