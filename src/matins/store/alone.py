"""Work that one process does at a time, whoever it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("alone.sql")


@asynccontextmanager
async def alone(
    database: Database, work: str
) -> AsyncIterator[asyncpg.pool.PoolConnectionProxy | None]:
    """Give a session to the one that does this work now; None to all others."""
    async with database.session() as session:
        [row] = await database.run(session, _Q["lock"], work=work)
        if not row["locked"]:
            yield None
            return
        try:
            yield session
        finally:
            await database.run(session, _Q["unlock"], work=work)
