"""100,000 runs that fail within a minute: how fast that is recorded, how long owners wait for the
list of dead letters, and at what rate they are replayed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from random import Random
from statistics import median
from typing import Final
from uuid import UUID, uuid4

import asyncpg

from bench.ground import fill_jobs, folder, postgres
from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll
from matins.domain.ports.dead import NewReplay
from matins.domain.runs.attempts import Result
from matins.domain.runs.dead import DeadFilter
from matins.domain.runs.replays import ReplayDead, ReplayState
from matins.domain.runs.states import Kind, Outcome, RunState
from matins.domain.values.ids import PARTITIONS, run_id, whole_ms
from matins.kernel.clock import elapsed_s
from matins.scheduler.replaying import advance
from matins.store.database import Database
from matins.store.dead import PostgresDeadLetters
from matins.store.dispatch import PostgresDispatch
from matins.store.replays import PostgresReplayChanges, PostgresReplays

RUNS: Final = 100_000
JOBS: Final = 100
BATCH: Final = 1_000
RATE: Final = 2_000
MS: Final = timedelta(milliseconds=1)
SHOWN: Final = 20
TEAM: Final = "payments"


async def main() -> None:
    """Print the figures."""
    with folder() as path:
        async with postgres(path) as dsn:
            jobs = await fill_jobs(dsn, JOBS, None, None, team=TEAM)
            session = await asyncpg.connect(dsn)
            await _queue(session, jobs)
            database = Database(dsn, name="bench", size=4, by_key_only=True)
            await _fail(database)
            owners = Database(dsn, name="owners", size=2)
            await _look(PostgresDeadLetters(owners))
            await _replay(owners, database)
            await session.close()
            await owners.close()
            await database.close()


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


async def _fail(database: Database) -> None:
    dispatch, executor, rng = PostgresDispatch(database, database, database), uuid4(), Random(1)
    await dispatch.heartbeat(Heartbeat(executor, "bench", ["default"], RUNS, 1))
    seq, count, recorded_s, begun_s = 0, 0, 0.0, elapsed_s()
    while True:
        seq += 1
        handout = await dispatch.dequeue(Poll(executor, seq, ["default"], BATCH), "default")
        if handout is None or not handout.attempts:
            break
        endings = [_failed(attempt.run_id, rng) for attempt in handout.attempts]
        begin_s = elapsed_s()
        count += len(await dispatch.record(executor, endings))
        recorded_s += elapsed_s() - begin_s
    took_s = elapsed_s() - begun_s
    print(f"failed: {count} runs handed out and recorded dead in {took_s:.1f} s, one after another")
    print(f"recorded: {count / recorded_s:.0f} dead runs a second, in batches of {BATCH}")


def _failed(run: UUID, rng: Random) -> Ending:
    output = "Traceback (most recent call last):\n" + "  File x.py, line 7\n" * 20
    output += f"{rng.choice(('KeyError', 'ValueError', 'OSError'))}: order {rng.randrange(10**6)}\n"
    result = Result(Outcome.FAILED, "exit code 1", output=output, exit_code=1)
    return Ending(End(run, 1, result), RunState.DEAD, "failed 1 times; at last: exit code 1")


async def _look(letters: PostgresDeadLetters) -> None:
    [group, *_] = await letters.groups(TEAM, DeadFilter(), 100)
    alike = DeadFilter(fingerprint=group.fingerprint)
    await _time("list, newest 100", lambda: _page(letters, DeadFilter()))
    await _time("list, of one job", lambda: _page(letters, DeadFilter(job=group.job)))
    await _time("list, of one fingerprint", lambda: _page(letters, alike))
    await _time("groups", lambda: letters.groups(TEAM, DeadFilter(), 100))
    await _time("counts", lambda: letters.counts(TEAM))


async def _page(letters: PostgresDeadLetters, wanted: DeadFilter) -> object:
    return await letters.page(TEAM, wanted, None, 100, dismissed=False)


async def _time(name: str, ask: Callable[[], Awaitable[object]]) -> None:
    times = []
    for _ in range(SHOWN):
        begin_s = elapsed_s()
        await ask()
        times.append(elapsed_s() - begin_s)
    print(f"{name}: {median(times) * 1000:.1f} ms, at most {max(times) * 1000:.1f} ms")


async def _replay(owners: Database, database: Database) -> None:
    changes, replays = PostgresReplayChanges(owners), PostgresReplays(database, database)
    replay = NewReplay(uuid4(), TEAM, ReplayDead(everything=True, rate=f"{RATE}/s"))
    assert await changes.create(replay)
    begin_s = elapsed_s()
    while unfinished := await replays.unfinished_replays(range(PARTITIONS)):
        for opened in unfinished:
            await advance(replays, opened)
        await asyncio.sleep(0.05)
    took_s = elapsed_s() - begin_s
    done = await changes.found(replay.id)
    assert done.state is ReplayState.DONE
    print(f"replayed: {done.replayed} at {done.replayed / took_s:.0f} a second, asked for {RATE}")


if __name__ == "__main__":
    asyncio.run(main())
