"""How soon a fresh scheduler that owns very many jobs fires on time.

    python -m bench.loading [--jobs 1000000] [--due 150000]

It owns all jobs, `--due` of them due within the two minutes after its start, spread evenly. Lag is
the database's: from fire time to claim.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from datetime import datetime, timedelta
from pathlib import Path

import asyncpg
import uvloop

from bench.ground import fill_jobs, folder, postgres
from matins.domain.schedules.schedule import Schedule

WINDOW = timedelta(minutes=2)
FILLING_S = 45
"""Reserved for each 100,000 jobs that fall due: they do so after the start of the scheduler."""
NOW = "SELECT date_trunc('second', clock_timestamp())"

LAGS = """
SELECT floor(extract(epoch FROM fire_at - $1))::integer AS second, count(*) AS runs,
       extract(epoch FROM max(claimed_at - greatest(fire_at, $1)))::float8 AS worst,
       extract(epoch FROM max(claimed_at) - $1)::float8 AS last
FROM runs
GROUP BY 1
ORDER BY 1
"""
ON_TIME_S = 1.0


async def main(jobs: int, due: int) -> None:
    """Fill, start, wait for the last claim and print."""
    with folder() as path:
        async with postgres(path) as dsn:
            await measure(path, dsn, jobs, due)


async def measure(path: Path, dsn: str, jobs: int, due: int) -> None:
    """One scheduler process on a database that holds so many jobs."""
    session = await asyncpg.connect(dsn)
    daily = Schedule(every="1d")
    now: datetime = await session.fetchval(NOW)
    await fill_jobs(dsn, jobs - due, daily, now + timedelta(hours=1), timedelta(hours=22))
    now = await session.fetchval(NOW)
    start = now + timedelta(seconds=int(10 + FILLING_S * due / 100_000))
    await fill_jobs(dsn, due, daily, start, WINDOW)
    now = await session.fetchval(NOW)
    assert now < start, f"filling took {now - start} too long"
    await asyncio.sleep((start - now).total_seconds() - 0.5)
    scheduler = await _start(path, dsn)
    begun: datetime = await session.fetchval("SELECT clock_timestamp()")
    try:
        await asyncio.sleep(WINDOW.total_seconds() + 1)
        async with asyncio.timeout(120):
            while await session.fetchval("SELECT count(*) FROM runs") < due:
                await asyncio.sleep(1)
    finally:
        scheduler.terminate()
        await scheduler.wait()
    rows = await session.fetch(LAGS, begun)
    await session.close()
    _print(jobs, due, rows)


async def _start(path: Path, dsn: str) -> asyncio.subprocess.Process:
    environment = os.environ | {
        "MATINS_DATA": str(path),
        "MATINS_POSTGRES": dsn,
        "MATINS_LOG_LEVEL": "warning",
    }
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.role", "scheduler"), env=environment
    )


def _print(jobs: int, due: int, rows: list[asyncpg.Record]) -> None:
    late = [row["second"] for row in rows if row["worst"] > ON_TIME_S]
    on_time = max(late, default=-1) + 1
    worst = max(row["worst"] for row in rows)
    after = max(row["worst"] for row in rows if row["second"] >= on_time)
    print(
        f"{jobs:,} jobs, {due:,} due within two minutes: on time {on_time} s after the start of the"
        f" process (worst lag before {worst:.1f} s, from then on {after:.2f} s)"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--due", type=int, default=150_000)
    given = parser.parse_args()
    uvloop.run(main(given.jobs, given.due))
