"""The watch over executors, in PostgreSQL. See `domain.ports.Watch`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from matins.domain.executors.liveness import ExecutorSeen
from matins.domain.executors.protocol import Ending, Recorded, Running
from matins.store.database import Database
from matins.store.dispatch import record, running_of
from matins.store.queries import load_queries

_Q = load_queries("dispatch.sql")
_EMPTIED_MAX = 1_000


class PostgresWatch:
    """Finds silent executors and what they held. See `domain.ports.Watch`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def executors(self) -> list[ExecutorSeen]:
        """See `domain.ports.Watch`."""
        rows = await self._database.fetch(_Q["seen"])
        return [ExecutorSeen(row["id"], row["name"], row["heartbeat_at"]) for row in rows]

    async def declare_lost(self, executor: UUID, heartbeat_at: datetime) -> bool:
        """See `domain.ports.Watch`."""
        row = await self._database.fetchrow(
            _Q["declare_lost"], executor=executor, heartbeat_at=heartbeat_at
        )
        return row is not None

    async def abandoned_runs(self, limit: int) -> list[tuple[UUID, list[Running]]]:
        """See `domain.ports.Watch`."""
        await self._note_empty()
        held: dict[UUID, list[Running]] = {}
        for row in await self._database.fetch(_Q["abandoned_runs"], limit=limit):
            held.setdefault(row["executor"], []).append(running_of(row))
        return list(held.items())

    async def _note_empty(self) -> None:
        """Note which executors have ended and hold nothing any more: none looks at them again."""
        emptied = await self._database.fetch(_Q["emptied"], limit=_EMPTIED_MAX)
        if not emptied:
            return
        async with self._database.transaction() as session:
            fetch = partial(self._database.run, session)
            rows = await fetch(_Q["lock_executors"], executors=[row["id"] for row in emptied])
            await fetch(_Q["note_empty"], executors=[row["id"] for row in rows])

    async def drop_handouts(self, executor: UUID) -> None:
        """See `domain.ports.Watch`."""
        await self._database.fetch(_Q["drop_handouts"], executor=executor)

    async def record(self, executor: UUID, endings: Sequence[Ending]) -> list[Recorded]:
        """See `domain.ports.Watch`."""
        return await record(self._database, executor, endings)
