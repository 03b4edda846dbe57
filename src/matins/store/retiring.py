"""Days that are over leave the tables of those who claim, hand out and record.

A statement with a generic plan locks every partition of the tables that it names. So `runs` and
`attempts` hold the days in which something may still happen, and the days that are over hang below
`past_runs` and `past_attempts`. A day moves whole: its rows are neither read nor written for it.
"""

from __future__ import annotations

import asyncio
from datetime import date

import asyncpg
import structlog

from matins.domain.ports import Clock
from matins.store.alone import alone
from matins.store.database import Database
from matins.store.queries import load_queries

WORK_S = 30.0
"""A call begins with no further day after so long."""

LOCK_MS = 100
"""How long claims may be held up, at the most, by a move that waits for a long read."""

_Q = load_queries("retiring.sql")
_PREPARED = ("validate_runs", "validate_attempts", "index_state")

log = structlog.get_logger()


class RetiringDays:
    """Moves days, oldest first; one process does it at a time.

    The sessions of `database` need a long deadline: indexes of whole days are built.
    """

    def __init__(self, database: Database, clock: Clock, stopping: asyncio.Event) -> None:
        self._database = database
        self._clock = clock
        self._stopping = stopping

    async def retire(self) -> list[date]:
        """Move what is over and give the days that were moved; what takes long is left for the
        next call.
        """
        moved: list[date] = []
        until_s = self._clock.elapsed_s() + WORK_S
        async with alone(self._database, "days") as session:
            if session is None:
                return []
            for row in await self._database.run(session, _Q["over"]):
                if self._stopping.is_set() or self._clock.elapsed_s() > until_s:
                    break
                try:
                    if await self._retire(session, row["day"]):
                        moved.append(row["day"])
                except asyncpg.LockNotAvailableError:
                    log.info("day.busy", day=str(row["day"]))
        if moved:
            log.info("days.retired", count=len(moved), first=str(moved[0]), last=str(moved[-1]))
        return moved

    async def _retire(self, session: asyncpg.pool.PoolConnectionProxy, day: date) -> bool:
        [row] = await self._database.run(session, _Q["is_open"], day=day)
        if row["is_open"]:
            return False
        async with session.transaction():
            await session.execute(f"SET LOCAL lock_timeout = {LOCK_MS}")
            await self._database.run(session, _Q["bound"], day=day)
        digits = f"{day:%Y%m%d}"
        broken = await self._database.run(session, _Q["broken_indexes"], name=f"runs_{digits}")
        for index in broken:
            await session.execute(f"DROP INDEX CONCURRENTLY {index['name']}")
        [row] = await self._database.run(session, _Q["has_team_index"], name=f"runs_{digits}")
        for name in _PREPARED if row["has_index"] else (*_PREPARED, "index_team"):
            await session.execute(_Q[name].sql.replace("DAY", digits))
        async with session.transaction():
            await session.execute(f"SET LOCAL lock_timeout = {LOCK_MS}")
            [row] = await self._database.run(session, _Q["retire"], day=day)
        retired: bool = row["retired"]
        return retired
