"""A scheduler that owns very many jobs: how soon it fires on time, its lag, and its memory.

    python -m bench.scheduler [--jobs 1000000] [--rate 2000] [--seconds 60] [--burst 50000]
                              [--history 20000000] [--idle] [--gated]

So many jobs are stored; of them `--rate` a second fall due from the start of a fresh scheduler on,
for `--seconds`, and after a pause `--burst` in one second. Lag is the database's: from fire time to
the commit that put the run on the queue, where nobody takes it. `--history`: beside so many runs
of days that are over. `--idle`: beside a session that is idle in a transaction, and keeps an old
snapshot. `--gated`: each job under a concurrency key, which has room.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import aiohttp
import asyncpg
import msgspec
import uvloop

from bench.ground import KEYS, fill_jobs, folder, postgres
from bench.history import TODAY, fill_days, retire
from matins.domain.schedules.schedule import Schedule
from matins.kernel.clock import elapsed_s

PAUSE_S = 10
"""Between the last of the steady fires and the burst."""

LEAD_S = 40
"""From the end of the filling to the first fire: in between memory is measured."""

ON_TIME_S = 1.0
HISTORY_DAYS = 100
NOW = "SELECT date_trunc('second', clock_timestamp())"
DAILY = Schedule(every="1d")

GATES = "SELECT count(*) FROM gates WHERE kind = 'key'"
COMMITS = {"track_commit_timestamp": "on"}

ON_QUEUE = """
CREATE TABLE on_queue AS
SELECT r.fire_at, pg_xact_commit_timestamp(d.xmin) - greatest(r.fire_at, $1) AS lag
FROM dispatch d
JOIN runs r ON r.id = d.run_id AND r.due_at = d.due_at
"""

BY_SECOND = """
SELECT floor(extract(epoch FROM fire_at - $1))::integer AS second,
       extract(epoch FROM max(lag))::float8 AS worst
FROM on_queue
WHERE fire_at < $2
GROUP BY 1
ORDER BY 1
"""

LAGS = """
SELECT count(*) AS runs,
       extract(epoch FROM percentile_cont(0.5) WITHIN GROUP (ORDER BY lag)) AS p50,
       extract(epoch FROM percentile_cont(0.99) WITHIN GROUP (ORDER BY lag)) AS p99,
       extract(epoch FROM max(lag)) AS max
