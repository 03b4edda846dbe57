"""The queues of pools as a whole, in PostgreSQL. See `domain.ports.pools`."""

from __future__ import annotations

from collections.abc import Sequence

from matins.domain.runs.ranking import PoolSeen, QueuesSeen, Started, noted
from matins.store.database import Database
from matins.store.fronts import Fronts
from matins.store.queries import load_queries

_Q = load_queries("pools.sql")


class PostgresQueues:
    """What a scheduler knows of all queues. See `domain.ports.pools.Queues`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self) -> QueuesSeen:
        """See `domain.ports.pools.Queues`."""
        rows = await self._database.fetch(_Q["read"])
        return QueuesSeen(
            {
                row["pool"]: PoolSeen(row["gap_s"], row["reached"], row["emptied_at"])
                for row in rows
                if row["pool"] is not None
            },
            {row["team_id"]: row["weight"] for row in rows if row["pool"] is None},
        )


async def note_starts(database: Database, fronts: Fronts, started: Sequence[Started]) -> None:
    """Note what was handed out of pools, whose queues are looked at from their fronts on."""
    pools = [of.pool for of in started]
    rows = await database.fetch(
        _Q["noted"], pools=pools, fronts=[fronts.of(pool).begin() for pool in pools]
    )
    row_of = {row["pool"]: row for row in rows}
    seen = []
    for of in started:
        row = row_of[of.pool]
        before = None if row["gap_s"] is None else PoolSeen(row["gap_s"], row["reached"])
        seen.append(noted(before, of, since_s=row["since_s"], first=row["rank"]))
    await database.fetch(
        _Q["note"],
        pools=pools,
        gaps_s=[sample.gap_s for sample in seen],
        reached=[sample.reached for sample in seen],
        at=rows[0]["now"],
    )
