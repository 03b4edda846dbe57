"""Schedulers and partitions as operators look at them."""

from __future__ import annotations

from matins.domain.runs.cluster import Cluster, SchedulerRecord
from matins.store.database import Database
from matins.store.queries import load_queries
from matins.store.restores import PostgresRestores

_Q = load_queries("cluster.sql")


class PostgresCluster:
    """Reads what schedulers tell of themselves. A replica will do."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self) -> Cluster:
        """Return all of it, now."""
        rows = await self._database.fetch(_Q["schedulers"])
        [free] = await self._database.fetch(_Q["without_holder"])
        schedulers = [SchedulerRecord(**dict(row)) for row in rows]
        restore = await PostgresRestores(self._database).unresolved_restore()
        return Cluster(schedulers, free["partitions"], free["watermark"], restore)
