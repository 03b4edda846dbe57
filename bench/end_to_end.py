"""From due to recorded, through real processes: scheduler, API with its gateway, executor.

    python -m bench.end_to_end [--only steady|burst|sustained] [--api 1] [--executors 1]
                               [--overlap skip|allow] [--gated]

The target does nothing, all times are the database's. `steady`: so many jobs due at the start of
each second, for ten seconds, and what APScheduler's in-memory store shows beside it. `burst`:
20,000 jobs due in one second. `sustained`: 80,000 at once. `--gated`: each case once more, with
each job under a concurrency key, which has room.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import asyncpg
import uvloop

from bench import bare
from bench.ground import fill_jobs, folder, postgres
from bench.processes import postgres_cpu_s, roles
from matins.domain.jobs.overlap import OverlapPolicy
from matins.domain.schedules.schedule import Schedule

_ENDED = "SELECT count(*) FROM runs WHERE finished_at IS NOT NULL AND due_at <= $1"

LEAD_S = 12
"""Between the start of the roles and the first due time: all leases are held by then."""


class Jobs(NamedTuple):
    """What the jobs are like."""

    overlap: OverlapPolicy
    gated: bool = False


async def main(only: str | None, apis: int, executors: int, kinds: Sequence[Jobs]) -> None:
    """Run the cases, each on a database of its own."""
    cases = {
        "steady": (steady, (500, 2_000)),
        "burst": (burst, (20_000,)),
        "sustained": (burst, (80_000,)),
    }
    for name, (case, sizes) in cases.items():
        if only in (None, name):
            for size, kind in product(sizes, kinds):
                with folder() as path:
                    await case(path, size, apis, executors, kind)


async def steady(path: Path, rate: int, apis: int, executors: int, kind: Jobs) -> None:
    """`rate` jobs due each second for ten seconds."""
    async with postgres(path) as dsn:
        first = await whole_second(dsn, LEAD_S)
        seconds = 10
        last = first + timedelta(seconds=seconds - 1)
        schedule = Schedule(every="1s", anchor=first.isoformat())
        jobs = await fill_jobs(dsn, rate, schedule, first, **kind._asdict())
        async with roles(path, dsn, apis=apis, executors=executors) as running:
            await until(dsn, first)
            idle = running.cpu()
            await _finished(dsn, rate * seconds, last)
            spent = {role: used - idle[role] for role, used in running.cpu().items()}
        await _print(dsn, f"steady {rate}/s{_suffix(kind)}", first, last, spent)
        if kind.gated:
            return
        await _print_bare(path, dsn, jobs, last)
    beside = (sys.executable, "-m", "bench.beside", "--rate", str(rate))
    await (await asyncio.create_subprocess_exec(*beside)).wait()


async def burst(path: Path, count: int, apis: int, executors: int, kind: Jobs) -> None:
    """`count` jobs due at one instant."""
    async with postgres(path) as dsn:
        due = await whole_second(dsn, LEAD_S + count / 20_000)
        schedule = Schedule(at=due.isoformat())
        jobs = await fill_jobs(dsn, count, schedule, due, **kind._asdict())
        async with roles(path, dsn, apis=apis, executors=executors) as running:
            await until(dsn, due)
            idle = running.cpu()
            await _finished(dsn, count, due)
            spent = {role: used - idle[role] for role, used in running.cpu().items()}
        await _print(dsn, f"burst {count}{_suffix(kind)}", due, due, spent)
        if not kind.gated:
            await _print_bare(path, dsn, jobs, due)


def _suffix(kind: Jobs) -> str:
    return ", gated" if kind.gated else ""


async def whole_second(dsn: str, ahead_s: float) -> datetime:
    """Return a whole second of the database's clock, so far ahead."""
    session = await asyncpg.connect(dsn)
    now: datetime = await session.fetchval("SELECT date_trunc('second', clock_timestamp())")
    await session.close()
    return now + timedelta(seconds=int(ahead_s))


async def until(dsn: str, instant: datetime) -> None:
    """Wait until a tenth of a second before an instant of the database's clock."""
    session = await asyncpg.connect(dsn)
    now = await session.fetchval("SELECT clock_timestamp()")
    await session.close()
    await asyncio.sleep((instant - now).total_seconds() - 0.1)


async def _finished(dsn: str, count: int, last: datetime) -> None:
    """Wait until so many runs are final; look only after the last due time, not to disturb."""
    session = await asyncpg.connect(dsn)
    now = await session.fetchval("SELECT clock_timestamp()")
    await asyncio.sleep((last - now).total_seconds() + 2)
    async with asyncio.timeout(120):
        while await session.fetchval(_ENDED, last) < count:
            await asyncio.sleep(0.5)
    await session.close()


async def _print(
    dsn: str, title: str, first: datetime, last: datetime, cpu: dict[str, float]
) -> None:
    session = await asyncpg.connect(dsn)
    row = await session.fetchrow(
        """
        SELECT count(*) AS runs, count(*) FILTER (WHERE state <> 'succeeded') AS bad,
               max(claimed_at) - $2 AS claimed, max(started_at) - $2 AS started,
               max(finished_at) - $2 AS finished, max(finished_at) - $1 AS span,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY started_at - due_at) AS p50,
               percentile_cont(0.99) WITHIN GROUP (ORDER BY started_at - due_at) AS p99,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY claimed_at - due_at) AS claim50
        FROM runs
        WHERE due_at <= $2
        """,
        first,
        last,
    )
    await session.close()
    assert row is not None
    assert row["bad"] == 0, row
    seconds = {
        name: value.total_seconds() for name, value in row.items() if name not in ("runs", "bad")
    }
    print(
        f"{title}: all claimed {seconds['claimed']:.2f} s, started {seconds['started']:.2f} s,"
        f" finished {seconds['finished']:.2f} s after the last due time;"
        f" due->start p50 {seconds['p50'] * 1000:.0f} ms, p99 {seconds['p99'] * 1000:.0f} ms"
        f" (due->claimed p50 {seconds['claim50'] * 1000:.0f} ms);"
        f" {row['runs'] / seconds['span']:,.0f} runs/s; CPU us a run: "
        + ", ".join(f"{role} {spent / row['runs'] * 1e6:.0f}" for role, spent in cpu.items())
    )


async def _print_bare(path: Path, dsn: str, jobs: list[UUID], last: datetime) -> None:
    """Print the CPU of a bare loop of the same statements, with the same jobs, a day later."""
    session = await asyncpg.connect(dsn)
    await session.execute("DELETE FROM dispatch")  # what came due after the last one
    await session.close()
    before = postgres_cpu_s(path)
    spent = await bare.spend(dsn, jobs, last + bare.DAY)
    spent["postgres"] = postgres_cpu_s(path) - before
    text = ", ".join(f"{role} {used / len(jobs) * 1e6:.0f}" for role, used in spent.items())
    print(f"beside it, a bare loop of the same statements: CPU us a run: {text}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("steady", "burst", "sustained"))
    parser.add_argument("--api", type=int, default=1)
    parser.add_argument("--executors", type=int, default=1)
    parser.add_argument("--overlap", choices=("skip", "allow"), default="skip")
    parser.add_argument("--gated", action="store_true")
    args = parser.parse_args()
    plain = Jobs(args.overlap)
    kinds = [plain, plain._replace(gated=True)] if args.gated else [plain]
    uvloop.run(main(args.only, args.api, args.executors, kinds))
