"""The audit of one job: its due times computed anew from its revisions, beside the ledger's rows.

A due time belongs to the last revision that began before it. Those of a pause are recorded when it
ends, so while it lasts nothing is expected. `runs.after_end` computes what follows ends of runs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from uuid import UUID

import msgspec

from matins.domain.executors.fleet import LATE, STALLED, Fleet
from matins.domain.jobs.changes import timetable_of
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.runs.admission.waiting import TO_BE_ADMITTED
from matins.domain.runs.after_end import Chain, due_in
from matins.domain.runs.states import FINAL, RunState
from matins.domain.time.instants import SECOND
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.errors import ScheduleError
from matins.domain.values.ids import partition_of
from matins.domain.views import JobAudit

GRACE = timedelta(seconds=10)
"""A due time whose fire time is no longer ago than this may still be claimed, also of a job that
was made after the watermark had passed.
"""

UNDER_WAY = timedelta(seconds=10)
"""A claim that was under way when a job was changed may follow the old revision for so long."""

DUE_MAX = 1_000_000
"""The most due times of one job in one audit."""

LIST_MAX = 100
"""The most due times that are listed as missing or unexpected."""


class Revision(msgspec.Struct, frozen=True):
    """What a job was from an instant on."""

    effective_at: datetime
    state: JobState
    timing: Timing
    spec: JobSpec
    number: int = 0


class LedgerRow(msgspec.Struct, frozen=True):
    """A row for one due time, or for all from `due_at` to `due_until`."""

    due_at: datetime
    state: RunState
    reason: str = ""
    due_until: datetime | None = None
    finished_at: datetime | None = None
    claimed_at: datetime | None = None
    retry_at: datetime | None = None
    attempt: int = 0
    pool: str = ""


class AuditSpan(msgspec.Struct, frozen=True):
    """Which due times to look at: from `since`, before `until`. `now` is the database's clock."""

    since: datetime
    until: datetime
    now: datetime


class AuditedJob(msgspec.Struct, frozen=True):
    """The job that is looked at.

    `watermark` is that of its partition: later fire times may still be claimed, by its misfire
    policy if need be. Without one only `GRACE` decides. Rows of what was due before `purged_until`
    may be gone.
    """

    id: UUID
    team: str
    name: str
    watermark: datetime | None = None
    purged_until: datetime | None = None


class _Period(msgspec.Struct, frozen=True):
    """A span of time, from its begin (exclusive) to its end (inclusive), under one timetable."""

    begin: datetime
    end: datetime
    timetable: Timetable
    is_due: bool
    revision: Revision


def audit(
    job: AuditedJob,
    revisions: Sequence[Revision],
    rows: Sequence[LedgerRow],
    span: AuditSpan,
    fleet: Fleet | None = None,
) -> JobAudit:
    """Compare what was due with what is recorded. `rows` may begin before the span.

    What is late is judged, and why, by the `fleet`; without one nothing is.
    """
    judged_from = _judged_from(job, revisions, rows, span)
    if judged_from is None:
        return _judge(job, revisions, rows, span, fleet)
    span = msgspec.structs.replace(span, since=judged_from)
    result = JobAudit(job.id, job.team, job.name)
    if judged_from < span.until:
        result = _judge(job, revisions, rows, span, fleet)
    return msgspec.structs.replace(result, judged_from=judged_from)


def _judged_from(
    job: AuditedJob, revisions: Sequence[Revision], rows: Sequence[LedgerRow], span: AuditSpan
) -> datetime | None:
    """From when on a job can be judged, where rows of the span were purged.

    What follows ends is judged by the row before it, so from the second row on.
    """
    if job.purged_until is None or job.purged_until <= span.since:
        return None
    judged_from = job.purged_until.replace(microsecond=0)
    if judged_from < job.purged_until:
        judged_from += SECOND
    schedules = [revision.spec.schedule for revision in revisions]
    if not any(schedule.follows_end for schedule in schedules if schedule is not None):
        return judged_from
    judged = [row.due_at for row in rows if row.due_at >= judged_from]
    return min(judged, default=span.until) + SECOND


