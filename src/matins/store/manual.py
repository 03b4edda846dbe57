"""Single runs that are made or ended by their owners. See `domain.ports.runs`."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import asyncpg

from matins.domain.executors.protocol import RunStatus
from matins.domain.ports.runs import FoundJob, TriggeredRun
from matins.domain.runs.states import RunState
from matins.domain.values.ids import due_of
from matins.store.database import Database
from matins.store.days import with_days
from matins.store.dispatch import status_of
from matins.store.fleet import PostgresFleet
from matins.store.past import around
from matins.store.queries import load_queries

_Q = load_queries("manual.sql")


class PostgresRunChanges:
    """See `domain.ports.runs.RunChanges`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._fleet = PostgresFleet(database)

    async def find_job(self, team: str, name: str) -> FoundJob | None:
        """See `domain.ports.runs.RunChanges`."""
        row = await self._database.fetchrow(_Q["find_job"], team=team, name=name)
        return None if row is None else FoundJob(row["id"], row["now"])

    async def trigger(self, run_id: UUID, job_id: UUID, due_at: datetime) -> TriggeredRun | None:
        """See `domain.ports.runs.RunChanges`. The status says why the run waits."""

        async def insert() -> asyncpg.Record | None:
            return await self._database.fetchrow(
                _Q["trigger"], run_id=run_id, job_id=job_id, due_at=due_at
            )

        row = await with_days(self._database, [due_at], insert)
        if row is None:
            return None
        [status] = await self._fleet.tell_waiting([row], [status_of(row)])
        return TriggeredRun(status, row["pool"])

    async def cancel(self, run_id: UUID) -> RunStatus | None:
        """See `domain.ports.runs.RunChanges`."""
        row = await self._database.fetchrow(_Q["cancel"], run_id=run_id, due_at=due_of(run_id))
        return None if row is None else status_of(row)

    async def state(self, run_id: UUID) -> RunState | None:
        """See `domain.ports.runs.RunChanges`."""
        due_at = due_of(run_id)
        query = around(due_at, due_at).pin(_Q["state"])
        row = await self._database.fetchrow(query, run_id=run_id, due_at=due_at)
        return None if row is None else RunState(row["state"])
