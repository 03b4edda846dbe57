"""Maintenance windows in admission: they hold scheduled runs until they end, or skip them."""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from matins.domain.jobs.windows import window_at
from matins.domain.runs.admission.waiting import CLAIM, RETRY, Question, Verdict
from matins.domain.runs.states import Kind, RunState

CAUSE: Final = "window"


def ask_windows(question: Question) -> Verdict | None:
    """Return what the windows of its team make of a run; None: they have nothing against it.

    A run that was just claimed is skipped by a window that skips, when it was to fire in it,
    however late it is claimed, or was claimed in it. What has waited before is skipped no more: it
    waits for the end of any window; its retries wait for those that hold. So does a backfill's run,
    which is never skipped.
    """
    run, rules, now = question.run, question.rules, question.now
    if run.kind is Kind.MANUAL or not rules.windows:
        return None
    if run.cause == CLAIM and run.kind is not Kind.BACKFILL:
        for moment in (run.fire_at, run.claimed_at):
            window = window_at(rules.windows, run.labels, moment)
            if window is not None and window.policy == "skip":
                return Verdict(RunState.SKIPPED, window.skip_reason)
    holding = [
        window
        for window in rules.windows
        if window.covers(run.labels, now) and (window.policy == "hold" or run.cause != RETRY)
    ]
    if not holding:
        return None
    last = max(holding, key=attrgetter("ends_at"))
    return Verdict(
        RunState.WAITING, last.hold_reason, until=last.ends_at, cause=CAUSE, blocker=last.name
    )
