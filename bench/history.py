"""What history costs: the hot statements with 1 day, 100 days and 2 years of it.

    python -m bench.history [--jobs 1000000] [--runs 1000]

`--runs` is the number of runs on each day that is over. Figures are processor time of PostgreSQL.
"""

from __future__ import annotations

import argparse
import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
import uvloop

from bench.ground import copy, fill_jobs, folder, postgres
from bench.hot import compare
from matins.kernel.clock import HostClock
from matins.store.database import Database
from matins.store.retiring import RetiringDays

DAYS = (1, 100, 730)
ROUNDS = 120

_FILL = """
WITH j AS (
    SELECT id, team_id, partition, row_number() OVER () AS number
    FROM (SELECT * FROM jobs LIMIT $2) AS chosen
),
made AS (
    INSERT INTO runs (
        id, job_id, due_at, fire_at, claimed_at, started_at, finished_at, executor, epoch, team_id,
        attempt, partition, priority, kind, state, pool
    )
    SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '80008'
            || left(md5(j.id::text || at::text), 15))::uuid,
           j.id, at, at, at, at, at, j.id, 1, j.team_id, 1, j.partition, 1, 'scheduled',
           'succeeded', 'default'
    FROM j, LATERAL (SELECT $1::timestamptz + number * (interval '80000 s' / $2::integer)) AS t (at)
    RETURNING id, due_at
)
SELECT count(*) FROM made
"""


async def main(jobs: int, runs: int) -> None:
    """Measure and print."""
    with folder() as path:
        async with postgres(path) as dsn:
            ids = await fill_jobs(dsn, jobs, None, None)
            await hot_statements(dsn, ids, runs)


async def hot_statements(dsn: str, jobs: list[UUID], runs: int) -> None:
    """The same statements beside more and more days, by turns in copies of one database."""
    session = await asyncpg.connect(dsn)
    today = await session.fetchval("SELECT date_trunc('day', clock_timestamp(), 'UTC')")
    copies, made = [], 1
    for days in DAYS:
        await fill_days(session, today, range(made, days), runs)
        await retire(dsn)
        made = days
        await session.close()
        copies.append(await copy(dsn, f"days_{days}"))
        session = await asyncpg.connect(dsn)
    await session.close()
    figures = await compare(copies, jobs, today, ROUNDS)
    print(f"{'us of PostgreSQL beside':34}" + "".join(f"{it:>8} d" for it in DAYS))
    for name, first in figures[0].items():
        cells = "".join(f"{it[name]:>10,.0f}" for it in figures)
        print(f"{name:34}{cells}   x{figures[-1][name] / first:.2f}")


async def fill_days(session: asyncpg.Connection, now: datetime, days: range, runs: int) -> None:
    """Make days before now, with so many runs on each."""
    for day in days:
        first = now - timedelta(days=day)
        await session.execute("SELECT ensure_day($1)", first.date())
        await session.execute(_FILL, first, runs)


async def retire(dsn: str) -> None:
    """Let the upkeep move what is over."""
    database = Database(dsn, name="history", size=1, deadline_s=300)
    days = RetiringDays(database, HostClock(), asyncio.Event())
    while await days.retire():
        pass
    await database.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=1_000)
    given = parser.parse_args()
    uvloop.run(main(given.jobs, given.runs))
