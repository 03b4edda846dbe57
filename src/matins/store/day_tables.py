"""The daily tables of runs and attempts. See `domain.ports.upkeep.DayTables`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date

import asyncpg

from matins.domain.ports.output import OutsideOutput
from matins.store.database import Database
from matins.store.queries import load_queries

LOCK_MS = 100
"""How long others may be held up, at the most, by a move or a drop that waits for a long read."""

_Q = load_queries("days.sql")
_PREPARED = ("validate_runs", "validate_attempts", "index_state")


class PostgresDayTables:
    """Makes, detaches and drops days.

    The sessions of `database` need a long deadline: indexes of whole days are built.
    """

    def __init__(self, database: Database, outputs: OutsideOutput | None = None) -> None:
        """`outputs`: where whole outputs are kept, if not in the tables."""
        self._database = database
        self._outputs = outputs

    async def today(self) -> date:
        """See `domain.ports.upkeep.DayTables`."""
        [row] = await self._database.fetch(_Q["today"])
        today: date = row["today"]
        return today

    async def make(self, first: date, last: date) -> None:
        """See `domain.ports.upkeep.DayTables`."""
        await self._database.fetch(_Q["ensure_days"], first=first, last=last)

    async def days_over(self) -> list[date]:
        """See `domain.ports.upkeep.DayTables`."""
        return [row["day"] for row in await self._database.fetch(_Q["days_over"])]

    async def detach(self, day: date) -> bool:
        """See `domain.ports.upkeep.DayTables`. Bounds are checked and indexes built beforehand."""
        async with self._database.session() as session:
            [row] = await self._database.run(session, _Q["is_open"], day=day)
            if row["is_open"]:
                return False
            async with _soon(session):
                await self._database.run(session, _Q["bound"], day=day)
            await self._prepare(session, f"{day:%Y%m%d}")
            async with _soon(session):
                [row] = await self._database.run(session, _Q["detach"], day=day)
            detached: bool = row["detached"]
            return detached

    async def _prepare(self, session: asyncpg.pool.PoolConnectionProxy, digits: str) -> None:
        name = f"runs_{digits}"
        for index in await self._database.run(session, _Q["broken_indexes"], name=name):
            await session.execute(f"DROP INDEX CONCURRENTLY {index['name']}")
        [row] = await self._database.run(session, _Q["has_team_index"], name=name)
        for step in _PREPARED if row["has_index"] else (*_PREPARED, "index_team"):
            await session.execute(_Q[step].sql.replace("DAY", digits))

    async def past_days(self, before: date) -> list[date]:
        """See `domain.ports.upkeep.DayTables`."""
        return [row["day"] for row in await self._database.fetch(_Q["past_days"], before=before)]

    async def drop(self, day: date) -> None:
        """See `domain.ports.upkeep.DayTables`."""
        if self._outputs:  # first: after the drop nobody would come back for them
            await self._outputs.forget_day(day)
        async with self._database.session() as session, _soon(session):
            await self._database.run(session, _Q["drop"], day=day)


@asynccontextmanager
async def _soon(session: asyncpg.pool.PoolConnectionProxy) -> AsyncIterator[None]:
    """A transaction that gives up when it would wait for a lock."""
    async with session.transaction():
        await session.execute(f"SET LOCAL lock_timeout = {LOCK_MS}")
        yield
