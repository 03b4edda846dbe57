"""Who is alive, read from the rows and the database's clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import asyncpg
import msgspec

from matins.domain.executors.fleet import SILENT, Fleet, why_waits
from matins.domain.executors.protocol import RunStatus
from matins.domain.jobs.spec import Job
from matins.domain.runs.states import RunState
from matins.store.database import Database
from matins.store.queries import load_queries

R = TypeVar("R", bound=RunStatus)

_Q = load_queries("fleet.sql")


class PostgresFleet:
    """Reads the state of schedulers and executors. A replica will do for all of it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self) -> Fleet:
        """Return all of it, now."""
        partitions = await self._database.fetch(_Q["partitions"])
        seen = await self._database.fetch(_Q["seen"])
        queues = await self._database.fetch(_Q["queues"])
        return Fleet(
            now=partitions[0]["now"],
            held=frozenset(row["partition"] for row in partitions if row["is_held"]),
            watermarks={
                row["partition"]: row["watermark"] for row in partitions if row["watermark"]
            },
            seen_at=seen[0]["seen_at"],
            executors=await self.served(),
            queued_since={row["pool"]: row["queued_since"] for row in queues},
        )

    async def served(self) -> dict[str, int]:
        """Return how many executors serve each pool."""
        rows = await self._database.fetch(_Q["served"], silent=SILENT)
        return {row["pool"]: row["executors"] for row in rows}

    async def tell_overdue(self, jobs: Sequence[Job]) -> list[Job]:
        """Return the jobs, where due times wait for their claim with the reason."""
        if not any(job.next_fire_at for job in jobs):
            return list(jobs)
        fleet = await self.read()
        return [msgspec.structs.replace(job, overdue=fleet.overdue(job)) for job in jobs]

    async def tell_waiting(self, rows: Sequence[asyncpg.Record], runs: list[R]) -> list[R]:
        """Return the runs of these rows; those that wait for executors that aren't there say so."""
        if not any(run.state is RunState.QUEUED for run in runs):
            return runs
        served = await self.served()
        return [
            msgspec.structs.replace(run, reason=why_waits(run, row["pool"], served))
            for row, run in zip(rows, runs, strict=True)
        ]
