"""Rows that went missing beside a run are made again, so that every run goes on and ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from uuid import UUID

import asyncpg
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, claim, on_postgres

from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll
from matins.domain.runs.attempts import Result
from matins.domain.runs.claims import BEGINNING
from matins.domain.runs.states import Outcome, RunState
from matins.domain.values.ids import partition_of
from matins.store import healing
from matins.store.database import Database
from matins.store.healing import Healing
from matins.testing.virtual import VirtualClock, VirtualTime

HOLDER, JOB, EXECUTOR = UUID(int=1), UUID(int=2), UUID(int=3)


class Scene:
    """A job, its executor, and the upkeep of rows."""

    def __init__(self, ground: Ground, database: Database, session: asyncpg.Connection) -> None:
        self.ground = ground
        self.session = session
        self._healing = Healing(database, VirtualClock(VirtualTime()), asyncio.Event())

    async def claim(self, count: int = 1) -> list[UUID]:
        """Claim so many due times."""
        epochs = await self.ground.all_leases(HOLDER)
        claims = [claim(JOB, START + timedelta(minutes=number)) for number in range(count)]
        await self.ground.agenda.claim(HOLDER, epochs, claims)
        return [it.run_id for it in claims]

    async def heartbeat(
        self, awaiting: Sequence[int] = (), held: Sequence[tuple[UUID, int]] = ()
    ) -> bool:
        """Let the executor give a sign of life; whether it is alive."""
        heartbeat = Heartbeat(EXECUTOR, "e", ["default"], 9, 2, [*awaiting], held=[*held])
        return not (await self.ground.dispatch.heartbeat(heartbeat)).lost

    async def take(self, seq: int = 1) -> list[tuple[UUID, int]]:
        """Let the executor ask for attempts."""
        handout = await self.ground.dispatch.take(Poll(EXECUTOR, seq, ["default"], 9), "default")
        assert handout is not None
        return [(it.run_id, it.number) for it in handout.attempts]

    async def heal(self, after_s: float = 120) -> None:
        """Let so much time pass, and the upkeep do its turn."""
        self.ground.clock.move(after_s)
        await self._healing.heal()

    async def states(self) -> list[str]:
        """The states of the runs, by due time."""
        rows = await self.session.fetch("SELECT state FROM runs ORDER BY due_at")
        return [row["state"] for row in rows]

    async def count(self, table: str) -> int:
        """How many rows a table has."""
        count: int = await self.session.fetchval(f"SELECT count(*) FROM {table}")
        return count


@pytest.fixture
async def scene(dsn: str) -> AsyncIterator[Scene]:
    ground, database = on_postgres(dsn)
    upkeep = Database(dsn, name="history", size=1, now=ground.clock.now)
    session = await asyncpg.connect(dsn)
    await ground.rows.add_job(JOB, SPEC)
    scene = Scene(ground, upkeep, session)
    await scene.heartbeat(awaiting=[1])
    yield scene
    await session.close()
    await upkeep.close()
    await database.close()


async def test_a_queued_run_is_put_on_the_queue_again(scene: Scene) -> None:
    runs = await scene.claim(3)
    await scene.session.execute("DELETE FROM dispatch WHERE run_id = $1", runs[0])
    await scene.heal()
    assert await scene.count("dispatch") == 3
    assert await scene.take() == [(run, 1) for run in runs]
    await scene.heal()
    assert await scene.count("dispatch") == 0


async def test_what_waits_in_its_place_is_left_alone(scene: Scene) -> None:
    await scene.claim(3)
    before = await scene.session.fetch("SELECT * FROM dispatch ORDER BY rank, run_id")
    await scene.heal()
    assert await scene.session.fetch("SELECT * FROM dispatch ORDER BY rank, run_id") == before


async def test_a_run_that_a_window_holds_is_left_alone(scene: Scene) -> None:
    await scene.claim()
    await scene.session.execute(
        "WITH held AS (DELETE FROM dispatch RETURNING run_id, due_at)"
        " INSERT INTO retries (partition, retry_at, run_id, due_at, held_by)"
        " SELECT $1, due_at + interval '1 day', run_id, due_at, 1 FROM held",
        partition_of(JOB),
    )
    await scene.heal()
    assert await scene.count("dispatch") == 0


async def test_a_claim_of_a_moment_ago_is_not_judged(scene: Scene) -> None:
    await scene.claim()
    await scene.session.execute("DELETE FROM dispatch")
    await scene.heal(after_s=10)
    assert await scene.count("dispatch") == 0
    await scene.heal(after_s=60)
    assert await scene.count("dispatch") == 1


async def test_a_retrying_run_waits_for_its_time_again(scene: Scene) -> None:
    [run] = await scene.claim()
    await scene.take()
    end = End(run, 1, Result(Outcome.LOST))
    await scene.ground.dispatch.record(EXECUTOR, [Ending(end, RunState.RETRYING, "lost", 3600.0)])
    [before] = await scene.session.fetch("DELETE FROM retries RETURNING *")
    await scene.heal()
    assert await scene.session.fetch("SELECT * FROM retries") == [before]
    marks = {partition_of(JOB): BEGINNING}
    due = scene.ground.clock.now() + timedelta(hours=2)
    [retry] = await scene.ground.agenda.load_retries(marks, due, 9)
    assert retry.run_id == run


@pytest.mark.parametrize("gone", ["executors", "handouts", "both"])
async def test_a_run_of_an_executor_that_ended_or_is_unknown_is_lost(
    scene: Scene, gone: str
) -> None:
    [run] = await scene.claim()
    await scene.take()
    await scene.session.execute("UPDATE executors SET ended_at = $1", START)
    for table in ("executors", "handouts") if gone == "both" else (gone,):
        await scene.session.execute(f"DELETE FROM {table}")
    await scene.heal()
    [(executor, running)] = await scene.ground.watch.abandoned(9)
    assert (executor, [it.run_id for it in running]) == (EXECUTOR, [run])
    assert not await scene.heartbeat()


async def test_an_executor_that_lives_keeps_what_it_may_still_execute(scene: Scene) -> None:
    [run] = await scene.claim()
    await scene.take()
    await scene.session.execute("DELETE FROM handouts")
    await scene.heal()
    assert await scene.heartbeat(held=[(run, 1)])
    assert await scene.states() == ["running"]


async def test_what_an_executor_can_no_longer_execute_goes_back_to_the_queue(
    scene: Scene,
) -> None:
    await scene.claim()
    await scene.take()
    await scene.session.execute("DELETE FROM handouts")
    await scene.heal(after_s=86_400)
    assert await scene.heartbeat()
    assert await scene.states() == ["queued"]
    assert await scene.count("dispatch") == 1


async def test_a_walk_goes_on_where_the_turn_before_ended(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(healing, "PAGE", 2)
    monkeypatch.setattr(healing, "TURN_S", 0.0)
    await scene.claim(5)
    await scene.session.execute("DELETE FROM dispatch")
    found = []
    for _ in range(4):
        await scene.heal()
        found.append(len(await scene.session.fetch("DELETE FROM dispatch RETURNING run_id")))
    assert found == [2, 2, 1, 2]
