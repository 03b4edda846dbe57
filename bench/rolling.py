"""Schedulers that are restarted one after the other, and one that is killed, under load.

    python -m bench.rolling [--rate 500]

Three schedulers, an API and an executor as real processes; so many jobs are due at the start of
each second. The targets do nothing, all times are the database's. It prints the lags while all is
quiet, in the rolling restart and after it; how late the partitions of the killed one fire again;
and the due times without a row or with two: there may be none.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from datetime import datetime

import asyncpg
import uvloop

from bench.end_to_end import LEAD_S, until, whole_second
from bench.ground import SECOND, fill_jobs, folder, postgres
from bench.processes import Roles, roles
from matins.domain.schedules.schedule import Schedule

SCHEDULERS = 3
TERM_S = 10
"""The term of a lease, as it is by default."""

QUIET_S = 10
SETTLE_S = 3
"""How long the roles have after the first due times, and runs have to start after the last."""

SHARED = """
SELECT count(DISTINCT holder) = $1 AND count(*) = 256
FROM leases
WHERE expires_at > clock_timestamp() AND partition >= 0
"""

LAGS = """
SELECT percentile_cont(ARRAY[0.5, 0.99, 1])
           WITHIN GROUP (ORDER BY extract(epoch FROM claimed_at - fire_at)::float8) AS claim,
       percentile_cont(ARRAY[0.5, 0.99, 1])
           WITHIN GROUP (ORDER BY extract(epoch FROM started_at - due_at)::float8) AS start
FROM runs
WHERE due_at >= $1 AND due_at < $2
"""

ROWS = """
SELECT count(*) AS rows, count(DISTINCT (job_id, due_at)) AS due,
       count(*) FILTER (WHERE state = 'skipped') AS skipped
FROM runs
WHERE due_at >= $1 AND due_at < $2
"""


async def main(rate: int) -> None:
    """Play and print, on a database of its own."""
    with folder() as path:
        async with postgres(path) as dsn:
            first = await whole_second(dsn, LEAD_S + 2 * TERM_S)
            every = Schedule(every="1s", anchor=first.isoformat())
            await fill_jobs(dsn, rate, every, first, overlap="allow")
            async with roles(path, dsn, schedulers=SCHEDULERS) as running:
                await _shared(dsn)
                await until(dsn, first + SETTLE_S * SECOND)
                await _play(dsn, running, first, rate)


async def _play(dsn: str, running: Roles, first: datetime, rate: int) -> None:
    begin = first + SETTLE_S * SECOND
    quiet_until = begin + QUIET_S * SECOND
    await until(dsn, quiet_until)
    await _restart(dsn, running)
    restarted = await whole_second(dsn, 1)
    settled = restarted + QUIET_S * SECOND
    await until(dsn, settled)
    running.processes["scheduler"][-1].kill()
    killed = await whole_second(dsn, 0)
    last = killed + (2 * TERM_S) * SECOND
    await until(dsn, last + SETTLE_S * SECOND)
    session = await asyncpg.connect(dsn)
    spans = {
        "quiet": (begin, quiet_until),
        "restart": (quiet_until, restarted),
        "after": (restarted, settled),
        "killed": (killed, last),
    }
    for name, span in spans.items():
        lags = await session.fetchrow(LAGS, *span)
        assert lags is not None
        print(f"{name:8} claim lag {_text(lags['claim'])}; start lag {_text(lags['start'])}")
    rows = await session.fetchrow(ROWS, first, last)
    assert rows is not None
    await session.close()
    due = rate * int((last - first) / SECOND)
    print(
        f"{due:,} due times: {due - rows['due']:,} lost, {rows['rows'] - rows['due']:,} doubled,"
        f" {rows['skipped']:,} skipped; a killed scheduler's are to fire again within"
        f" {TERM_S + 2} s"
    )


async def _restart(dsn: str, running: Roles) -> None:
    """Stop each in order, start another, and wait until the partitions are shared by all."""
    for process in [*running.processes["scheduler"]]:
        process.terminate()
        await process.wait()
        await running.start("scheduler")
        await _shared(dsn)


async def _shared(dsn: str) -> None:
    """Wait until all partitions are held, by all schedulers."""
    session = await asyncpg.connect(dsn)
    async with asyncio.timeout(6 * TERM_S):
        while not await session.fetchval(SHARED, SCHEDULERS):
            await asyncio.sleep(0.2)
    await session.close()


def _text(lags: Sequence[float]) -> str:
    p50, p99, worst = (1000 * lag for lag in lags)
    return f"p50 {p50:,.0f} ms, p99 {p99:,.0f} ms, max {worst:,.0f} ms"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=500)
    uvloop.run(main(parser.parse_args().rate))
