"""One transaction on one job: lock it, put on record what it still owes, write what it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.claims import Claim
from matins.domain.errors import InvalidInputError, ScheduleError
from matins.domain.ids import partition_of
from matins.domain.jobs import PRIORITIES, Job, JobSpec, JobState
from matins.domain.ledger import Standing, catch_up, skip, timetable_of, unaccounted
from matins.domain.misfire import COUNT_MAX
from matins.domain.runs import RunState
from matins.domain.schedules.timetable import Timetable
from matins.store.database import Database
from matins.store.queries import Query, load_queries

LOOK_MAX = 10_000
"""The most due times that are put on record in one transaction, besides those that are to run."""

_Q = load_queries("changes.sql")
_SECOND = timedelta(seconds=1)


class Settled(msgspec.Struct, frozen=True):
    """What was put on record: due times skipped and queued, and up to when; more may be left."""

    until: datetime
    skipped: int = 0
    queued: int = 0
    complete: bool = True


class Change:
    """The steps of a change, in a transaction that is open. `dues` collects what it inserts."""

    def __init__(
        self, database: Database, session: asyncpg.pool.PoolConnectionProxy, dues: list[datetime]
    ) -> None:
        self._database = database
        self._session = session
        self._dues = dues

    async def now(self) -> datetime:
        """The database's clock, read now."""
        [row] = await self._fetch(_Q["clock"])
        now: datetime = row["now"]
        return now

    async def lock(self, team: str, name: str) -> tuple[Standing, Job] | None:
        """Lock a job and see where it stands; None if there is none of that name."""
        rows = await self._fetch(_Q["lock_job"], team=team, name=name)
        if not rows:
            return None
        [row] = rows
        job = job_of(row, team)
        standing = Standing(
            id=job.id,
            team_id=row["team_id"],
            partition=row["partition"],
            revision=job.revision,
            state=job.state,
            spec=job.spec,
            anchor=row["anchor"],
            changed_at=job.changed_at,
            accounted_until=await self._accounted_until(job),
        )
        return standing, job

    async def settle(
        self, job: Standing, now: datetime, why: str, run_max: int, *, after: datetime
    ) -> Settled:
        """Put on record what was due after `after`, up to now, and has no row: skipped with `why`.

        The newest `run_max` of it are queued instead. Of very much only the oldest part is done.
        """
        timetable = _timetable(job)
        if timetable is None:
            return Settled(now)
        due = timetable.due_between(after, now, LOOK_MAX + COUNT_MAX)
        complete = len(due) < LOOK_MAX + COUNT_MAX
        cut = max(len(due) - run_max, 0) if complete else LOOK_MAX
        past, to_run = due[:cut], due[cut:] if complete else []
        claims = catch_up(job, timetable, to_run)
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

    async def advance(self, job: Standing, until: datetime) -> None:
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
        await self._fetch(_Q["make_team"], team=team)
        due, fire = _next(spec, job_id, now.replace(microsecond=0), now)
        [row] = await self._fetch(
            _Q["insert_job"],
            id=job_id,
            team=team,
            partition=partition_of(job_id),
            name=spec.name,
            at=now,
            next_due_at=due,
            next_fire_at=fire,
            **_columns(spec),
        )
        return job_of(row, team)

    async def update(
        self,
        old: Job,
        job: Standing,
        spec: JobSpec,
        state: JobState,
        *,
        due_after: datetime | None = None,
    ) -> Job:
        """Write a new revision, due after that instant; without it the next due time stays."""
        due, fire = old.next_due_at, old.next_fire_at
        if due_after is not None:
            due, fire = None, None
            if state is JobState.ACTIVE:
                due, fire = _next(spec, job.id, job.anchor, due_after)
        [row] = await self._fetch(
            _Q["update_job"],
            id=job.id,
            state=state,
            at=due_after or max(await self.now(), job.changed_at),
            next_due_at=due,
            next_fire_at=fire,
            **_columns(spec),
        )
        return job_of(row, old.team)

    async def _accounted_until(self, job: Job) -> datetime:
        """All due times up to here have their rows."""
        if job.state is JobState.ACTIVE:
            return job.next_due_at - _SECOND if job.next_due_at else await self.now()
        if job.state is JobState.PAUSED:
            schedule = None if job.spec.schedule is None else _json(job.spec.schedule)
            [row] = await self._fetch(
                _Q["stopped_since"], job_id=job.id, state=job.state, schedule=schedule
            )
            stopped_at: datetime = row["stopped_at"] or job.changed_at
            return stopped_at
        rows = await self._fetch(_Q["last_accounted"], job_id=job.id)
        return rows[0]["accounted_at"] if rows else job.created_at

    async def _covered(
        self, job: Standing, due: Sequence[datetime]
    ) -> list[tuple[datetime, datetime | None]]:
        if not due:
            return []
        rows = await self._fetch(_Q["accounted"], job_id=job.id, first=due[0], last=due[-1])
        return [(row["due_at"], row["due_until"]) for row in rows]

    async def _insert(self, job: Standing, claims: list[Claim], now: datetime) -> list[Claim]:
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
        return await self._session.fetch(query.sql, *self._database.ordered(query, given))


def job_of(row: asyncpg.Record, team: str) -> Job:
    """A job from its row."""
    return Job(
        id=row["id"],
        team=team,
        revision=row["revision"],
        state=JobState(row["state"]),
        spec=msgspec.json.decode(row["spec"], type=JobSpec),
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        next_due_at=row["next_due_at"],
        next_fire_at=row["next_fire_at"],
        reason=row["reason"],
    )


def _columns(spec: JobSpec) -> dict[str, object]:
    return {
        "spec": _json(spec),
        "schedule": None if spec.schedule is None else _json(spec.schedule),
        "misfire": _json(spec.misfire),
        "pool": spec.pool,
        "priority": PRIORITIES[spec.priority],
    }


def _json(value: msgspec.Struct) -> str:
    return msgspec.json.encode(value).decode()


def _next(
    spec: JobSpec, job_id: UUID, anchor: datetime, now: datetime
) -> tuple[datetime | None, datetime | None]:
    """The first due time after an instant, and its fire time."""
    try:
        timetable = timetable_of(spec, job_id, anchor)
    except ScheduleError as error:
        raise InvalidInputError.at("schedule", str(error)) from error
    due = timetable.next_after(now) if timetable else None
    return due, timetable.fire_time(due) if timetable and due else None


def _timetable(job: Standing) -> Timetable | None:
    """When a stored job is due; None also for one that is broken, which owes nothing."""
    try:
        return job.timetable()
    except ScheduleError:
        return None
