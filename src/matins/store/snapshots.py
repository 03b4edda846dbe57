"""The oldest snapshot of the database, as PostgreSQL tells it."""

from __future__ import annotations

from matins.domain.upkeep.snapshots import OldestSnapshot
from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("snapshots.sql")


class PostgresSnapshots:
    """Who holds back the clean-up of old rows. See `domain.ports.upkeep.Snapshots`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def oldest_snapshot(self) -> OldestSnapshot | None:
        """See `domain.ports.upkeep.Snapshots`."""
        row = await self._database.fetchrow(_Q["oldest_snapshot"])
        return OldestSnapshot(**row) if row else None
