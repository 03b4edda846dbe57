"""The database ranks a run as the schedulers do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import asyncpg

from matins.domain.jobs.spec import PRIORITIES
from matins.domain.runs.ranking import rank_at

MICROSECOND = timedelta(microseconds=1)


async def test_the_ranks_of_the_database_are_those_of_the_schedulers(dsn: str) -> None:
    rng = Random(2026)
    years = 20 * 365 * 86_400 * 1_000_000
    epoch = datetime(2020, 1, 1, tzinfo=UTC)
    instants = [epoch + rng.randrange(years) * MICROSECOND for _ in range(500)]
    priorities = [rng.choice([*PRIORITIES.values()]) for _ in instants]
    session = await asyncpg.connect(dsn)
    rows = await session.fetch(
        "SELECT rank_at(instant, priority)"
        " FROM unnest($1::timestamptz[], $2::smallint[]) WITH ORDINALITY"
        " AS run (instant, priority, place) ORDER BY place",
        instants,
        priorities,
    )
    await session.close()
    ranks = [rank for (rank,) in rows]
    assert ranks == [*map(rank_at, instants, priorities)]
