"""The upkeep of a database under virtual time, and what was stored before it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from random import Random

from tests.sql.owned import TEAM, Owned

from matins.domain.jobs.spec import Job
from matins.domain.runs.claims import Claim, Claimed
from matins.domain.runs.states import Kind
from matins.domain.time.zones import data_version
from matins.domain.values.ids import run_id
from matins.kernel.clock import HostClock
from matins.kernel.settings import Settings
from matins.roles.upkeep import make_upkeep
from matins.store.database import Database
from matins.store.hints import PostgresHints
from matins.upkeep.upkeep import Upkeep

OLDER, NEWER = "1999z", "2999a"
"""Versions of zone data before and after the one that is installed."""


class Upkept(Owned):
    """With a scheduler's upkeep, done when it is told to."""

    def __init__(self, dsn: str) -> None:
        super().__init__(dsn)
        self.settings = Settings()
        self.one, self.other = (self._connection(dsn, name) for name in ("one", "other"))
        """A scheduler's connection for its upkeep, as production sets it up, and another's."""
        self.history = Database(dsn, name="history", size=2, deadline_s=300, now=lambda: self.now)

    def upkeep(self, database: Database | None = None) -> Upkeep:
        """Return a scheduler's upkeep."""
        database = database or self.one
        hints = PostgresHints(database)
        return make_upkeep(database, self.history, hints, HostClock(), Random(2), self.settings)

    def _connection(self, dsn: str, name: str) -> Database:
        return Database(dsn, name=name, size=1, by_key_only=True, now=lambda: self.now)

    async def work(self) -> None:
        """Do all the tasks once, as a scheduler that has just been started."""
        await self.upkeep().work()

    async def job(self, name: str = "job") -> Job:
        """Return a job as it is stored."""
        return await self.reads.job(TEAM, name)

    async def claims_at(self, due_at: datetime, name: str = "job") -> list[Claim]:
        """Return what a scheduler claims that has a job in its memory, due at that instant."""
        job = await self.job(name)
        [known] = await self._agenda.find_jobs([job.id])
        run = run_id(job.id, due_at, Kind.SCHEDULED)
        place = (known.revision, known.partition, known.pool)
        return [Claim(run, job.id, *place, due_at, due_at)]

    async def send(self, claims: list[Claim]) -> Claimed:
        """Claim under leases that hold."""
        await self._hold_leases()
        return await self._agenda.claim(self._holder, self._epochs, claims)

    async def execute(self, sql: str, *arguments: object) -> None:
        """Change what is stored by hand."""
        async with self.database.session() as session:
            await session.execute(sql, *arguments)

    async def computed_with(self, version: str) -> None:
        """Let the stored next due times come from that version of the zone data."""
        await self.execute("DELETE FROM zone_data")
        await self.execute(
            "INSERT INTO zone_data (version, computed_at) VALUES ($1, $2)", version, self.now
        )

    async def recorded(self) -> str | None:
        """Return the version with which next due times were computed last."""
        async with self.database.session() as session:
            version: str | None = await session.fetchval("SELECT version FROM zone_data")
            return version

    async def told_by_older_data(self, next_due_at: datetime, name: str = "job") -> None:
        """Let a job have a next due time as other rules of its zone would give it."""
        await self.execute(
            "UPDATE jobs SET next_due_at = $1, next_fire_at = $1 WHERE name = $2",
            next_due_at,
            name,
        )
        await self.computed_with(OLDER)


@asynccontextmanager
async def upkept(dsn: str) -> AsyncIterator[Upkept]:
    """Open it, with the zone data recorded, and close its connections in the end."""
    opened = Upkept(dsn)
    try:
        await opened.computed_with(data_version())
        yield opened
    finally:
        for database in (opened.one, opened.other, opened.history, opened.database):
            await database.close()
