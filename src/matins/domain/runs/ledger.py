"""The ledger: every due time has a row. What still lacks one when a job changes, and its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from matins.domain.jobs.changes import LockedJob
from matins.domain.runs.claims import Claim
from matins.domain.runs.states import Kind, RunState
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.ids import run_id

RANGE_MIN = 10
"""Up to so many skipped due times in a row get a row each; more share one."""


def missing_ranges(
    due: Sequence[datetime], rows: Iterable[tuple[datetime, datetime | None]]
) -> list[list[datetime]]:
    """Return the ranges of due times that no row covers.

    Both are in order; a row covers its due time, or all from that one up to a second.
    """
    ranges: list[list[datetime]] = [[]]
    covering = iter(rows)
    first, last = next(covering, (None, None))
    for at in due:
        while first is not None and (last or first) < at:
            first, last = next(covering, (None, None))
        if first is None or at < first:
            ranges[-1].append(at)
        elif ranges[-1]:
            ranges.append([])
    return [dues for dues in ranges if dues]


def skip(
    job: LockedJob, timetable: Timetable, dues: Sequence[datetime], reason: str
) -> list[Claim]:
    """Return claims that record due times as skipped: few one by one, many as a range."""
    if len(dues) > RANGE_MIN:
        return [_claim(job, timetable, dues[0], reason=reason, until=dues[-1], n=len(dues))]
    return [_claim(job, timetable, at, reason=reason) for at in dues]


def catch_up(job: LockedJob, timetable: Timetable, due: Sequence[datetime]) -> list[Claim]:
    """Return claims that run due times which have passed."""
    return [_claim(job, timetable, at) for at in due]


def _claim(  # the parts of a row
    job: LockedJob,
    timetable: Timetable,
    due: datetime,
    *,
    reason: str = "",
    until: datetime | None = None,
    n: int = 1,
) -> Claim:
    return Claim(
        run_id=run_id(job.id, due, Kind.SCHEDULED),
        job_id=job.id,
        revision=job.revision,
        partition=job.partition,
        pool=job.spec.pool,
        due_at=due,
        fire_at=timetable.fire_time(due),
        state=RunState.SKIPPED if reason else RunState.QUEUED,
        reason=reason,
        due_until=until,
        due_count=n,
    )
