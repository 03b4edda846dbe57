"""What grows with jobs and history: hot statements and lists; `bench.scheduler` has the rest.

    python -m bench.history [--jobs 1000000] [--runs 1000] [--recent 200000]

`--runs` is the number of runs on each day that is over, `--recent` on each of the last five days,
which the lists are measured with.
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
from bench.lists import lists, split_teams, spoil
from matins.kernel.clock import HostClock
from matins.store.database import Database
from matins.store.day_tables import PostgresDayTables
from matins.store.locks import PostgresLocks
from matins.upkeep.days import DaysOver

DAYS = (1, 100, 730)
ROUNDS = 120
TODAY = "SELECT date_trunc('day', clock_timestamp(), 'UTC')"

_FILL = """
WITH j AS (
    SELECT id, team_id, partition, row_number() OVER () AS number
    FROM (SELECT * FROM jobs LIMIT $2) AS chosen
),
made AS (
    INSERT INTO {table} (
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


async def main(given: argparse.Namespace) -> None:
    """Measure and print."""
    with folder() as path:
        async with postgres(path) as dsn:
            ids = await fill_jobs(dsn, given.jobs, None, None)
            await hot_statements(dsn, ids, given.runs)
            await long_lists(dsn, given.jobs // 10, given.recent)


async def long_lists(dsn: str, jobs: int, runs: int) -> None:
    """Lists beside two years of history, the last five days of it full."""
    session = await asyncpg.connect(dsn)
    today = await session.fetchval(TODAY)
    await split_teams(session, jobs)
    for day in range(5):
        table = "runs" if day < 2 else "past_runs"
        first = today - timedelta(days=day, minutes=-30)
        await session.execute(_FILL.format(table=table), first, runs)
    await spoil(session, today - timedelta(days=5))
    await session.close()
    await lists(dsn, today + timedelta(days=1))


async def hot_statements(dsn: str, jobs: list[UUID], runs: int) -> None:
    """The same statements beside more and more days, by turns in copies of one database."""
    session = await asyncpg.connect(dsn)
    today = await session.fetchval(TODAY)
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
    print(f"{'us of PostgreSQL beside':34}" + "".join(f"{day:>8} d" for day in DAYS))
    for name, first in figures[0].items():
        cells = "".join(f"{figure[name]:>10,.0f}" for figure in figures)
        print(f"{name:34}{cells}   x{figures[-1][name] / first:.2f}")


async def fill_days(session: asyncpg.Connection, now: datetime, days: range, runs: int) -> None:
    """Make days before now, with so many runs on each."""
    for day in days:
        first = now - timedelta(days=day)
        await session.execute("SELECT ensure_day($1)", first.date())
        await session.execute(_FILL.format(table="runs"), first, runs)


async def retire(dsn: str) -> None:
    """Let the upkeep move what is over."""
    database = Database(dsn, name="history", size=2, deadline_s=300)
    locks, tables = PostgresLocks(database), PostgresDayTables(database)
    days = DaysOver(locks, tables, HostClock(), asyncio.Event())
    while await days.detach():
        pass
    await database.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--recent", type=int, default=200_000)
    uvloop.run(main(parser.parse_args()))
