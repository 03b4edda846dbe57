"""Which jobs follow which, as people look at it."""

from __future__ import annotations

from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("chains.sql")


class PostgresChainReads:
    """Reads what is due with the runs of a job. A replica will do."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def followers(self, team: str, name: str) -> list[str]:
        """Return the jobs of the team that are due with the runs of one, by name."""
        rows = await self._database.fetch(_Q["downstream"], team=team, name=name)
        return [row["name"] for row in rows]
