"""Decisions about exemptions: single occurrences of a job that are to be skipped or moved."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from matins.domain.errors import ConflictError, InvalidInputError, NotFoundError, Problem
from matins.domain.instants import instant_problems
from matins.domain.ledger import SECOND, Standing
from matins.domain.schedules.schedule import Exemption
from matins.domain.texts import length_problems

EXEMPTIONS_MAX: Final = 100
"""The most exemptions of one job that still lie ahead."""

_WHY_MAX: Final = 200

Exemptions = tuple[Exemption, ...]


def problems(exemption: Exemption) -> list[Problem]:
    """All that is wrong with an exemption by itself."""
    found = []
    for where, instant in (("due_at", exemption.due_at), ("move_to", exemption.move_to)):
        if instant is None:
            continue
        found += instant_problems(where, instant)
        if instant.microsecond:
            found.append(Problem(where, "has a fraction of a second; a job is due at whole ones"))
    if exemption.move_to == exemption.due_at:
        found.append(Problem("move_to", "is the due time itself; leave the exemption out"))
    return found + length_problems("why", exemption.why, _WHY_MAX)


def exempted(job: Standing, wanted: Exemption, now: datetime) -> Exemptions:
    """Give a job's exemptions with one more, or with one replaced.

    Raises InvalidInputError if the job is not due then, ConflictError if it is too late.
    """
    others = tuple(it for it in _ahead(job) if it.due_at != wanted.due_at)
    _check_open(job, wanted.due_at, now)
    if not _is_due(job, wanted.due_at):
        raise InvalidInputError.at("due_at", _not_due(job, wanted.due_at))
    if wanted.move_to is not None and job.spec.schedule and job.spec.schedule.follows_end:
        message = "is not for a job that follows the ends of its runs; skip it, and trigger a run"
        raise InvalidInputError.at("move_to", message)
    if wanted.move_to is not None and wanted.move_to <= now:
        raise InvalidInputError.at("move_to", f"{wanted.move_to.isoformat()} has passed")
    if len(others) >= EXEMPTIONS_MAX:
        raise ConflictError(f"the job has {EXEMPTIONS_MAX} exemptions ahead already; undo some")
    return tuple(sorted((*others, wanted), key=lambda it: it.due_at))


def readmitted(job: Standing, due_at: datetime, now: datetime) -> Exemptions:
    """Give a job's exemptions without the one for a due time, which then runs as scheduled.

    Raises NotFoundError if there is none, ConflictError if it is too late.
    """
    ahead = _ahead(job)
    others = tuple(it for it in ahead if it.due_at != due_at)
    if len(others) == len(ahead):
        raise NotFoundError(f"the job has no exemption for {due_at.isoformat()}")
    _check_open(job, due_at, now)
    if due_at <= now:
        raise ConflictError(
            f"{due_at.isoformat()} has passed; skip the occurrence, or move it elsewhere"
        )
    return others


def _ahead(job: Standing) -> Exemptions:
    """Leave out what is over: the due time and where it was moved to have their rows."""
    until = job.accounted_until
    return tuple(
        it
        for it in job.timing.exemptions
        if it.due_at > until or (it.move_to is not None and it.move_to > until)
    )


def _check_open(job: Standing, due_at: datetime, now: datetime) -> None:
    """Raise ConflictError if an occurrence has come, at its due time or where it was moved to."""
    moved = {it.due_at: it.move_to for it in job.timing.exemptions}.get(due_at)
    if moved is not None and moved <= now:
        raise ConflictError(f"it was moved to {moved.isoformat()}, which has passed")
    if moved is None and due_at <= now:
        raise ConflictError(f"{due_at.isoformat()} has passed; what was due has its row")


def _is_due(job: Standing, instant: datetime) -> bool:
    """Whether the schedule itself is due at an instant, exemptions left aside."""
    timetable = job.timetable(exempt=False)
    if timetable is None:
        return False
    if timetable.following is not None:
        return job.accounted_until + SECOND == instant
    return timetable.next_after(instant - SECOND) == instant


def _not_due(job: Standing, instant: datetime) -> str:
    timetable = job.timetable(exempt=False)
    near = timetable.next_after(instant) if timetable else None
    hint = f"; the next due time after it is {near.isoformat()}" if near else ""
    return f"the job is not due at {instant.isoformat()}{hint}"
