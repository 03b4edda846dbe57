"""Jobs that are to be deleted some time after their last run."""

from __future__ import annotations

from uuid import UUID

import asyncpg

from matins.domain.jobs.changes import JobRef
from matins.domain.upkeep.auto_delete import EndedJob
from matins.store.database import Database
from matins.store.past import newest_runs, recorded
from matins.store.queries import load_queries

_Q = load_queries("auto_delete.sql")


class PostgresEndedJobs:
    """See `domain.ports.upkeep.EndedJobs`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ended_jobs(self, after: UUID, limit: int) -> list[EndedJob]:
        """See `domain.ports.upkeep.EndedJobs`."""
        rows = await self._database.fetch(_Q["ended_jobs"], after=after, limit=limit)
        newest = await newest_runs(self._database.fetch, [row["id"] for row in rows])
        return [_ended_job(row, newest.get(row["id"])) for row in rows]


def _ended_job(row: asyncpg.Record, newest: asyncpg.Record | None) -> EndedJob:
    return EndedJob(
        job=JobRef(row["team"], row["name"], row["id"], row["revision"]),
        delete_after=row["delete_after"],
        changed_at=row["changed_at"],
        newest_run=recorded(newest) if newest else None,
        now=row["now"],
    )
