"""What owners do to single runs: trigger one, cancel one."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import asyncpg

from matins.domain.executors.protocol import RunStatus
from matins.domain.ports import Hints
from matins.domain.runs.states import Kind
from matins.domain.values.errors import ConflictError, NotFoundError
from matins.domain.values.ids import run_id, whole_ms
from matins.domain.values.names import check_name
from matins.store.database import Database
from matins.store.days import with_days
from matins.store.dispatch import status_of
from matins.store.fleet import PostgresFleet
from matins.store.hints import tell
from matins.store.past import around
from matins.store.queries import load_queries
from matins.store.reads import due_at_of

_Q = load_queries("manual.sql")
_MS = timedelta(milliseconds=1)


class PostgresManual:
    """Triggers and cancels runs."""

    def __init__(self, database: Database, hints: Hints) -> None:
        self._database = database
        self._hints = hints
        self._fleet = PostgresFleet(database)

    async def trigger(self, team: str, name: str) -> RunStatus:
        """Queue a run of a job now, also of a paused one; its due time is now, in whole ms.

        When the answer is lost, the run may have been made: list the job's runs before repeating.
        """
        check_name("team", team)
        check_name("name", name)
        due_at = None
        while found := await self._database.fetchrow(_Q["find_job"], team=team, name=name):
            # when another was triggered in this very millisecond, the next one is taken
            due_at = due_at + _MS if due_at else whole_ms(found["now"])
            if row := await self._insert(found["id"], due_at):
                await tell(self._hints, "dispatch", row["pool"])
                [status] = await self._fleet.tell_waiting([row], [status_of(row)])
                return status
        raise NotFoundError(f"team {team} has no job {name!r}")

    async def cancel(self, run: UUID) -> RunStatus:
        """End a run that waits; ask for the end of one that is running.

        Its executor hears of it in the answer to its next heartbeat. Raises ConflictError when the
        run has ended, NotFoundError when there is none.
        """
        given: dict[str, object] = {"run_id": run, "due_at": due_at_of(run)}
        row = await self._database.fetchrow(_Q["cancel"], **given)
        if row:
            return status_of(row)
        due_at = due_at_of(run)
        found = await self._database.fetchrow(around(due_at, due_at).pin(_Q["state"]), **given)
        if found is None:
            raise NotFoundError(f"there is no run {run}")
        raise ConflictError(f"the run has ended already: it is {found['state']}")

    async def _insert(self, job_id: UUID, due_at: datetime) -> asyncpg.Record | None:
        async def insert() -> asyncpg.Record | None:
            return await self._database.fetchrow(
                _Q["trigger"],
                run_id=run_id(job_id, due_at, Kind.MANUAL),
                job_id=job_id,
                due_at=due_at,
            )

        return await with_days(self._database, [due_at], insert)
