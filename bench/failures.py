"""100,000 runs that fail within a minute, through real processes, with alerts on: how fast that is
recorded, what their owner is told, how long the list of dead letters takes, and at what rate they
are replayed.

    python -m bench.failures [--jobs 100]

The targets fail at once, so that all costs are of Matins. All times of runs are the database's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from statistics import median
from typing import Any, Final
from uuid import UUID

import asyncpg
import uvloop
from aiohttp import web

from bench.ground import fill_jobs, folder, postgres
from bench.processes import Roles, roles
from matins.client.sdk import Matins
from matins.domain.alerts.channels import Channel
from matins.domain.runs.dead import DeadFilter
from matins.domain.runs.replays import ReplayDead, ReplayState
from matins.domain.runs.states import Kind
from matins.domain.values.ids import run_id, whole_ms
from matins.kernel.clock import elapsed_s

RUNS: Final = 100_000
RATE: Final = 2_000
MS: Final = timedelta(milliseconds=1)
SHOWN: Final = 20
TEAM: Final = "payments"
SETTINGS: Final = {
    "BENCH_FAILS": "1",
    "MATINS_LOG_LEVEL": "error",
    "MATINS_SECRET_KEYS": "c0" * 32,
}


async def main(jobs: int) -> None:
    """Print the figures."""
    with folder() as path:
        async with (
            postgres(path) as dsn,
            _receiver() as (url, messages),
            roles(path, dsn, executors=0, settings=SETTINGS) as running,
            Matins(running.url, "bench") as matins,
        ):
            session = await asyncpg.connect(dsn)
            ids = await fill_jobs(dsn, jobs, None, None, team=TEAM)
            await matins.put_channel(TEAM, Channel("oncall", webhook=url))
            await _queue(session, ids)
            await _fail(session, running)
            await _told(session, messages)
            await _look(matins)
            await _replay(matins, session)
            await session.close()


@asynccontextmanager
async def _receiver() -> AsyncIterator[tuple[str, list[Any]]]:
    """A receiver of webhooks; gives its URL, and what came."""
    messages: list[Any] = []

    async def take(request: web.Request) -> web.Response:
        messages.append(await request.json())
        return web.Response(status=204)

    app = web.Application(client_max_size=2**24)
    app.router.add_post("/", take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/", messages
    await runner.cleanup()


async def _queue(session: asyncpg.Connection, jobs: list[UUID]) -> None:
    """Let so many runs be on the queue, of a due time each."""
    now = whole_ms(await session.fetchval("SELECT clock_timestamp()"))
    ids = [
        (run_id(job, now - number * MS, Kind.MANUAL), job)
        for number in range(RUNS // len(jobs))
        for job in jobs
    ]
    await session.execute("CREATE TEMP TABLE made (id uuid, job_id uuid, number serial)")
    await session.copy_records_to_table("made", records=ids, columns=["id", "job_id"])
    await session.execute(
        "INSERT INTO runs (id, job_id, due_at, fire_at, claimed_at, epoch, rank, team_id,"
        " partition, priority, kind, state, reason, pool)"
        " SELECT m.id, j.id, run_due_at(m.id), run_due_at(m.id), now(), 1, m.number, j.team_id,"
        " j.partition, j.priority, 'manual', 'queued', '', 'default'"
        " FROM made m JOIN jobs j ON j.id = m.job_id ON CONFLICT DO NOTHING"
    )
    await session.execute(
        "INSERT INTO dispatch (pool, rank, run_id, due_at)"
        " SELECT pool, rank, id, due_at FROM runs WHERE state = 'queued'"
    )
    await session.execute("ANALYZE")


async def _fail(session: asyncpg.Connection, running: Roles) -> None:
    """Start an executor, and wait until all are dead."""
    before = running.cpu()
    await running.start("executor")
    async with asyncio.timeout(300):
        while await session.fetchval("SELECT count(*) FROM dead_letters") < RUNS:
            await asyncio.sleep(0.5)
    row = await session.fetchrow(
        "SELECT max(finished_at) - min(started_at) AS took,"
        " percentile_cont(0.5) WITHIN GROUP (ORDER BY finished_at - started_at) AS p50,"
        " percentile_cont(0.99) WITHIN GROUP (ORDER BY finished_at - started_at) AS p99"
        " FROM runs"
    )
    assert row is not None
    took_s = row["took"].total_seconds()
    p50, p99 = (row[name].total_seconds() * 1000 for name in ("p50", "p99"))
    cpu = ", ".join(
        f"{role} {(used - before.get(role, 0.0)) / RUNS * 1e6:.0f}"
        for role, used in running.cpu().items()
    )
    print(
        f"failed: {RUNS} runs handed out and recorded dead in {took_s:.1f} s,"
        f" {RUNS / took_s:,.0f}/s; hand-out to record p50 {p50:.0f} ms, p99 {p99:.0f} ms;"
        f" CPU us a run: {cpu}"
    )


async def _told(session: asyncpg.Connection, messages: list[Any]) -> None:
    """Wait until nothing is left to tell."""
    died = await session.fetchval("SELECT min(dead_at) FROM dead_letters")
    async with asyncio.timeout(180):
        while not messages or await session.fetchval(
            "SELECT EXISTS (SELECT FROM deliveries WHERE state = 'waiting')"
            " OR EXISTS (SELECT FROM watches WHERE looked_at IS NULL)"
        ):
            await asyncio.sleep(0.5)
    row = await session.fetchrow(
        "SELECT max(n.at) - $1 AS noticed, max(d.ended_at) - $1 AS sent"
        " FROM notices n JOIN deliveries d ON d.id = n.delivery_id",
        died,
    )
    assert row is not None
    counts = [message["data"]["count"] for message in messages]
    sizes = [len(json.dumps(message)) for message in messages]
    print(
        f"told: {len(messages)} messages about {counts} jobs, of {sizes} bytes; all was found out"
        f" {row['noticed'].total_seconds():.1f} s after the first death, and told after"
        f" {row['sent'].total_seconds():.1f} s"
    )


async def _look(matins: Matins) -> None:
    [group, *_] = await matins.list_dead_groups(TEAM)
    alike, of_job = DeadFilter(fingerprint=group.fingerprint), DeadFilter(job=group.job)
    await _time("list, newest 100", lambda: matins.dead_page(TEAM))
    await _time("list, of one job", lambda: matins.dead_page(TEAM, of_job))
    await _time("list, of one fingerprint", lambda: matins.dead_page(TEAM, alike))
    await _time("groups", lambda: matins.list_dead_groups(TEAM))
    await _time("counts", lambda: matins.get_dead_counts(TEAM))


async def _time(name: str, ask: Callable[[], Awaitable[object]]) -> None:
    times = []
    for _ in range(SHOWN):
        begin_s = elapsed_s()
        await ask()
        times.append(elapsed_s() - begin_s)
    print(f"{name}: {median(times) * 1000:.1f} ms, at most {max(times) * 1000:.1f} ms")


async def _replay(matins: Matins, session: asyncpg.Connection) -> None:
    """Replay all of them; they fail again meanwhile."""
    begin_s = elapsed_s()
    replay = await matins.replay_dead(TEAM, ReplayDead(everything=True, rate=f"{RATE}/s"))
    async with asyncio.timeout(600):
        while (replay := await matins.get_replay(replay.id)).state is ReplayState.ACTIVE:
            await asyncio.sleep(0.2)
    took_s = elapsed_s() - begin_s
    print(
        f"replayed: {replay.replayed} of {RUNS}, {replay.state}, at"
        f" {replay.replayed / took_s:,.0f} a second, asked for {RATE:,}"
    )
    async with asyncio.timeout(120):
        while await session.fetchval("SELECT count(*) FROM dead_letters") < RUNS:
            await asyncio.sleep(0.5)
    print(f"and failed again {elapsed_s() - begin_s - took_s:.1f} s later")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100)
    uvloop.run(main(parser.parse_args().jobs))
