"""What it costs to look whether all is well, and at jobs for alerts, with a million stored jobs.

    python -m bench.looks [--jobs 1000000]

All jobs are of one team with a channel, and due each hour. Processor time is of PostgreSQL and of
this process, of which an API process has the share of its own looks.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Final
from uuid import UUID

import asyncpg
import uvloop

from bench.ground import fill_jobs, folder, postgres
from bench.processes import postgres_cpu_s
from matins.alerts.watching import PAGE, AlertWatch
from matins.domain.runs.states import Kind
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.ids import run_id, whole_ms
from matins.kernel.clock import HostClock, elapsed_s
from matins.store.alerts import PostgresLookout
from matins.store.database import Database
from matins.store.locks import PostgresLocks
from matins.store.outbox import PostgresOutbox
from matins.store.status import PostgresStatusReads
from matins.store.timings import KnownCalendars

HOUR: Final = timedelta(hours=1)
MS: Final = timedelta(milliseconds=1)
LATE: Final = timedelta(seconds=20)
TIMES: Final = 20
BAD: Final = 100_000
MINUTE_S: Final = 60.0
EVERY_S: Final = 5.0


async def main(jobs: int) -> None:
    """Print the figures."""
    with folder() as path:
        async with postgres(path) as dsn:
            session = await asyncpg.connect(dsn)
            now = await session.fetchval("SELECT date_trunc('second', clock_timestamp())")
            schedule = Schedule(every="1h", anchor=now.isoformat())
            ids = await fill_jobs(dsn, jobs, schedule, now + timedelta(minutes=5), HOUR)
            ran = ids[: PAGE * (TIMES + 1)]
            await _run(session, ran)
            await _watch(session)
            database = Database(dsn, name="bench", size=4, by_key_only=True)
            reads = PostgresStatusReads(database)
            clock, lookout = HostClock(), PostgresLookout(database, KnownCalendars())
            watch = AlertWatch(lookout, PostgresOutbox(database), PostgresLocks(database), clock, 5)
            await _time(path, "status", lambda: reads.facts(LATE))
            await _time(path, "alerts, no job is to be looked at", watch.look)

            async def page() -> int:
                await session.execute(
                    "UPDATE watches SET look_at = now() WHERE job_id = ANY ($1)",
                    [ran.pop() for _ in range(PAGE)],
                )
                return await watch.look()

            await _time(path, f"alerts, {PAGE} jobs are", page)
            await _stay_bad(session, ids[-BAD:])
            await _steadily(path, f"alerts, {BAD} jobs stay bad", watch.look)
            await database.close()
            await session.close()


async def _run(session: asyncpg.Connection, jobs: list[UUID], times: int = 20) -> None:
    """Let some jobs have run so many times."""
    now = whole_ms(await session.fetchval("SELECT clock_timestamp()"))
    runs = [
        (run_id(job, now - number * MS, Kind.MANUAL), job)
        for number in range(times)
        for job in jobs
    ]
    await session.execute(
        "DROP TABLE IF EXISTS made; CREATE TEMP TABLE made (id uuid, job_id uuid)"
    )
    await session.copy_records_to_table("made", records=runs, columns=["id", "job_id"])
    await session.execute(
        "INSERT INTO runs (id, job_id, due_at, fire_at, claimed_at, started_at, finished_at, epoch,"
        " rank, team_id, partition, priority, kind, state, attempt, reason, pool)"
        " SELECT m.id, j.id, run_due_at(m.id), run_due_at(m.id), now(), now(), now(), 1, 1,"
        " j.team_id, j.partition, j.priority, 'manual', 'succeeded', 1, '', 'default'"
        " FROM made m JOIN jobs j ON j.id = m.job_id"
    )


async def _watch(session: asyncpg.Connection) -> None:
    """Let all jobs be watched."""
    await session.execute(
        "INSERT INTO channels (team_id, name, kind, scheme, sealed, made_at)"
        " SELECT id, 'oncall', 'webhook', 'https', '', now() FROM teams"
    )
    await session.execute(
        "INSERT INTO watches (job_id, team_id, look_at, looked_at, made_at, expect_from,"
        " succeeded_at, revision, was_active)"
        " SELECT id, team_id, next_due_at + interval '1 hour', now(), now(), now(), now(), 1, true"
        " FROM jobs"
    )
    await session.execute("VACUUM ANALYZE")


async def _stay_bad(session: asyncpg.Connection, jobs: list[UUID]) -> None:
    """Let some jobs have died an hour ago, and their owner have been told."""
    await _run(session, jobs, times=1)
    await session.execute(
        "UPDATE runs SET state = 'dead', claimed_at = now() - interval '1 hour',"
        " started_at = now() - interval '1 hour', finished_at = now() - interval '1 hour'"
        " WHERE job_id = ANY ($1)",
        jobs,
    )
    await session.execute(
        "INSERT INTO dead_letters (run_id, due_at, job_id, team_id, dead_at, reason, error,"
        " fingerprint) SELECT id, due_at, job_id, team_id, finished_at, 'exit code 1', '', ''"
        " FROM runs WHERE job_id = ANY ($1)",
        jobs,
    )
    await session.execute(
        "INSERT INTO alerts (job_id, rule, team_id, is_bad, told, since, why, standing)"
        " SELECT id, 'dead', team_id, true, true, died, '', jsonb_build_object("
        "'looked_at', died, 'is_bad', true, 'since', died, 'is_notified', true,"
        " 'notified_at', died, 'edges', 1, 'mark', now())"
        " FROM jobs, (SELECT now() - interval '1 hour' AS died) AS an_hour_ago"
        " WHERE id = ANY ($1)",
        jobs,
    )
    await session.execute(
        "UPDATE watches SET look_at = now() + random() * interval '1 minute',"
        " looked_at = now() - interval '1 minute', bad_since = now() - interval '1 hour'"
        " WHERE job_id = ANY ($1)",
        jobs,
    )
    await session.execute("VACUUM ANALYZE")


async def _steadily(path: Path, name: str, work: Callable[[], Awaitable[int]]) -> None:
    """Let looks go on for two minutes, and tell what the second one cost."""
    for minute in range(2):
        begin_s, looked = elapsed_s(), 0
        spent_s, own_s = postgres_cpu_s(path), time.process_time()
        while (left_s := begin_s + MINUTE_S - elapsed_s()) > 0:
            looked += await work()
            await asyncio.sleep(min(EVERY_S, max(0.0, left_s)))
        spent = (postgres_cpu_s(path) - spent_s, time.process_time() - own_s)
        print(
            f"{name}, minute {minute + 1}: {looked} looked at; of a core:"
            f" postgres {spent[0] / MINUTE_S:.1%}, own {spent[1] / MINUTE_S:.1%}",
            flush=True,
        )


async def _time(path: Path, name: str, work: Callable[[], Awaitable[object]]) -> None:
    times = []
    await work()
    spent_s, own_s = postgres_cpu_s(path), time.process_time()
    for _ in range(TIMES):
        begin_s = elapsed_s()
        await work()
        times.append(elapsed_s() - begin_s)
    spent = [(postgres_cpu_s(path) - spent_s) / TIMES, (time.process_time() - own_s) / TIMES]
    print(
        f"{name}: {median(times) * 1000:.1f} ms, at most {max(times) * 1000:.1f} ms;"
        f" CPU ms: postgres {spent[0] * 1000:.1f}, own {spent[1] * 1000:.1f}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    uvloop.run(main(parser.parse_args().jobs))
