"""The whole system in one look, read from PostgreSQL. See `domain.ports.status`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import asyncpg
import msgspec

from matins.domain.runs.ranking import HEAD_STARTS_S
from matins.domain.status.facts import (
    COUNT_MAX,
    OVERDUE_MAX,
    FailingChannel,
    LiveRuns,
    PoolStatus,
    SystemFacts,
)
from matins.store.database import Database, check_writable
from matins.store.queries import load_queries
from matins.store.restores import PostgresRestores

_Q = load_queries("status.sql")


class PostgresStatusReads:
    """See `domain.ports.status.StatusReads`."""

    def __init__(self, database: Database) -> None:
        """`database`: a pool of its own, so that a look waits for nobody's reads."""
        self._database = database
        self._restores = PostgresRestores(database)

    async def facts(self, late: timedelta) -> SystemFacts:
        """See `domain.ports.status.StatusReads`."""
        fetch = self._database.fetch
        await check_writable(self._database)
        [seen] = await fetch(_Q["schedulers"])
        partitions = await fetch(_Q["partitions"], late=late, most=OVERDUE_MAX)
        queues = await fetch(_Q["queues"], most=COUNT_MAX, head_starts_s=list(HEAD_STARTS_S))
        served = await fetch(_Q["served"], silent=late)
        [counts] = await fetch(_Q["counts"], most=COUNT_MAX)
        channels = await fetch(_Q["failing_channels"])
        dead_letters, runs = counts["dead_letters"], dict(counts)
        del runs["dead_letters"]
        facts = SystemFacts(
            **dict(seen),
            pools=_pools(queues, served),
            runs=LiveRuns(**runs),
            dead_letters=dead_letters,
            restore=await self._restores.unresolved_restore(),
            failing_channels=[FailingChannel(**dict(row)) for row in channels],
        )
        return _with_partitions(facts, partitions)


def _with_partitions(facts: SystemFacts, rows: Sequence[asyncpg.Record]) -> SystemFacts:
    free = [row for row in rows if not row["is_held"]]
    unclaimed = [row for row in rows if row["unclaimed_since"] is not None]
    return msgspec.structs.replace(
        facts,
        without_holder=sorted(row["partition"] for row in free),
        uncovered_since=min(filter(None, (row["watermark"] for row in free)), default=None),
        unclaimed_since=min((row["unclaimed_since"] for row in unclaimed), default=None),
        behind_since=min(
            (row["unclaimed_since"] for row in unclaimed if row["is_held"]), default=None
        ),
        overdue=sum(row["overdue"] for row in rows),
    )


def _pools(queues: Sequence[asyncpg.Record], served: Sequence[asyncpg.Record]) -> list[PoolStatus]:
    """Return the pools that have runs or executors, by name."""
    pools = {row["pool"]: PoolStatus(**dict(row)) for row in served}
    for row in queues:
        known = pools.get(row["pool"], PoolStatus(row["pool"]))
        pools[row["pool"]] = msgspec.structs.replace(known, **dict(row))
    return [pools[pool] for pool in sorted(pools)]
