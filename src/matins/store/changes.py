"""One transaction on one job: lock it, put on record what it still owes, write what it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.calendars.closures import Closures
from matins.domain.jobs.changes import LockedJob, retimed, timetable_of
from matins.domain.jobs.misfire import COUNT_MAX
from matins.domain.jobs.spec import PRIORITIES, Job, JobSpec, JobState
from matins.domain.runs.claims import Claim
from matins.domain.runs.ledger import catch_up, skip, unaccounted
from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Override
from matins.domain.time.instants import SECOND, epoch_s
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.errors import InvalidInputError, ScheduleError
from matins.domain.values.ids import partition_of
from matins.store.database import Database
from matins.store.following import Ahead, ahead, first, owed
from matins.store.job_rows import as_json, job_of, spec_columns
from matins.store.past import around, newest_runs
from matins.store.queries import Query, load_queries
from matins.store.timings import KnownCalendars, current_calendars, timing_of

LOOK_MAX = 10_000
"""The most due times that are put on record in one transaction, besides those that are to run."""

_Q = load_queries("changes.sql")


class Settled(msgspec.Struct, frozen=True):
    """What was put on record: due times skipped and queued, and up to when; more may be left."""

    until: datetime
    skipped: int = 0
    queued: int = 0
    complete: bool = True


class Wanted(msgspec.Struct, frozen=True):
    """What a job is to become. `why`: the reason of what it owes; None lets its schedule go on.

    Without `overrides` it keeps those that it has, where they still mean something.
    """

    spec: JobSpec
    state: JobState
    change: Literal["changed", "paused", "resumed", "deleted"]
    why: str | None = None
    run_max: int = 0
    overrides: tuple[Override, ...] | None = None


class Change:
    """The steps of a change, in a transaction that is open. `dues` collects what it inserts."""

    def __init__(
        self,
        database: Database,
        session: asyncpg.pool.PoolConnectionProxy,
        calendars: KnownCalendars,
        dues: list[datetime],
    ) -> None:
        self._database = database
        self._session = session
        self._calendars = calendars
        self._dues = dues

    async def now(self) -> datetime:
        """The database's clock, read now."""
        return await self._database.clock(self._session)

    async def lock(self, team: str, name: str) -> tuple[LockedJob, Job] | None:
        """Lock a job and see where it stands; None if there is none of that name."""
        rows = await self._fetch(_Q["lock_job"], team=team, name=name)
        if not rows:
            return None
        [row] = rows
        job = job_of(row, team)
        versions = await self._calendars.versions(self._fetch, rows)
        standing = LockedJob(
            id=job.id,
            team_id=row["team_id"],
            partition=row["partition"],
            revision=job.revision,
            state=job.state,
            spec=job.spec,
            timing=timing_of(row, versions),
            calendars=tuple(row["calendars"]),
            changed_at=job.changed_at,
            accounted_until=await self._accounted_until(job),
            follows=row["follows"],
            is_behind=row["is_behind"],
        )
        return standing, job

    async def settle(
        self, job: LockedJob, now: datetime, why: str, run_max: int, *, after: datetime
    ) -> Settled:
        """Put on record what was due after `after`, up to now, and has no row: skipped with `why`.

        The newest `run_max` of it are queued instead. Of very much only the oldest part is done.
        """
        timetable = _timetable(job)
        if timetable is None:
            return Settled(now)
        if timetable.following is None:
            due = timetable.due_between(after, now, LOOK_MAX + COUNT_MAX)
        else:
            due = await owed(self._fetch, job, timetable, now)
        complete = len(due) < LOOK_MAX + COUNT_MAX
        to_run = dict.fromkeys(_newest(timetable, due, run_max) if complete else [])
        past = [at for at in (due if complete else due[:LOOK_MAX]) if at not in to_run]
        claims = catch_up(job, timetable, list(to_run))
        skipped = queued = 0
        # A claim may put one of them on record meanwhile, even the first of a range: look again.
        while claims or past:
            missing = unaccounted(past, await self._covered(job, past))
            claims += [it for part in missing for it in skip(job, timetable, part, why)]
            if not claims:
                break
            made = await self._insert(job, claims, now)
            skipped += sum(it.due_count for it in made if it.state is RunState.SKIPPED)
            queued += sum(it.due_count for it in made if it.state is RunState.QUEUED)
            claims = []
        return Settled(now if complete else past[-1], skipped, queued, complete)

    async def advance(self, job: LockedJob, until: datetime) -> None:
        """Let an active job's next due time come after what was put on record."""
        timetable = _timetable(job)
        due = timetable.next_after(until) if timetable else None
        fire = timetable.fire_time(due) if timetable and due else None
        await self._fetch(_Q["advance_job"], id=job.id, next_due_at=due, next_fire_at=fire)

    async def insert(self, job_id: UUID, team: str, spec: JobSpec) -> Job:
        """Make a job that is due from now on. Raises UniqueViolationError when the name is taken.

        The team is made on first use.
        """
        now = await self.now()
        await self._database.make_team(self._session, team)
        calendars = await self._current_calendars(team, spec)
        timing = Timing(now.replace(microsecond=0), now, await self._closures(calendars))
        timetable = _compiled(spec, job_id, timing)
        due = timetable.next_after(now) or timetable.next_after_end(now) if timetable else None
        coming = ahead(timetable, due)
        [row] = await self._fetch(
            _Q["insert_job"],
            id=job_id,
            team=team,
            partition=partition_of(job_id),
            name=spec.name,
            at=now,
            calendars=list(calendars),
            **coming._asdict(),
            **spec_columns(spec),
        )
        return job_of(row, team)

    async def update(
        self, old: Job, job: LockedJob, wanted: Wanted, *, due_after: datetime | None = None
    ) -> Job:
        """Write a new revision, due after that instant; without it the schedule goes on."""
        at = due_after or max(await self.now(), job.changed_at)
        calendars, timing = job.calendars, job.timing
        if due_after is not None:
            calendars = await self._current_calendars(old.team, wanted.spec)
            closures = await self._closures(calendars)
            timing = retimed(job, wanted.spec, closures, at)
        if wanted.overrides is not None:
            timing = msgspec.structs.replace(timing, overrides=wanted.overrides)
        coming = Ahead(old.next_due_at, old.next_fire_at, job.follows)
        if wanted.state is not JobState.ACTIVE:
            coming = Ahead()
        elif due_after is not None:
            timetable = _compiled(wanted.spec, job.id, timing)
            coming = await first(self._fetch, job, wanted.spec, timing, timetable, due_after)
        elif coming.next_due_at is not None and wanted.overrides is not None:
            coming = _overridden(wanted.spec, job.id, timing, coming.next_due_at, at)
        [row] = await self._fetch(
            _Q["update_job"],
            id=job.id,
            state=wanted.state,
            at=at,
            since=timing.since,
            overrides=as_json(timing.overrides),
            calendars=list(calendars),
            **coming._asdict(),
            **spec_columns(wanted.spec),
        )
        return job_of(row, old.team)

    async def cancel_waiting(self, job: LockedJob) -> int:
        """Cancel all runs of a job that wait, for an executor or a retry; returns how many."""
        given = {"job_id": job.id, "partition": job.partition}
        [row] = await self._fetch(_Q["cancel_waiting"], **given)
        cancelled: int = row["cancelled"]
        return cancelled

    async def _accounted_until(self, job: Job) -> datetime:
        """All due times up to here have their rows."""
        if job.state is JobState.ACTIVE:
            return job.next_due_at - SECOND if job.next_due_at else await self.now()
        if job.state is JobState.PAUSED:
            schedule = None if job.spec.schedule is None else as_json(job.spec.schedule)
            [row] = await self._fetch(
                _Q["stopped_since"], job_id=job.id, state=job.state, schedule=schedule
            )
            stopped_at: datetime = row["stopped_at"] or job.changed_at
            return stopped_at
        newest = await newest_runs(self._fetch, [job.id])
        if not newest:
            [row] = await self._fetch(_Q["purged_until"], job_id=job.id)
            purged_until: datetime | None = row["purged_until"]
            return max(job.created_at, purged_until - SECOND) if purged_until else job.created_at
        accounted_at: datetime = newest[job.id]["due_until"] or newest[job.id]["due_at"]
        return accounted_at

    async def _current_calendars(self, team: str, spec: JobSpec) -> tuple[int, ...]:
        if spec.schedule is None:
            return ()
        return await current_calendars(self._fetch, team, spec.schedule, locked=True)

    async def _closures(self, calendars: Sequence[int]) -> tuple[Closures, ...]:
        return await self._calendars.closures(self._fetch, calendars)

    async def _covered(
        self, job: LockedJob, due: Sequence[datetime]
    ) -> list[tuple[datetime, datetime | None]]:
        if not due:
            return []
        query = around(due[0], due[-1]).pin(_Q["accounted"])
        rows = await self._fetch(query, job_id=job.id, since=due[0], until=due[-1])
        return [(row["due_at"], row["due_until"]) for row in rows]

    async def _insert(self, job: LockedJob, claims: list[Claim], now: datetime) -> list[Claim]:
        """Insert rows in one statement; gives those that had none."""
        self._dues[:] = [claim.due_at for claim in claims]
        rows = await self._fetch(
            _Q["account"],
            job_id=job.id,
            team_id=job.team_id,
            partition=job.partition,
            priority=PRIORITIES[job.spec.priority],
            pool=job.spec.pool,
            at=now,
            run_ids=[claim.run_id for claim in claims],
            due_ats=self._dues,
            fire_ats=[claim.fire_at for claim in claims],
            states=[claim.state for claim in claims],
            reasons=[claim.reason for claim in claims],
            due_untils=[claim.due_until for claim in claims],
            due_counts=[claim.due_count for claim in claims],
        )
        made = {row["id"] for row in rows}
        return [claim for claim in claims if claim.run_id in made]

    async def _fetch(self, query: Query, **given: object) -> list[asyncpg.Record]:
        return await self._database.run(self._session, query, **given)


