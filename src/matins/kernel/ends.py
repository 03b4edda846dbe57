"""Metrics and log lines of the runs whose attempts have ended."""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.states import RunState
from matins.kernel.metrics import RUNS_DEAD, RUNS_RETRIED

log = structlog.get_logger()


def note_ends(statuses: Iterable[RunStatus]) -> None:
    """Count the runs that are tried again or given up; the latter leave one line in the log."""
    ended = list(statuses)
    RUNS_RETRIED.inc(sum(status.state is RunState.RETRYING for status in ended))
    if dead := [status for status in ended if status.state is RunState.DEAD]:
        RUNS_DEAD.inc(len(dead))
        first = dead[0]
        job = f"{first.team}/{first.job}"
        log.warning("runs.dead", count=len(dead), run=str(first.id), job=job, reason=first.reason)