FROM on_queue
WHERE fire_at >= $1 AND fire_at < $2
"""


class Case(msgspec.Struct, frozen=True):
    """What is measured."""

    jobs: int
    rate: int
    seconds: int
    burst: int
    history: int
    idle: bool
    gated: bool

    @property
    def due(self) -> int:
        """How many of the jobs fall due."""
        return self.rate * self.seconds + self.burst


async def main(case: Case) -> None:
    """Measure and print."""
    with folder() as path:
        async with postgres(path, COMMITS) as dsn:
            await measure(path, dsn, case)


async def measure(path: Path, dsn: str, case: Case) -> None:
    """Fill, look at the memory of schedulers that wait, then let one fire."""
    bare = await _memory_mb(path, dsn, 0)
    stored = case.jobs - case.due
    session = await asyncpg.connect(dsn)
    now: datetime = await session.fetchval(NOW)
    begun_s = elapsed_s()
    await fill_jobs(
        dsn, stored, DAILY, now + timedelta(hours=2), timedelta(hours=20), gated=case.gated
    )
    filling_s = 10 + 2 * (elapsed_s() - begun_s) * (1 + case.due / stored)
    if case.gated:
        assert await session.fetchval(GATES) == KEYS, "the jobs are in no gates"
    if case.history:
        await _fill_history(dsn, session, case)
    async with _idle(dsn) if case.idle else _nobody():
        idle = await _memory_mb(path, dsn, 0)
        first = await _fill_due(dsn, session, case, filling_s)
        loaded = await _memory_mb(path, dsn, case.due)
        begun = await _fire(path, dsn, session, case, first)
    await session.execute(ON_QUEUE, begun)
    await _print(session, case, begun, first)
    print(
        f"memory: {bare:.0f} MB without jobs, {(idle - bare) * 1e6 / stored:+.0f} MB for a million"
        f" jobs stored, {(loaded - idle) * 1e5 / case.due:+.0f} MB for 100,000 in the wheel"
    )
    await session.close()


async def _fill_due(
    dsn: str, session: asyncpg.Connection, case: Case, filling_s: float
) -> datetime:
    """Make the jobs that fall due, within the time that is reserved; gives when the first do."""
    now: datetime = await session.fetchval(NOW)
    first = now + timedelta(seconds=int(LEAD_S + filling_s))
    span = timedelta(seconds=case.seconds)
    await fill_jobs(dsn, case.rate * case.seconds, DAILY, first, span, gated=case.gated)
    burst = first + span + timedelta(seconds=PAUSE_S)
    await fill_jobs(dsn, case.burst, DAILY, burst, gated=case.gated)
    left = (first - await session.fetchval("SELECT clock_timestamp()")).total_seconds()
    assert left > LEAD_S / 2, f"filling took {LEAD_S - left:.0f} s too long"
    return first


async def _fill_history(dsn: str, session: asyncpg.Connection, case: Case) -> None:
    """Make runs of days that are over, and let the upkeep move them to where they lie then."""
    begun_s = elapsed_s()
    runs = case.history // HISTORY_DAYS
    assert runs <= case.jobs - case.due, "each job has one run on a day at most"
    await fill_days(session, await session.fetchval(TODAY), range(1, HISTORY_DAYS + 1), runs)
    await retire(dsn)
    print(f"{case.history:,} runs of history made in {elapsed_s() - begun_s:.0f} s")


async def _memory_mb(path: Path, dsn: str, wheel: int) -> float:
    """Return the resident memory of a scheduler that holds all leases and has loaded so many."""
    async with _scheduler(path, dsn, MATINS_HORIZON="30m") as (process, port):
        session = await asyncpg.connect(dsn)
        held = "SELECT count(*) FROM leases WHERE holder IS NOT NULL AND expires_at > now()"
        async with asyncio.timeout(120):
            while await session.fetchval(held) < 256 or await _wheel_size(port) < wheel:
                await asyncio.sleep(0.5)
        await session.close()
        await asyncio.sleep(5)
        return _resident_mb(process.pid)


def _resident_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    [resident] = re.findall(r"^VmRSS:\s+(\d+) kB$", text, re.MULTILINE)
    return int(resident) / 1024


async def _wheel_size(port: int) -> float:
    async with aiohttp.ClientSession() as client:
        try:
            async with client.get(f"http://127.0.0.1:{port}/metrics") as answer:
                text = await answer.text()
        except aiohttp.ClientConnectorError:
            return -1.0  # not there yet
    return float(re.findall(r"^matins_wheel_size (\S+)$", text, re.MULTILINE)[0])


async def _fire(
    path: Path, dsn: str, session: asyncpg.Connection, case: Case, first: datetime
) -> datetime:
    """Run a fresh scheduler from the first due time to the last run; gives when it was started."""
    now = await session.fetchval("SELECT clock_timestamp()")
    assert now < first, f"memory was measured {now - first} too long"
    await asyncio.sleep((first - now).total_seconds() - 0.5)
    async with _scheduler(path, dsn) as _:
        begun: datetime = await session.fetchval("SELECT clock_timestamp()")
        await asyncio.sleep(case.seconds + PAUSE_S + 2)
        async with asyncio.timeout(300):
            while await session.fetchval("SELECT count(*) FROM dispatch") < case.due:
                await asyncio.sleep(1)
    return begun


@asynccontextmanager
async def _scheduler(
    path: Path, dsn: str, **settings: str
) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """A scheduler in a process of its own, and the port of its metrics."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {
        "MATINS_DATA": str(path),
        "MATINS_POSTGRES": dsn,
        "MATINS_LOG_LEVEL": "warning",
        "MATINS_HEALTH_PORT": str(port),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.role", "scheduler"), env=environment | settings
    )
    try:
        yield process, port
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def _idle(dsn: str) -> AsyncIterator[None]:
    """Keep a session idle in a transaction that has a snapshot and a number of its own."""
    session = await asyncpg.connect(dsn)
    async with session.transaction(isolation="repeatable_read"):
        await session.fetchval("SELECT pg_current_xact_id()")
        yield
    await session.close()


@asynccontextmanager
async def _nobody() -> AsyncIterator[None]:
    yield


async def _print(session: asyncpg.Connection, case: Case, begun: datetime, first: datetime) -> None:
    end = first + timedelta(seconds=case.seconds)
    rows = await session.fetch(BY_SECOND, begun, end)
    late = [row["second"] for row in rows if row["worst"] > ON_TIME_S]
    on_time = max(late, default=-1) + 1
    beside = [f"{case.jobs:,} jobs stored"]
    beside += [f"{case.history:,} runs of history"] if case.history else []
    beside += ["a session idle in a transaction"] if case.idle else []
    beside += ["each job under a gate"] if case.gated else []
    print(", ".join(beside))
    print(f"on time from {on_time} s after the start of the process on")
    steady = await session.fetchrow(LAGS, begun + timedelta(seconds=on_time), end)
    burst = await session.fetchrow(LAGS, end, end + timedelta(hours=1))
    for name, lags in ((f"{case.rate:,} fires/s", steady), ("burst in one second", burst)):
        assert lags is not None
        cells = ", ".join(f"{part} {1000 * lags[part]:,.0f} ms" for part in ("p50", "p99", "max"))
        print(f"{name}: {lags['runs']:,} runs, lag {cells}" if lags["runs"] else f"{name}: none")


def _case() -> Case:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=2_000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--burst", type=int, default=50_000)
    parser.add_argument("--history", type=int, default=0)
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--gated", action="store_true")
    return Case(**vars(parser.parse_args()))


if __name__ == "__main__":
    uvloop.run(main(_case()))
