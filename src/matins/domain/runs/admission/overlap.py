"""Overlap in admission: what becomes of a run while others of its job are unfinished."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from matins.domain.jobs.overlap import OverlapPolicy
from matins.domain.runs.admission.open_runs import OpenRun
from matins.domain.runs.admission.waiting import (
    CLAIM,
    RETRY,
    TO_BE_ADMITTED,
    Question,
    Verdict,
)
from matins.domain.runs.states import Kind, RunState

CAUSE: Final = "overlap"

RECHECK: Final = timedelta(seconds=15)
"""After so long a run that waits is asked about anew, should the hint of an end be lost."""

FIRST_RECHECK: Final = timedelta(seconds=1)
"""As `RECHECK`, for a run that waits since a moment: the end may have come in between; and for a
replay that is next.
"""

REPLACED_WITHIN: Final = timedelta(seconds=60)
"""So long the end of a run that is replaced is waited for: longer than until an executor that has
lost contact has ended it.
"""


def ask_overlap(question: Question) -> Verdict | None:
    """Return what the unfinished runs of its job make of a run; None: it need not mind them."""
    run = question.run
    if not run.minds_others or run.allow_overlap:
        return None
    before = [other for other in question.others if _counts(question, other)]
    if not before:
        return None
    if run.makes_up or any(other.kind is Kind.BACKFILL for other in before):
        return _waits(question, before)
    match run.overlap.policy:
        case "queue":
            return _in_turn(question, before)
        case "replace":
            return _in_place(question, before)
        case _:
            return Verdict(RunState.SKIPPED, _is_still(before))


def replaced_by(run: OpenRun) -> str:
    """Return the reason of a run that another one replaced before it started."""
    return f"overlap: replaced by the run of {_when(run)}"


def ask_trigger(
    overlap: OverlapPolicy, first_open: OpenRun | None, *, allow_overlap: bool = False
) -> Verdict:
    """Return as what a run is made that is triggered; `first_open` is unfinished, if anything is.

    Skipped if that is certain; else it waits to be asked about, unless it minds no other.
    """
    if overlap == "allow":
        return Verdict(RunState.QUEUED)
    skips = overlap == "skip" and not allow_overlap
    if first_open is not None and not first_open.makes_up and skips:
        return Verdict(RunState.SKIPPED, _is_still([first_open]))
    return Verdict(RunState.WAITING, TO_BE_ADMITTED)


def _counts(question: Question, other: OpenRun) -> bool:
    """Return whether another run of the job is in the way: it has started, or goes before.

    Backfills have a limit of their own; what is being replaced is waited for within bounds.
    """
    run = question.run
    if run.kind is Kind.BACKFILL and other.kind is Kind.BACKFILL:
        return False
    if run.overlap.policy == "replace" and other.cancel_at is not None:
        return question.now < other.cancel_at + REPLACED_WITHIN
    return other.is_started or other.goes_before(run)


def _in_turn(question: Question, before: Sequence[OpenRun]) -> Verdict:
    waiting = sum(not other.is_started for other in before)
    next_in_line = waiting == len(before)  # if none has started, the first that waits will
    if waiting - next_in_line < question.run.overlap.places:
        return _waits(question, before)
    more = f"{waiting} more wait" if waiting > 1 else "another waits"
    return Verdict(RunState.SKIPPED, f"{_is_still(before)}, and {more}")


def _in_place(question: Question, before: Sequence[OpenRun]) -> Verdict:
    replaces = tuple(other.id for other in before if other.cancel_at is None)
    ends = [other.cancel_at + REPLACED_WITHIN for other in before if other.cancel_at]
    held = _waits(question, before, min(ends, default=None))
    return msgspec.structs.replace(
        held, reason=f"{held.reason}, and is replaced", replaces=replaces
    )


def _waits(question: Question, before: Sequence[OpenRun], until: datetime | None = None) -> Verdict:
    """Return that a run waits. Of replays the next looks often: not every end sends a hint."""
    run = question.run
    is_next = run.awaits_replay and all(other.is_started for other in before)
    is_soon = is_next or run.cause in (CLAIM, RETRY)
    recheck = question.now + (FIRST_RECHECK if is_soon else RECHECK)
    return Verdict(
        RunState.WAITING,
        _is_still(before),
        until=recheck if until is None else min(recheck, until),
        cause=CAUSE,
        blocker=str(run.job_id),
    )


def _is_still(before: Sequence[OpenRun]) -> str:
    """Return what is in the way: what has started, or else what goes first."""
    first = min(before, key=lambda other: (not other.is_started, other.claimed_at, other.id))
    return f"overlap: run {first.id} due {_when(first)} is still {first.state}"


def _when(run: OpenRun) -> str:
    return f"{run.due_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
