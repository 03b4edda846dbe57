"""A database under virtual time, its owner, and a scheduler that claims when it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID, uuid4

import asyncpg

from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.misfire import Misfire
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.claims import Advance, Claim
from matins.domain.runs.ledger import catch_up
from matins.domain.schedules.schedule import Schedule
from matins.domain.views import JobAudit
from matins.roles.owners import postgres_owners
from matins.scheduler.following import follow_up_of
from matins.scheduler.planning import LoadedJob, instant_of, plan
from matins.store.agenda import PostgresAgenda
from matins.store.audits import PostgresAudits
from matins.store.calendars import PostgresCalendars
from matins.store.database import Database
from matins.store.hints import PostgresHints
from matins.store.leases import PostgresLeases
from matins.store.reads import PostgresReads
from matins.store.timings import KnownCalendars

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
"""When each test begins; its daily tables are made at need."""

TEAM = "payments"
MINUTE = timedelta(minutes=1)

_SECOND = timedelta(seconds=1)
_LONG_S = 1e8


def spec(schedule: Schedule | None, *, name: str = "job", program: str = "true") -> JobSpec:
    """Return a job with that schedule, which catches up all of a day that nobody claimed."""
    target, misfire = Target(command=CommandTarget([program])), Misfire("all", max_age="1d")
    return JobSpec(name, target, schedule, misfire=misfire, overlap="allow")


EVERY_MINUTE = spec(Schedule(cron="* * * * *"))


class Owned:
    """A database with a time that the test sets, its owner, a scheduler, and a look inside."""

    def __init__(self, dsn: str) -> None:
        self.now = NOON
        self.database = Database(dsn, name="owned", size=3, now=lambda: self.now)
        hints = PostgresHints(self.database)
        known = KnownCalendars()
        owners = postgres_owners(self.database, hints, Random(1))
        self.owners, self.calendars, self.manual = owners.jobs, owners.calendars, owners.runs
        self.window_owner = owners.windows
        self.stored_calendars = PostgresCalendars(self.database)
        self.reads = PostgresReads(self.database)
        self.audits = PostgresAudits(self.database, known)
        self._leases = PostgresLeases(self.database)
        self._agenda = PostgresAgenda(self.database, self.database, self._leases)
        self._holder = uuid4()
        self._epochs: dict[int, int] = {}

    async def claim(self, name: str = "job", *, newest: int = 0, advance: bool = True) -> int:
        """Claim what a job's stored next due time says is due: all, or the newest few of it."""
        await self._hold_leases()
        job = await self.reads.job(TEAM, name)
        found = await self._agenda.find_jobs([job.id])
        if not found:
            return 0
        [due_job] = found
        assert due_job.next_due_at
        timetable = due_job.timetable()
        due = timetable.due_between(due_job.next_due_at - timedelta(seconds=1), self.now, 10_000)
        standing = LockedJob(
            job.id,
            TEAM,
            1,
            due_job.partition,
            job.revision,
            job.state,
            job.spec,
            due_job.timing,
            (),
            job.created_at,
            job.changed_at,
        )
        claims: Sequence[Claim] = catch_up(standing, timetable, due[-newest:])
        made = await self._agenda.claim(self._holder, self._epochs, claims)
        if advance and due and not newest:
            coming = timetable.next_after(due[-1])
            fire = timetable.fire_time(coming) if coming else None
            await self._agenda.advance(
                self._holder, [Advance(job.id, job.revision, coming, fire, due[-1])]
            )
        return len(made.made)

    async def fire(self, name: str = "job", *, advance: bool = True) -> int:
        """Claim what a job owes by now, as the scheduler plans it; gives how many rows it made."""
        await self._hold_leases()
        job = await self.reads.job(TEAM, name)
        found = await self._agenda.find_jobs([job.id])
        entries = [LoadedJob(job) for job in found]
        made = 0
        for entry in entries:
            while entry.due_s is not None and entry.fire_s <= self.now.timestamp():
                step = plan(entry, self.now.timestamp())
                answer = await self._agenda.claim(self._holder, self._epochs, step.claims)
                made += len(answer.made)
                entry.move_to(step.next_s)
            if not advance:
                continue
            due = None if entry.due_s is None else instant_of(entry.due_s)
            fire = None if due is None else instant_of(entry.fire_s)
            until = instant_of(entry.recorded_s)
            await self._agenda.advance(
                self._holder, [Advance(job.id, job.revision, due, fire, until)]
            )
        return made

    async def end(self, name: str = "job") -> int:
        """Let all runs of a job succeed that have not ended yet; gives their number."""
        job = await self.reads.job(TEAM, name)
        async with self.database.session() as session:
            ended = await session.fetch(
                "UPDATE runs SET state = 'succeeded', finished_at = $2"
                " WHERE job_id = $1 AND finished_at IS NULL RETURNING id",
                job.id,
                self.now,
            )
        return len(ended)

    async def follow(self) -> int:
        """Write what follows the ends of runs, as the scheduler does; gives for how many jobs."""
        ended = await self._agenda.ended_runs(range(256), 1000)
        return len(await self._agenda.write_follow_ups([follow_up_of(job)[0] for job in ended]))

    async def quarantine(self, name: str = "job") -> None:
        """Take a job out of the agenda, as a scheduler does that can't compute it."""
        job = await self.reads.job(TEAM, name)
        await self._agenda.quarantine(job.id, job.revision, "it can't be computed")

    async def ledger(self, name: str = "job") -> list[tuple[str, str]]:
        """Return a job's rows: due time as month, day and clock in UTC, state or reason."""
        page = await self.reads.runs_of_job(TEAM, name, None, 1000)
        return [
            (f"{run.due_at:%m-%d %H:%M}", run.reason or run.state.value)
            for run in reversed(page.runs)
        ]

    async def rows(self, name: str = "job") -> list[tuple[int, str, int]]:
        """Return a job's rows: due time in minutes after noon, state or reason, number of due
        times.
        """
        page = await self.reads.runs_of_job(TEAM, name, None, 1000)
        return [
            (int((run.due_at - NOON) / MINUTE), run.reason or run.state.value, run.due_count)
            for run in reversed(page.runs)
        ]

    async def queued(self) -> int:
        """Return how many runs are on the dispatch queue."""
        async with self.database.session() as session:
            count: int = await session.fetchval("SELECT count(*) FROM dispatch")
            return count

    async def audit(self) -> list[JobAudit]:
        """Return the audit of all jobs from noon until now inclusive, when no claim will follow."""
        await self._hold_leases()
        await self._leases.renew(self._holder, self._epochs, self.now, _LONG_S)
        self.now += MINUTE
        page = await self.audits.page(None, None, NOON, self.now - MINUTE + _SECOND, None)
        assert page.next is None
        return page.jobs

    async def _hold_leases(self) -> None:
        if not self._epochs:
            self._epochs = await self._leases.acquire(self._holder, 256, _LONG_S)


