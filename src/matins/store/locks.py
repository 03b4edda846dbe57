"""Work that one process does at a time. See `domain.ports.upkeep.Locks`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("locks.sql")


class PostgresLocks:
    """Advisory locks, each held by a session of its own for as long as the work lasts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @asynccontextmanager
    async def alone(self, work: str) -> AsyncIterator[bool]:
        """See `domain.ports.upkeep.Locks`."""
        failure: OSError | None = None
        async with self._database.session() as session:
            [row] = await self._database.run(session, _Q["lock"], work=work)
            if not row["locked"]:
                yield False
                return
            try:
                yield True
            except OSError as error:
                failure = error  # a session would take it for a failure of the database
            finally:
                await self._database.run(session, _Q["unlock"], work=work)
        if failure is not None:
            raise failure