def _judge(
    job: AuditedJob,
    revisions: Sequence[Revision],
    rows: Sequence[LedgerRow],
    span: AuditSpan,
    fleet: Fleet | None,
) -> JobAudit:
    span = _to_the_second(span)
    try:
        periods = _periods(job, revisions, span)
    except ScheduleError as error:
        return unaudited(job, f"its due times can't be computed: {error}")
    due: dict[datetime, Timetable] = {}
    for period in (period for period in periods if period.is_due):
        due.update(dict.fromkeys(_within(period, span), period.timetable))
        if len(due) > DUE_MAX:
            return unaudited(
                job, f"it was due over {DUE_MAX} times in the span; take a shorter one"
            )
    chained = _chained(periods, rows, span)
    due.update(chained)
    on_record = _on_record(rows, due)
    unclaimed = {at: due[at].fire_time(at) for at in sorted(due.keys() - on_record.keys())}
    claimed_until = min(span.now - GRACE, job.watermark or span.now)
    missing = [at for at, fires in unclaimed.items() if fires <= claimed_until]
    unknown = [row for row in rows if row.due_at not in chained]
    strange = [row.due_at for row in unknown if _is_strange(row, periods, span)]
    late = _Late()
    if fleet is not None:
        pending = [fires for fires in unclaimed.values() if fires > claimed_until]
        late = _late(job, pending, on_record.values(), fleet)
    return _finding(job, len(due), on_record, missing, strange, _doubled(rows, due), late)


def _to_the_second(span: AuditSpan) -> AuditSpan:
    """Return the span with its end at a whole second: due times before it are the same."""
    until = span.until.replace(microsecond=0)
    return span if until == span.until else msgspec.structs.replace(span, until=until + SECOND)


def rows_since(revisions: Iterable[Revision], span: AuditSpan) -> datetime:
    """From when on rows are needed: `max_runs` of what follows ends counts from its beginning."""
    counted = [
        revision.timing.since
        for revision in revisions
        if (schedule := revision.spec.schedule) and schedule.follows_end and schedule.max_runs
    ]
    return min([span.since, *counted])


def _periods(job: AuditedJob, revisions: Sequence[Revision], span: AuditSpan) -> list[_Period]:
    ends = [revision.effective_at for revision in revisions[1:]] + [span.until - SECOND]
    open_from = _open_pause(revisions)
    periods = []
    for index, (revision, end) in enumerate(zip(revisions, ends, strict=True)):
        timetable = timetable_of(revision.spec, job.id, revision.timing)
        if timetable is None or revision.state is JobState.DELETED:
            continue
        is_due = index < open_from
        periods.append(_Period(revision.effective_at, end, timetable, is_due, revision))
    return periods


def _open_pause(revisions: Sequence[Revision]) -> int:
    """Return the index from which on a job is stopped, with one schedule and until now."""
    index = len(revisions)
    while index and revisions[index - 1].state in (JobState.PAUSED, JobState.QUARANTINED):
        if revisions[index - 1].spec.schedule != revisions[-1].spec.schedule:
            break
        index -= 1
    return index


def _within(period: _Period, span: AuditSpan) -> list[datetime]:
    begin = max(period.begin, span.since - SECOND)
    end = min(period.end, span.until - SECOND)
    return period.timetable.due_between(begin, end, DUE_MAX + 1)


def _chained(
    periods: Iterable[_Period], rows: Iterable[LedgerRow], span: AuditSpan
) -> dict[datetime, Timetable]:
    """Return the due times that follow the ends of runs, within the span."""
    runs = sorted(rows, key=lambda row: row.due_at)
    return {
        at: chain.timetable
        for chain in _chains(periods)
        for at in due_in(chain, runs, span.since)
        if span.since <= at < span.until
    }


def _chains(periods: Iterable[_Period]) -> list[Chain]:
    """A chain goes on over revisions that keep the schedule and never stop it."""
    chains: list[Chain] = []
    before: _Period | None = None
    for period in periods:
        revision = period.revision
        if period.timetable.following is None or revision.state is not JobState.ACTIVE:
            before = None
            continue
        schedule = before.revision.spec.schedule if before else None
        if before is not None and (before.end, schedule) == (period.begin, revision.spec.schedule):
            chains[-1] = msgspec.structs.replace(chains[-1], end=period.end)
        else:
            chains += [Chain(period.begin, period.end, period.timetable, revision.timing.since)]
        before = period
    return chains