def _compiled(spec: JobSpec, job_id: UUID, timing: Timing) -> Timetable | None:
    try:
        return timetable_of(spec, job_id, timing)
    except ScheduleError as error:
        raise InvalidInputError.at("schedule", str(error)) from error


def _overridden(spec: JobSpec, job_id: UUID, timing: Timing, due: datetime, now: datetime) -> Ahead:
    """What lies ahead with other overrides, of a job whose next due time was `due`."""
    timetable = _compiled(spec, job_id, timing)
    assert timetable is not None  # it has a next due time
    # What lies before the next due time is accounted for, but a moved one may be new.
    moved = [it.move_to for it in timing.overrides if it.move_to and it.move_to > now]
    if timetable.following is not None:
        return ahead(timetable, due)
    return ahead(timetable, timetable.next_after(min([due, *moved]) - SECOND))


def _newest(timetable: Timetable, due: Sequence[datetime], count: int) -> list[datetime]:
    """The newest due times that are to run, if nothing stands against it."""
    to_run = [at for at in due if not timetable.skip_reason(epoch_s(at))] if count else []
    return to_run[len(to_run) - count :] if len(to_run) > count else to_run


def _timetable(job: LockedJob) -> Timetable | None:
    """When a stored job is due; None also for one that is broken, which owes nothing."""
    try:
        return job.timetable()
    except ScheduleError:
        return None
