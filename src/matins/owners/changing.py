"""How every change of a job is made: one transaction that locks the job, decides, and writes.

A change never fires a run, and no due time vanishes by it: what lay before it and has no row yet is
recorded in its transaction or, if that is very much, in pieces before it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from uuid import UUID

import msgspec

from matins.domain.calendars.calendar import check_known
from matins.domain.calendars.compiled import CompiledCalendar
from matins.domain.jobs.authors import NOBODY, Author
from matins.domain.jobs.chains import Upstream, check_not_followed, check_upstream
from matins.domain.jobs.changes import LockedJob, retimed
from matins.domain.jobs.decisions import Decide, JobChange, Moment
from matins.domain.jobs.revisions import (
    JobRevision,
    compiled,
    first_revision,
    first_view,
    ongoing,
    revised_view,
    unchanged_view,
)
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.ports import Hints
from matins.domain.ports.jobs import JobChanges, JobTransaction
from matins.domain.runs.admission.hints import CHANNEL, partition_word
from matins.domain.runs.following import next_after_change
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.next_due import NextDue, chain_from, next_due
from matins.domain.values.errors import NotFoundError
from matins.domain.values.ids import partition_of
from matins.domain.views import Changed
from matins.kernel.hints import notify
from matins.owners.recording import Reconciled, record_missing, recorded_until, run_count

_LONG_AGO = datetime(1, 1, 2, tzinfo=UTC)

Create = Callable[[JobTransaction], Awaitable[Changed | None]]
"""Makes a job that is not there; None: somebody else has just made it."""


async def change_job(  # noqa: PLR0913 # all that a change is made of
    changes: JobChanges,
    team: str,
    name: str,
    decide: Decide,
    *,
    author: Author = NOBODY,
    create: Create | None = None,
    dry_run: bool = False,
    chains: Upstream | None = None,
) -> Changed:
    """Change a job as decided. Raises NotFoundError, and what `decide` raises.

    `chains`: it may change which jobs follow which, beside others that are to be put. Such changes
    of a team go one after the other.
    """
    skipped, after = 0, _LONG_AGO

    async def step(tx: JobTransaction) -> Changed | Reconciled:
        if chains is not None:
            await tx.lock_chains(team)
        while True:
            job = await tx.lock_job(team, name)
            if job is not None:
                return await _change(tx, job, decide, author, after, chains or {})
            if create is None:
                raise NotFoundError(f"team {team} has no job {name!r}")
            made = await create(tx)
            if made is not None:
                return made

    while isinstance(done := await changes.transact(step, dry_run=dry_run), Reconciled):
        skipped, after = skipped + done.skipped, done.until
    return msgspec.structs.replace(done, skipped=done.skipped + skipped)


async def create_job(
    tx: JobTransaction, job_id: UUID, team: str, spec: JobSpec, author: Author, beside: Upstream
) -> Changed | None:
    """Make a job that is due from now on; None if the team has one of that name.

    Raises InvalidInputError where the team may have no more.
    """
    quota = await tx.job_quota(team)
    if quota is not None:
        quota.check(team)
    await _check_upstream(tx, team, spec, beside)
    calendars, closures = await _calendars(tx, team, spec)
    revision = first_revision(job_id, spec, await tx.now(), calendars, closures)
    revision = msgspec.structs.replace(revision, author=author)
    if not await tx.insert_job(job_id, team, revision):
        return None
    return Changed(first_view(job_id, team, revision), "created")


async def notify_changed(hints: Hints, changes: Sequence[Changed]) -> None:
    """Let schedulers look at the jobs, and gateways at what was queued."""
    if jobs := [str(change.job.id) for change in changes if change.change != "unchanged"]:
        await notify(hints, "jobs", *jobs)
    if pools := {change.job.spec.pool for change in changes if change.queued}:
        await notify(hints, "dispatch", *sorted(pools))
        partitions = {partition_of(change.job.id) for change in changes if change.queued}
        await notify(hints, CHANNEL, *map(partition_word, sorted(partitions)))


async def _change(
    tx: JobTransaction,
    job: LockedJob,
    decide: Decide,
    author: Author,
    after: datetime,
    beside: Upstream,
) -> Changed | Reconciled:
    """Make the whole of a change, or record a piece of what the job misses."""
    # Revisions stay in order, also when the database's clock was put back.
    now = max(await tx.now(), job.changed_at)
    recorded = await recorded_until(tx, job, now)
    change = decide(job, Moment(now, recorded))
    if change is None:
        return Changed(unchanged_view(job), "unchanged")
    if change.spec.schedule != job.spec.schedule:
        await _check_upstream(tx, job.team, change.spec, beside)
    if change.asks:
        check_not_followed(job.spec.name, await tx.downstream(job.team, job.spec.name))
    if change.reason is None:
        revision = msgspec.structs.replace(ongoing(job, change, now), author=author)
        await tx.write_revision(job, revision)
        return Changed(revised_view(job, revision), change.change)
    # By the schedule as it was: the new revision begins now, and covers nothing before.
    done = await record_missing(
        tx, job, now, after=max(after, recorded), reason=change.reason, run_max=change.run_max
    )
    if not done.complete:  # commit this piece and unlock the job before the next one
        if job.state is JobState.ACTIVE and not job.spec.upstream:
            await tx.advance(job.id, _next_after(job, done.until))
        return done
    revision = await _restarted(tx, job, change, now, done.next_due)
    revision = msgspec.structs.replace(revision, author=author)
    await tx.write_revision(job, revision)
    cancelled = await tx.cancel_waiting(job) if change.state is JobState.DELETED else 0
    view = revised_view(job, revision)
    return Changed(view, change.change, done.skipped, done.queued, cancelled)


async def _restarted(
    tx: JobTransaction, job: LockedJob, change: JobChange, now: datetime, chained: NextDue
) -> JobRevision:
    """Return the next revision of a job that is due from now on, or no more.

    `chained` is where its chain stands, if it has one that goes on.
    """
    calendars, closures = await _calendars(tx, job.team, change.spec)
    timing = retimed(job, change.spec, closures, now)
    due = NextDue()
    if change.spec.upstream and change.state is not JobState.DELETED:
        due = _chain_from(job, change, now, chained)
    elif change.state is JobState.ACTIVE:
        due = await _first_due(tx, job, change.spec, timing, now)
    pause = change.pause
    return JobRevision(change.spec, change.state, now, timing, calendars, due, pause.reason, pause)


def _chain_from(job: LockedJob, change: JobChange, now: datetime, chained: NextDue) -> NextDue:
    """Return where a chain stands after a change: a stopped one keeps what it has not recorded."""
    if change.spec.schedule != job.spec.schedule:
        return chain_from(now)
    return chained if change.state is JobState.ACTIVE else job.next_due


async def _check_upstream(tx: JobTransaction, team: str, spec: JobSpec, beside: Upstream) -> None:
    """Raise InvalidInputError when a job would follow itself, or one that is not there."""
    if spec.upstream:
        names = {*spec.upstream, *(name for follows in beside.values() for name in follows)}
        check_upstream(spec, {**await tx.upstream(team, sorted(names)), **beside})


async def _first_due(
    tx: JobTransaction, job: LockedJob, spec: JobSpec, timing: Timing, now: datetime
) -> NextDue:
    """Return what is next of a job after a change, once all that was missing has its row."""
    timetable = compiled(spec, job.id, timing)
    if timetable is None or timetable.following is None:
        return next_due(timetable, timetable.next_after(now) if timetable else None)
    newest = await tx.newest_run(job.id)
    count = await run_count(tx, job, spec, timing)
    goes_on = job.state is JobState.ACTIVE and spec.schedule == job.spec.schedule
    return next_after_change(job, timetable, newest, count, now, goes_on=goes_on)


async def _calendars(
    tx: JobTransaction, team: str, spec: JobSpec
) -> tuple[tuple[int, ...], tuple[CompiledCalendar, ...]]:
    """Return the current versions of the calendars that a job keeps to, and when they are closed.

    Raises InvalidInputError.
    """
    names = spec.schedule.calendars if spec.schedule else []
    if not names:
        return (), ()
    current = await tx.current_calendars(team, names)
    check_known(team, names, current)
    versions = [current[name] for name in names]
    return tuple(version.id for version in versions), tuple(
        version.closures for version in versions
    )


def _next_after(job: LockedJob, until: datetime) -> NextDue:
    """Return what is next of a job of which a piece was recorded."""
    timetable = job.timetable()
    return next_due(timetable, timetable.next_after(until) if timetable else None)
