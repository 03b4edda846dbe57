"""The audit of what a job is due with other jobs' runs: beside each row of its leader, its own.

A due time counts while the chain was in force from before it until after its leader's row was made.
Those of a pause are recorded when it ends, so while it lasts nothing is expected.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from matins.domain.audit import (
    GRACE,
    LIST_MAX,
    UNDER_WAY,
    AuditedJob,
    AuditSpan,
    LedgerRow,
    Revision,
)
from matins.domain.jobs.spec import JobState
from matins.domain.runs.states import FINAL, RunState
from matins.domain.schedules.after_jobs import AfterJobs
from matins.domain.views import JobAudit


class LeaderDue(msgspec.Struct, frozen=True):
    """A row of a job that led the chain: a due time of it, or `due_count` that were skipped.

    `open_since`: when what the chain waits for was over; None while it is not, or where the chain
    has its row.
    """

    job: str
    due_at: datetime
    claimed_at: datetime
    due_until: datetime | None = None
    due_count: int = 1
    open_since: datetime | None = None


class _ChainPeriod(msgspec.Struct, frozen=True):
    """A time in which a job followed one leader, in one way; without an `end` it still does."""

    after: AfterJobs
    begin: datetime
    end: datetime | None = None


def audit_chain(
    job: AuditedJob,
    revisions: Sequence[Revision],
    rows: Sequence[LedgerRow],
    leader: Sequence[LeaderDue],
    span: AuditSpan,
) -> JobAudit:
    """Compare the rows of a leader in a span with those of its chain."""
    since = max(span.since, job.purged_until or span.since)
    leader = [leader_due for leader_due in leader if since <= leader_due.due_at < span.until]
    periods = _periods(revisions)
    own = {row.due_at: row for row in rows}
    ranges = sorted((row for row in rows if row.due_until), key=lambda row: row.due_at)
    claimed_until = min(span.now - GRACE, job.watermark or span.now)
    states, reasons = Counter[RunState](), Counter[str]()
    due, pending, missing, may_be = 0, 0, list[datetime](), set[datetime]()
    for leader_due in leader:
        recorded = own.get(leader_due.due_at) or _covering(ranges, leader_due.due_at)
        is_certain = any(_holds(period, leader_due) for period in periods)
        if is_certain or any(_may_hold(period, leader_due) for period in periods):
            may_be.add(leader_due.due_at)
        if not is_certain and (recorded is None or leader_due.due_at not in may_be):
            continue
        due += leader_due.due_count
        if recorded is not None:
            states[recorded.state] += leader_due.due_count
            reasons[recorded.reason] += leader_due.due_count * (recorded.state is RunState.SKIPPED)
        elif leader_due.open_since is not None and leader_due.open_since <= claimed_until:
            missing.append(leader_due.due_at)
        else:
            pending += leader_due.due_count
    strange = [row.due_at for row in rows if _is_strange(row, may_be, since, span.until)]
    return JobAudit(
        id=job.id,
        team=job.team,
        job=job.name,
        due=due,
        succeeded=states[RunState.SUCCEEDED],
        dead=states[RunState.DEAD],
        cancelled=states[RunState.CANCELLED],
        unfinished=sum(count for state, count in states.items() if state not in FINAL),
        skipped={reason: count for reason, count in reasons.items() if count},
        pending=pending,
        missing_count=len(missing),
        unexpected_count=len(strange),
        missing=missing[:LIST_MAX],
        unexpected=strange[:LIST_MAX],
    )


def with_chain(audit: JobAudit, chain: JobAudit) -> JobAudit:
    """Return what was found of a job by its schedules and by its chains together."""
    numbers = (
        *("due", "succeeded", "dead", "cancelled", "unfinished", "pending"),
        *("missing_count", "unexpected_count"),
    )
    sums = {name: getattr(audit, name) + getattr(chain, name) for name in numbers}
    return msgspec.structs.replace(
        audit,
        skipped=dict(Counter(audit.skipped) + Counter(chain.skipped)),
        missing=[*audit.missing, *chain.missing][:LIST_MAX],
        unexpected=[*audit.unexpected, *chain.unexpected][:LIST_MAX],
        **sums,
    )


def leaders(revisions: Iterable[Revision]) -> list[str]:
    """Return the jobs that lead, or led, a chain of a job."""
    leaders = [revision.spec.upstream[0] for revision in revisions if revision.spec.upstream]
    return list(dict.fromkeys(leaders))


def _periods(revisions: Sequence[Revision]) -> list[_ChainPeriod]:
    """A chain goes on over revisions that keep it, pauses that have ended included."""
    periods: list[_ChainPeriod] = []
    open_from = len(revisions)
    while open_from and revisions[open_from - 1].state in (JobState.PAUSED, JobState.QUARANTINED):
        if revisions[open_from - 1].spec.upstream != revisions[-1].spec.upstream:
            break
        open_from -= 1
    for index, revision in enumerate(revisions):
        after = None if revision.spec.schedule is None else revision.spec.schedule.chain
        goes_on = revision.state is not JobState.DELETED and index < open_from
        if periods and periods[-1].end is None and (not goes_on or periods[-1].after != after):
            periods[-1] = msgspec.structs.replace(periods[-1], end=revision.effective_at)
        if after is not None and goes_on and not (periods and periods[-1].end is None):
            periods.append(_ChainPeriod(after, revision.effective_at))
    return periods


def _holds(period: _ChainPeriod, leader_due: LeaderDue) -> bool:
    """Return whether a row of the leader is certainly a due time of the chain."""
    if leader_due.job != period.after.jobs[0] or leader_due.due_at <= period.begin:
        return False
    return period.end is None or (
        leader_due.due_at <= period.end and leader_due.claimed_at <= period.end - UNDER_WAY
    )


def _may_hold(period: _ChainPeriod, leader_due: LeaderDue) -> bool:
    """Return whether it may be one: it came about when the chain ended."""
    if leader_due.job != period.after.jobs[0] or leader_due.due_at <= period.begin:
        return False
    return period.end is None or leader_due.due_at <= period.end + UNDER_WAY


def _covering(ranges: Sequence[LedgerRow], at: datetime) -> LedgerRow | None:
    """Return the range of the chain in which a due time lies."""
    index = bisect_right(ranges, at, key=lambda row: row.due_at)
    row = ranges[index - 1] if index else None
    return row if row is not None and row.due_until is not None and row.due_until >= at else None


def _is_strange(row: LedgerRow, may_be: set[datetime], since: datetime, until: datetime) -> bool:
    """Return whether a row of the chain stands for no row of its leader."""
    if not since <= row.due_at < until or row.due_at in may_be:
        return False
    return row.due_until is None or not any(row.due_at <= at <= row.due_until for at in may_be)
