"""Rows beside runs, put back where they are missing. See `domain.ports.upkeep.RunRepairs`."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from matins.domain.runs.states import SUSPECT_AFTER
from matins.domain.upkeep.healing import Repaired, StrayRun
from matins.domain.values.ids import partition_of
from matins.store.database import Database
from matins.store.dispatch import DEFAULT_TIMEOUT
from matins.store.queries import load_queries

_Q = load_queries("healing.sql")


class PostgresRepairs:
    """The runs that have not moved to the history. See `domain.ports.upkeep.RunRepairs`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def repair(self, after: UUID, limit: int, min_age_s: float) -> Repaired:
        """See `domain.ports.upkeep.RunRepairs`."""
        [row] = await self._database.fetch(
            _Q["repair"],
            after=after,
            limit=limit,
            min_age_s=min_age_s,
            suspect_after=SUSPECT_AFTER,
        )
        return Repaired(**row)

    async def free_permits(self) -> list[UUID]:
        """See `domain.ports.upkeep.RunRepairs`."""
        rows = await self._database.fetch(_Q["free_permits"])
        return [row["run_id"] for row in rows]

    async def stray_runs(self, run_ids: Collection[UUID]) -> list[StrayRun]:
        """See `domain.ports.upkeep.RunRepairs`."""
        rows = await self._database.fetch(
            _Q["stray_runs"], run_ids=[*run_ids], default_timeout=DEFAULT_TIMEOUT
        )
        return [StrayRun(**row) for row in rows]

    async def hand_out_again(self, executor: UUID, run_ids: Collection[UUID]) -> None:
        """See `domain.ports.upkeep.RunRepairs`."""
        await self._database.fetch(
            _Q["hand_out_again"],
            executor=executor,
            partition=partition_of(executor),
            run_ids=[*run_ids],
        )