def _on_record(rows: Iterable[LedgerRow], due: Iterable[datetime]) -> dict[datetime, LedgerRow]:
    """Return the row of each due time that has one; its own goes before a range that covers it."""
    ordered = sorted(due)
    row_of: dict[datetime, LedgerRow] = {}
    for row in sorted(rows, key=lambda row: row.due_until is None):
        first = bisect_left(ordered, row.due_at)
        last = bisect_right(ordered, row.due_until or row.due_at)
        row_of.update(dict.fromkeys(ordered[first:last], row))
    return row_of


def _doubled(rows: Iterable[LedgerRow], due: Iterable[datetime]) -> list[datetime]:
    """Return the due times that are accounted for by more than one row."""
    ordered = sorted(due)
    changes = [0] * (len(ordered) + 1)
    for row in rows:
        changes[bisect_left(ordered, row.due_at)] += 1
        changes[bisect_right(ordered, row.due_until or row.due_at)] -= 1
    return [at for at, count in zip(ordered, accumulate(changes), strict=False) if count > 1]


def _is_strange(row: LedgerRow, periods: Iterable[_Period], span: AuditSpan) -> bool:
    """Return whether no revision, one just left included, was due when the row says so."""
    at = row.due_at
    if not span.since <= at < span.until:
        return False
    return not any(
        period.begin < at <= period.end + UNDER_WAY
        and period.timetable.next_after(at - SECOND) == at
        for period in periods
    )


class _Late(msgspec.Struct, frozen=True):
    """How much should have happened by now and has not, and why."""

    overdue: int = 0
    stalled: int = 0
    causes: list[str] = []


def _late(
    job: AuditedJob, pending: Iterable[datetime], rows: Iterable[LedgerRow], fleet: Fleet
) -> _Late:
    overdue = sum(fleet.now - fires > LATE for fires in pending)
    stalled = [row for row in rows if _is_stalled(row, fleet)]
    behind = fleet.why_unclaimed(partition_of(job.id))
    causes = [behind] if overdue or any(run.state is not RunState.QUEUED for run in stalled) else []
    causes += [fleet.why_queued(run.pool) for run in stalled if run.state is RunState.QUEUED]
    return _Late(overdue, len(stalled), list(dict.fromkeys(causes)))


def _is_stalled(row: LedgerRow, fleet: Fleet) -> bool:
    """Return whether a run should have gone on by now: to an executor, or to the queue."""
    since = row.retry_at if row.state is RunState.RETRYING else row.claimed_at
    waits = fleet.now - (since or fleet.now)
    if row.state is RunState.RETRYING or row.reason == TO_BE_ADMITTED:
        return waits > LATE
    return row.state is RunState.QUEUED and fleet.is_stalled(row.pool) and waits > STALLED


def _finding(
    job: AuditedJob,
    due: int,
    on_record: dict[datetime, LedgerRow],
    missing: list[datetime],
    unexpected: list[datetime],
    doubled: list[datetime],
    late: _Late,
) -> JobAudit:
    states = Counter(row.state for row in on_record.values())
    reasons = Counter(r.reason for r in on_record.values() if r.state is RunState.SKIPPED)
    return JobAudit(
        id=job.id,
        team=job.team,
        job=job.name,
        due=due,
        succeeded=states[RunState.SUCCEEDED],
        dead=states[RunState.DEAD],
        cancelled=states[RunState.CANCELLED],
        unfinished=sum(count for state, count in states.items() if state not in FINAL),
        skipped=dict(reasons),
        pending=due - len(on_record) - len(missing),
        overdue=late.overdue,
        stalled=late.stalled,
        causes=late.causes,
        missing_count=len(missing),
        unexpected_count=len(unexpected),
        doubled_count=len(doubled),
        missing=missing[:LIST_MAX],
        unexpected=unexpected[:LIST_MAX],
        doubled=doubled[:LIST_MAX],
    )


def unaudited(job: AuditedJob, fault: str) -> JobAudit:
    """Return the finding for a job whose due times can't be told, and why."""
    return JobAudit(id=job.id, team=job.team, job=job.name, fault=fault)