@asynccontextmanager
async def owned(dsn: str) -> AsyncIterator[Owned]:
    """Open it, and close its connections in the end."""
    opened = Owned(dsn)
    await serve_the_default_pool(opened.database)
    try:
        yield opened
    finally:
        await opened.database.close()


async def serve_the_default_pool(database: Database) -> None:
    """Let there be an executor, whatever time the test sets."""
    async with database.session() as session:
        await session.execute(
            """
            INSERT INTO executors (
                id, name, pools, slots, partition, first_heartbeat_at, heartbeat_at, first_seq
            )
            VALUES (gen_random_uuid(), 'always', '{default}', 0, 0, '2000-01-01', 'infinity', 1)
            """
        )


async def insert_by_hand(session: asyncpg.Connection, job_id: UUID, due_at: datetime) -> None:
    """Insert a scheduled run as a claim would."""
    await session.execute(
        """
        INSERT INTO runs (id, job_id, due_at, fire_at, claimed_at, epoch, team_id, partition,
                          priority, kind, state, pool)
        SELECT gen_random_uuid(), id, $2, $2, $2, 1, team_id, partition, priority, 'scheduled',
               'queued', pool
        FROM jobs WHERE id = $1
        """,
        job_id,
        due_at,
    )


async def waits_for_a_lock(session: asyncpg.Connection) -> None:
    """Wait until another session of this database waits for a lock."""
    async with asyncio.timeout(10):
        while not await session.fetchval(  # another session's state has no event
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE wait_event_type = 'Lock' AND datname = current_database()"
        ):
            await asyncio.sleep(0.01)
