"""An executor, the gateway and a real PostgreSQL, with HTTP between the first two."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from random import Random
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest
from tests.contract.gateway_http.served import TOKEN, serve
from tests.ids import numbered
from tests.unit.executor_fleet.bench import Obedient

from matins.client.gateway_link import HttpGatewayLink
from matins.domain.executors.protocol import End, Handout, Heartbeat, HeartbeatAnswer, Poll, Report
from matins.domain.jobs.retry import RetryPolicy
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import HttpTarget, Target
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome
from matins.domain.values.ids import run_id, whole_ms
from matins.executor.fleet import Executor
from matins.kernel.clock import HostClock
from matins.kernel.settings import Settings
from matins.store.database import Database
from matins.store.dispatch import PostgresDispatch
from matins.store.hints import PostgresHints

SPEC = JobSpec(
    "job",
    Target(http=HttpTarget("http://target.invalid/")),
    retry=RetryPolicy(attempts=1),
)


class World:
    """The database, and a link through a gateway to it."""

    def __init__(
        self, session: asyncpg.Connection, link: HttpGatewayLink, hints: PostgresHints
    ) -> None:
        self.session = session
        self.link = link
        self.hints = hints
        self._numbers = itertools.count(1)

    async def enqueue(self, count: int) -> list[UUID]:
        """Make as many jobs with one queued run each."""
        now = whole_ms(HostClock().now())
        jobs = [numbered(next(self._numbers)) for _ in range(count)]
        runs = [run_id(job, now, "scheduled") for job in jobs]
        await self.session.execute(
            "INSERT INTO teams (name, created_at) VALUES ('default', $1) ON CONFLICT DO NOTHING",
            now,
        )
        await self.session.execute(
            """
            WITH made AS (
                INSERT INTO jobs (id, team_id, partition, name, revision, state, spec, misfire,
                                  pool, priority, anchor, created_at, changed_at)
                SELECT id, 1, 0, id::text, 1, 'active', $2::text::jsonb, '{}', 'default', 1,
                       $3, $3, $3
                FROM unnest($1::uuid[]) AS it (id)
            ),
            claimed AS (
                INSERT INTO runs (id, job_id, due_at, fire_at, claimed_at, epoch, team_id,
                                  partition, priority, kind, state, pool)
                SELECT id, job_id, $3, $3, $3, 1, 1, 0, 1, 'scheduled', 'queued', 'default'
                FROM unnest($4::uuid[], $1::uuid[]) AS it (id, job_id)
            )
            INSERT INTO dispatch (pool, rank, run_id, due_at)
            SELECT 'default', (extract(epoch FROM $3) * 1000000)::bigint, id, $3
            FROM unnest($4::uuid[]) AS it (id)
            """,
            jobs,
            msgspec.json.encode(SPEC).decode(),
            now,
            runs,
        )
        await self.hints.send("dispatch", ["default"])
        return runs

    async def states(self) -> dict[str, int]:
        """Return how many runs are in each state."""
        rows = await self.session.fetch("SELECT state, count(*) AS n FROM runs GROUP BY state")
        return {row["state"]: row["n"] for row in rows}

    async def until_states(self, **states: int) -> None:
        """Wait until the runs are in these states."""
        async with asyncio.timeout(30):
            while await self.states() != states:  # the database sets no event
                await asyncio.sleep(0.01)

    async def heartbeat(self, executor: UUID, **fields: object) -> HeartbeatAnswer:
        """Send a heartbeat with little said."""
        given: dict[str, object] = {"name": "e", "pools": ["default"], "slots": 9, "next_seq": 1}
        return await self.link.heartbeat(
            msgspec.convert({"executor": executor} | given | fields, Heartbeat)
        )

    async def poll(self, executor: UUID, seq: int = 1, *, repeat: bool = False) -> Handout:
        """Ask for up to nine attempts, and wait shortly."""
        return await self.link.poll(Poll(executor, seq, ["default"], 9, 0.1, repeat))


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[World]:
    databases = [Database(dsn, name=name, size=2) for name in ("dequeue", "record", "read")]
    session = await asyncpg.connect(dsn)
    hints = PostgresHints(databases[2])
    async with serve(PostgresDispatch(*databases), hints) as served:
        link = HttpGatewayLink(served.url, TOKEN)
        yield World(session, link, hints)
        await link.close()
    await session.close()
    for database in databases:
        await database.close()


async def test_runs_queued_in_postgresql_end_once_each(world: World) -> None:
    runner = Obedient()
    settings = Settings(slots=300, heartbeat_s=0.2, cut_off_s=5)
    member = Executor(
        world.link, {"http": runner}, HostClock(), Random(), settings, "e", lambda _at: None
    )
    running = asyncio.create_task(member.run())
    runs = await world.enqueue(1000)
    await world.until_states(succeeded=1000)
    assert sorted(runner.started) == sorted((run, 1) for run in runs)
    await member.stop()
    await running
    assert await world.session.fetchval("SELECT count(*) FROM attempts") == 1000
    assert await world.session.fetchval("SELECT count(*) FROM handouts") == 0


async def test_gw03_a_repeated_poll_gives_the_same_attempts(world: World) -> None:
    executor = uuid4()
    await world.heartbeat(executor)
    await world.enqueue(3)
    first = await world.poll(executor)
    assert len(first.attempts) == 3
    again = await world.poll(executor, repeat=True)
    names = [
        sorted((attempt.run_id, attempt.number) for attempt in got.attempts)
        for got in (first, again)
    ]
    assert names[0] == names[1]


async def test_gw05_attempts_whose_answer_was_lost_are_handed_out_again(world: World) -> None:
    executor = uuid4()
    await world.heartbeat(executor)
    await world.enqueue(2)
    lost = await world.poll(executor)
    await world.heartbeat(executor, next_seq=2)
    again = await world.poll(executor, seq=2)
    names = [
        sorted((attempt.run_id, attempt.number) for attempt in got.attempts)
        for got in (lost, again)
    ]
    assert names[0] == names[1]
    assert len(names[0]) == 2


async def test_gw09_a_repeated_report_is_confirmed_and_changes_nothing(world: World) -> None:
    executor = uuid4()
    await world.heartbeat(executor)
    good, bad = await world.enqueue(2)
    await world.poll(executor)
    ends = [
        End(good, 1, Result(Outcome.SUCCEEDED, output="a\0b")),
        End(bad, 1, Result(Outcome.FAILED, "exit code 1", exit_code=1)),
    ]
    for _ in range(2):
        assert (await world.link.report(Report(executor, ends))).superseded == []
    assert await world.states() == {"succeeded": 1, "dead": 1}
    assert await world.session.fetchval("SELECT count(*) FROM attempts") == 2
    assert await world.session.fetchval("SELECT count(*) FROM dead_letters") == 1


async def test_the_end_of_a_lost_executors_attempt_is_superseded(world: World) -> None:
    executor, other = uuid4(), uuid4()
    await world.heartbeat(executor)
    [run] = await world.enqueue(1)
    await world.poll(executor)
    await world.session.execute("UPDATE runs SET executor = $1", other)
    report = Report(executor, [End(run, 1, Result(Outcome.SUCCEEDED))])
    assert (await world.link.report(report)).superseded == [run]
    answer = await world.heartbeat(executor, next_seq=2, open=[1], held=[(run, 1)])
    assert [(stop.run_id, stop.why) for stop in answer.stop] == [(run, "superseded")]


async def test_a_cancel_is_told_in_the_answer_to_a_heartbeat(world: World) -> None:
    executor = uuid4()
    await world.heartbeat(executor)
    [run] = await world.enqueue(1)
    await world.poll(executor)
    await world.session.execute("UPDATE runs SET cancel_at = clock_timestamp()")
    answer = await world.heartbeat(executor, next_seq=2, open=[1], held=[(run, 1)])
    assert [(stop.run_id, stop.number, stop.why) for stop in answer.stop] == [(run, 1, "cancelled")]
