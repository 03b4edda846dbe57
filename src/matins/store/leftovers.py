"""Rows beside runs that nobody asks for any more. See `domain.ports.upkeep.Leftovers`."""

from __future__ import annotations

from datetime import datetime

from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("leftovers.sql")


class PostgresLeftovers:
    """Hand-outs, executors and revisions that are over."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def forget_handouts(self, before: datetime, limit: int) -> None:
        """See `domain.ports.upkeep.Leftovers`."""
        await self._database.fetch(_Q["forget_handouts"], before=before, limit=limit)

    async def delete_executors(self, before: datetime, limit: int) -> int:
        """See `domain.ports.upkeep.Leftovers`."""
        return len(await self._database.fetch(_Q["delete_executors"], before=before, limit=limit))

    async def delete_trigger_keys(self, before: datetime, limit: int) -> int:
        """See `domain.ports.upkeep.Leftovers`."""
        return len(
            await self._database.fetch(_Q["delete_trigger_keys"], before=before, limit=limit)
        )

    async def delete_revisions(self, before: datetime, limit: int) -> int:
        """See `domain.ports.upkeep.Leftovers`."""
        [row] = await self._database.fetch(_Q["delete_revisions"], before=before, limit=limit)
        looked_at: int = row["looked_at"]
        return looked_at

    async def delete_replays(self, before: datetime, limit: int) -> int:
        """See `domain.ports.upkeep.Leftovers`."""
        return len(await self._database.fetch(_Q["delete_replays"], before=before, limit=limit))

    async def delete_backfills(self, before: datetime, limit: int) -> int:
        """See `domain.ports.upkeep.Leftovers`."""
        return len(await self._database.fetch(_Q["delete_backfills"], before=before, limit=limit))
