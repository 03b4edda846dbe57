"""What lies on the system now, and PostgreSQL as it runs: for the web page. A replica will do."""

from __future__ import annotations

from matins.domain.status.loads import COUNT_MAX, Engine, Load
from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("loads.sql")


class PostgresLoads:
    """Reads what operators look at beside the status."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def loads(self) -> list[Load]:
        """Return the runs in states that don't last, by team and pool."""
        rows = await self._database.fetch(_Q["loads"], most=COUNT_MAX)
        return [Load(**dict(row)) for row in rows]

    async def engine(self) -> Engine:
        """Return PostgreSQL as it runs."""
        [row] = await self._database.fetch(_Q["engine"])
        return Engine(**dict(row))
