"""Work that one process does at a time. See `domain.ports.upkeep.Locks`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import asyncpg

from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("locks.sql")

IDLE_S: Final = 10.0
"""PostgreSQL ends the session of a holder that is silent for so long, as one that is frozen is."""


class PostgresLocks:
    """Advisory locks, each held by a session of its own for as long as the work lasts.

    The session says every third of `idle_s` that its process is alive.
    """

    def __init__(self, database: Database, idle_s: float = IDLE_S) -> None:
        self._database = database
        self._idle_s = idle_s

    @asynccontextmanager
    async def alone(self, work: str) -> AsyncIterator[bool]:
        """See `domain.ports.upkeep.Locks`."""
        failure: OSError | None = None
        async with self._database.session() as session:
            [row] = await self._database.run(session, _Q["lock"], work=work, idle_ms=self._idle_ms)
            if not row["locked"]:
                yield False
                return
            is_over = asyncio.Event()
            holding = asyncio.create_task(self._hold(session, is_over))
            try:
                yield True
            except OSError as error:
                failure = error  # a session would take it for a failure of the database
            finally:
                is_over.set()
                await holding
                await self._database.run(session, _Q["unlock"], work=work)
        if failure is not None:
            raise failure

    @property
    def _idle_ms(self) -> str:
        return str(int(self._idle_s * 1000))

    async def _hold(
        self, session: asyncpg.pool.PoolConnectionProxy, is_over: asyncio.Event
    ) -> None:
        while not is_over.is_set():
            try:
                async with asyncio.timeout(self._idle_s / 3):
                    await is_over.wait()
            except TimeoutError:
                await self._database.run(session, _Q["hold"])
