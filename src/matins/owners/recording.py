"""No due time vanishes by a change: what has passed and has no row yet gets one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter

import msgspec

from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.misfire import COUNT_MAX
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.ports.jobs import JobTransaction
from matins.domain.runs.chains import newest_links, skipped_links
from matins.domain.runs.claims import Claim
from matins.domain.runs.following import missing_after_end
from matins.domain.runs.ledger import catch_up, missing_ranges, skip
from matins.domain.runs.states import RunState
from matins.domain.time.instants import SECOND, epoch_s
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.next_due import INSTANT, NextDue, chain_from
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.errors import ScheduleError

LOOK_MAX = 10_000
"""The most due times that are recorded in one transaction, besides those that are to run."""


class Reconciled(msgspec.Struct, frozen=True):
    """What was recorded, and up to when. If it is not `complete`, more is left.

    `next_due` is where a chain stands afterwards, if it goes on.
    """

    until: datetime
    skipped: int = 0
    queued: int = 0
    complete: bool = True
    next_due: NextDue = NextDue()


async def recorded_until(tx: JobTransaction, job: LockedJob, now: datetime) -> datetime:
    """Return up to when all due times of a job have their rows; later ones may have."""
    if job.spec.upstream:
        return job.next_due.follows - INSTANT if job.next_due.follows else now
    if job.state is JobState.ACTIVE:
        return job.next_due.due_at - SECOND if job.next_due.due_at else now
    if job.state is JobState.PAUSED:
        return await tx.stopped_since(job) or job.changed_at
    if newest := await tx.newest_run(job.id):
        return newest.due_until or newest.due_at
    purged_until = await tx.purged_until(job.id)
    return max(job.created_at, purged_until - SECOND) if purged_until else job.created_at


async def record_missing(
    tx: JobTransaction,
    job: LockedJob,
    now: datetime,
    *,
    after: datetime,
    reason: str,
    run_max: int = 0,
) -> Reconciled:
    """Record what was due after `after`, up to now, and has no row: skipped, with the reason.

    The newest `run_max` of it are queued instead. Of very much only the oldest part is recorded. A
    job whose schedule can't be computed misses nothing.
    """
    if job.spec.upstream:
        return await _record_links(tx, job, now, after=after, reason=reason, run_max=run_max)
    timetable = _timetable(job)
    if timetable is None:
        return Reconciled(now)
    due = await _due(tx, job, timetable, after, now)
    complete = len(due) < LOOK_MAX + COUNT_MAX
    to_run = _newest(timetable, due, run_max) if complete else []
    past = due if complete else due[:LOOK_MAX]
    made: list[Claim] = []
    claims = catch_up(job, timetable, to_run)
    while claims := claims + await _missing(tx, job, timetable, past, to_run, reason):
        new = await _record(tx, job, claims, now)
        made += new
        if len(new) == len(claims):
            break
        claims = []  # some has its row meanwhile, perhaps the first of a range: look again
    return Reconciled(
        until=now if complete else past[-1],
        skipped=sum(claim.due_count for claim in made if claim.state is RunState.SKIPPED),
        queued=sum(claim.due_count for claim in made if claim.state is RunState.QUEUED),
        complete=complete,
    )


async def _record_links(
    tx: JobTransaction,
    job: LockedJob,
    now: datetime,
    *,
    after: datetime,
    reason: str,
    run_max: int,
) -> Reconciled:
    """Record the due times of a chain that lack their row. The newest `run_max` are left to it.

    Each claim of them locks the job's row, as this transaction does, so none is under way.
    """
    leader_rows = await tx.leader_rows(job, after, now, LOOK_MAX)
    complete = len(leader_rows.rows) < LOOK_MAX
    bound = leader_rows.bound and max(leader_rows.bound, job.timing.since + INSTANT)
    left = newest_links(leader_rows.rows, run_max) if complete and run_max else []
    rows = [row for row in leader_rows.rows if row not in left]
    claims = skipped_links(job, rows, reason)
    await tx.record(job, claims, now)
    return Reconciled(
        until=now if complete else leader_rows.rows[-1].due_at,
        skipped=sum(claim.due_count for claim in claims),
        queued=len(left),
        complete=complete,
        next_due=chain_from(now, bound, *(row.due_at for row in left)),
    )


async def run_count(tx: JobTransaction, job: LockedJob, spec: JobSpec, timing: Timing) -> int:
    """Return how many due times a schedule has had, where that matters."""
    if spec.schedule is None or spec.schedule.max_runs is None:
        return 0
    return await tx.count_runs(job.id, timing.since)


async def _due(
    tx: JobTransaction, job: LockedJob, timetable: Timetable, after: datetime, now: datetime
) -> list[datetime]:
    """Return what was due in a span and may lack its row, in order; of very much the oldest."""
    if timetable.following is None:
        return timetable.due_between(after, now, LOOK_MAX + COUNT_MAX)
    follows = job.next_due.follows
    if follows is None:
        return []
    runs = await tx.runs_between(job.id, follows, follows)
    count = await run_count(tx, job, job.spec, job.timing)
    return missing_after_end(job, timetable, runs[0] if runs else None, count, now)


async def _missing(
    tx: JobTransaction,
    job: LockedJob,
    timetable: Timetable,
    due: Sequence[datetime],
    to_run: Sequence[datetime],
    reason: str,
) -> list[Claim]:
    """Return claims that skip those of the due times that are not to run and that no row covers."""
    if not due:
        return []
    runs = await tx.runs_between(job.id, due[0], due[-1])
    rows = [(run.due_at, run.due_until) for run in runs] + [(at, None) for at in to_run]
    gaps = missing_ranges(due, sorted(rows, key=itemgetter(0)))
    return [claim for gap in gaps for claim in skip(job, timetable, gap, reason)]


async def _record(
    tx: JobTransaction, job: LockedJob, claims: Sequence[Claim], now: datetime
) -> list[Claim]:
    """Record claims; returns those that had no row."""
    made = await tx.record(job, claims, now)
    return [claim for claim in claims if claim.run_id in made]


def _newest(timetable: Timetable, due: Sequence[datetime], count: int) -> list[datetime]:
    """Return the newest due times that are to run, if nothing stands against it."""
    to_run = [at for at in due if not timetable.skip_reason(epoch_s(at))] if count else []
    return to_run[len(to_run) - count :] if len(to_run) > count else to_run


def _timetable(job: LockedJob) -> Timetable | None:
    """Return when a stored job is due; None also for one that is broken."""
    try:
        return job.timetable()
    except ScheduleError:
        return None
