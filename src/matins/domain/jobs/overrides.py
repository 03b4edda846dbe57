"""Decisions about overrides: single occurrences of a job that are to be skipped or moved."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from matins.domain.jobs.changes import LockedJob
from matins.domain.schedules.schedule import Override
from matins.domain.time.instants import SECOND, instant_problems
from matins.domain.values.errors import ConflictError, InvalidInputError, NotFoundError, Problem
from matins.domain.values.texts import length_problems

OVERRIDES_MAX: Final = 100
"""The most overrides of one job that still lie ahead."""

_REASON_MAX: Final = 200

Overrides = tuple[Override, ...]


def problems(override: Override) -> list[Problem]:
    """Return all that is wrong with an override by itself."""
    problems = []
    for where, instant in (("due_at", override.due_at), ("move_to", override.move_to)):
        if instant is None:
            continue
        problems += instant_problems(where, instant)
        if instant.microsecond:
            problems.append(
                Problem(where, "has a fraction of a second; a job is due at whole ones")
            )
    if override.move_to == override.due_at:
        problems.append(Problem("move_to", "is the due time itself; leave the override out"))
    return problems + length_problems("reason", override.reason, _REASON_MAX)


def overridden(
    job: LockedJob, wanted: Override, recorded_until: datetime, now: datetime
) -> Overrides:
    """Return a job's overrides with one more, or with one replaced; what is over is left out.

    Raises InvalidInputError if the job is not due then, ConflictError if it is too late.
    """
    rest = tuple(
        override for override in _ahead(job, recorded_until) if override.due_at != wanted.due_at
    )
    _check_open(job, wanted.due_at, now)
    if not _is_due(job, wanted.due_at):
        raise InvalidInputError.at("due_at", _not_due(job, wanted.due_at))
    if wanted.move_to is not None and job.spec.schedule and job.spec.schedule.follows_end:
        message = "is not for a job that follows the ends of its runs; skip it, and trigger a run"
        raise InvalidInputError.at("move_to", message)
    if wanted.move_to is not None and wanted.move_to <= now:
        raise InvalidInputError.at("move_to", f"{wanted.move_to.isoformat()} has passed")
    if len(rest) >= OVERRIDES_MAX:
        raise ConflictError(f"the job has {OVERRIDES_MAX} overrides ahead already; undo some")
    return tuple(sorted((*rest, wanted), key=lambda override: override.due_at))


def restored(
    job: LockedJob, due_at: datetime, recorded_until: datetime, now: datetime
) -> Overrides:
    """Return a job's overrides without the one for a due time, which then runs as scheduled.

    Raises NotFoundError if there is none, ConflictError if it is too late.
    """
    ahead = _ahead(job, recorded_until)
    rest = tuple(override for override in ahead if override.due_at != due_at)
    if len(rest) == len(ahead):
        raise NotFoundError(f"the job has no override for {due_at.isoformat()}")
    _check_open(job, due_at, now)
    if due_at <= now:
        raise ConflictError(
            f"{due_at.isoformat()} has passed; skip the occurrence, or move it elsewhere"
        )
    return rest


def _ahead(job: LockedJob, until: datetime) -> Overrides:
    """Leave out what is over: the due time and where it was moved to have their rows."""
    return tuple(
        override
        for override in job.timing.overrides
        if override.due_at > until or (override.move_to is not None and override.move_to > until)
    )


def _check_open(job: LockedJob, due_at: datetime, now: datetime) -> None:
    """Raise ConflictError if an occurrence has come, at its due time or where it was moved to."""
    moved = {override.due_at: override.move_to for override in job.timing.overrides}.get(due_at)
    if moved is not None and moved <= now:
        raise ConflictError(f"it was moved to {moved.isoformat()}, which has passed")
    if moved is None and due_at <= now:
        raise ConflictError(f"{due_at.isoformat()} has passed; what was due has its row")


def _is_due(job: LockedJob, instant: datetime) -> bool:
    """Return whether the schedule itself is due at an instant, overrides left aside."""
    timetable = job.timetable(override=False)
    if timetable is None:
        return False
    if timetable.following is not None:
        return job.next_due.due_at == instant
    return timetable.next_after(instant - SECOND) == instant


def _not_due(job: LockedJob, instant: datetime) -> str:
    timetable = job.timetable(override=False)
    near = timetable.next_after(instant) if timetable else None
    hint = f"; the next due time after it is {near.isoformat()}" if near else ""
    return f"the job is not due at {instant.isoformat()}{hint}"
