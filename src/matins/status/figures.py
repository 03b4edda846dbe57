"""The figures of the whole system, as metrics of the API that looked."""

from __future__ import annotations

from datetime import datetime
from math import nan
from typing import Final

import msgspec

from matins.domain.status.facts import LiveRuns
from matins.domain.status.findings import FindingKind, SystemStatus
from matins.domain.values.ids import PARTITIONS
from matins.kernel import metrics

POOLS_MAX: Final = 100
"""So many pools have figures of their own: those whose queues reach back furthest come first."""


def show(status: SystemStatus, *, has_answered: bool) -> None:
    """Set the gauges. What nobody could read is not a number, and neither is it zero."""
    metrics.SYSTEM_WELL.set(status.is_well)
    wrong = {finding.kind for finding in status.findings}
    for kind in FindingKind:
        metrics.FINDINGS.labels(kind).set(kind in wrong)
    metrics.POOL_QUEUED.clear()
    metrics.POOL_QUEUE_AGE.clear()
    metrics.POOL_EXECUTORS.clear()
    if has_answered:
        _show_read(status)
    else:
        _show_unknown()


def _show_read(status: SystemStatus) -> None:
    metrics.SCHEDULERS.set(status.schedulers)
    metrics.WITHOUT_HOLDER.set(PARTITIONS - status.partitions_held)
    metrics.SCHEDULE_LAG.set(_age_s(status, status.unclaimed_since))
    metrics.OVERDUE.set(status.overdue)
    metrics.DEAD_LETTERS.set(status.dead_letters)
    for state, count in msgspec.structs.asdict(status.runs).items():
        metrics.LIVE_RUNS.labels(state).set(count)
    ages_s = {pool: _age_s(status, pool.queued_since) for pool in status.pools}
    metrics.QUEUE_LAG.set(max(ages_s.values(), default=0.0))
    for pool in sorted(ages_s, key=ages_s.__getitem__, reverse=True)[:POOLS_MAX]:
        metrics.POOL_QUEUED.labels(pool.pool).set(pool.queued)
        metrics.POOL_QUEUE_AGE.labels(pool.pool).set(ages_s[pool])
        metrics.POOL_EXECUTORS.labels(pool.pool).set(pool.executors)


def _show_unknown() -> None:
    for gauge in (
        *(metrics.SCHEDULERS, metrics.WITHOUT_HOLDER, metrics.SCHEDULE_LAG, metrics.OVERDUE),
        *(metrics.DEAD_LETTERS, metrics.QUEUE_LAG),
        *(metrics.LIVE_RUNS.labels(state) for state in LiveRuns.__struct_fields__),
    ):
        gauge.set(nan)


def _age_s(status: SystemStatus, since: datetime | None) -> float:
    return 0.0 if since is None else max(0.0, (status.judged_at - since).total_seconds())
