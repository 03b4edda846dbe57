"""Why runs wait, and when they will probably start, in PostgreSQL."""

from __future__ import annotations

from uuid import UUID

import msgspec

from matins.domain.runs.outlook import (
    BEFORE_MAX,
    HOLDERS_TOLD,
    Outlook,
    QueuePlace,
    RunHolder,
    outlook,
)
from matins.domain.runs.states import RunState
from matins.domain.values.errors import ConflictError
from matins.domain.values.ids import due_of
from matins.store.database import Database
from matins.store.fleet import PostgresFleet
from matins.store.queries import load_queries

_Q = load_queries("outlooks.sql")


class PostgresOutlooks:
    """Reads where runs stand that wait."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._fleet = PostgresFleet(database)

    async def of(self, run: UUID) -> Outlook:
        """Return the outlook of a run. Raises ConflictError if it does not wait."""
        row = await self._database.fetchrow(
            _Q["place"], run_id=run, due_at=due_of(run), most=BEFORE_MAX
        )
        if row is None:
            raise ConflictError(f"run {run} does not wait: it runs, is over, or is not known")
        place = QueuePlace(**{**row, "state": RunState(row["state"])})
        found = outlook(place, await self._fleet.served())
        if place.state is not RunState.WAITING:
            return found
        rows = await self._database.fetch(
            _Q["holders"], run_id=run, most=BEFORE_MAX, limit=HOLDERS_TOLD
        )
        return msgspec.structs.replace(
            found,
            held_by=max((row["held_by"] for row in rows), default=0),
            holders=[
                RunHolder(row["run"], row["job"], row["state"], row["started_at"]) for row in rows
            ],
        )
