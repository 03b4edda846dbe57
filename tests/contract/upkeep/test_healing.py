"""Rows that went missing beside a run are put back, so that every run goes on and ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import pytest
from tests.contract.ports.ground import SPEC, START, Ground, claim

from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll
from matins.domain.jobs.windows import Window
from matins.domain.runs.attempts import Result
from matins.domain.runs.claims import BEGINNING
from matins.domain.runs.states import Outcome, RunState
from matins.domain.values.ids import partition_of
from matins.testing.virtual import VirtualClock, VirtualTime
from matins.upkeep import healing
from matins.upkeep.healing import Healing

HOLDER, JOB, EXECUTOR = UUID(int=1), UUID(int=2), UUID(int=3)


class Scene:
    """A job, its executor, and the upkeep of rows."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._healing = Healing(ground.repairs, VirtualClock(VirtualTime()), asyncio.Event())

    async def claim(self, count: int = 1) -> list[UUID]:
        """Claim so many due times."""
        epochs = await self.ground.all_leases(HOLDER)
        claims = [claim(JOB, START + timedelta(minutes=number)) for number in range(count)]
        await self.ground.agenda.claim(HOLDER, epochs, claims)
        return [claim.run_id for claim in claims]

    async def heartbeat(
        self, awaiting: Sequence[int] = (), held: Sequence[tuple[UUID, int]] = ()
    ) -> bool:
        """Let the executor give a sign of life; whether it is alive."""
        heartbeat = Heartbeat(EXECUTOR, "e", ["default"], 9, 2, [*awaiting], held=[*held])
        return not (await self.ground.dispatch.heartbeat(heartbeat)).lost

    async def stop(self) -> None:
        """Let the executor end."""
        await self.ground.dispatch.heartbeat(
            Heartbeat(EXECUTOR, "e", ["default"], 9, 2, [1], stopped=True)
        )

    async def dequeue(self, seq: int = 1) -> list[tuple[UUID, int]]:
        """Let the executor ask for attempts."""
        handout = await self.ground.dispatch.dequeue(Poll(EXECUTOR, seq, ["default"], 9), "default")
        return [(attempt.run_id, attempt.number) for attempt in handout.attempts] if handout else []

    async def heal(self, after_s: float = 120) -> None:
        """Let so much time pass, and the upkeep do its turn."""
        self.ground.clock.move(after_s)
        await self._healing.heal()


@pytest.fixture
async def scene(ground: Ground) -> Scene:
    await ground.rows.add_job(JOB, SPEC)
    scene = Scene(ground)
    await scene.heartbeat(awaiting=[1])
    return scene


async def test_a_queued_run_is_put_on_the_queue_again_in_its_place(scene: Scene) -> None:
    runs = await scene.claim(3)
    assert await scene.ground.rows.lose_place(runs[0])
    await scene.heal()
    assert await scene.dequeue() == [(run, 1) for run in runs]


async def test_what_waits_in_its_place_is_left_alone(scene: Scene) -> None:
    runs = await scene.claim(3)
    await scene.heal()
    assert [await scene.ground.rows.lose_place(run) for run in runs] == [True] * 3
    assert not await scene.dequeue()


async def test_a_run_that_is_running_or_over_is_not_put_on_the_queue(scene: Scene) -> None:
    runs = await scene.claim(2)
    assert len(await scene.dequeue()) == 2
    end = End(runs[0], 1, Result(Outcome.SUCCEEDED))
    await scene.ground.dispatch.record(EXECUTOR, [Ending(end, RunState.SUCCEEDED, "")])
    await scene.heal()
    assert [await scene.ground.rows.lose_place(run) for run in runs] == [False] * 2


async def test_a_claim_of_a_moment_ago_is_not_judged(scene: Scene) -> None:
    [run] = await scene.claim()
    await scene.ground.rows.lose_place(run)
    await scene.heal(after_s=10)
    assert not await scene.dequeue()
    await scene.heal(after_s=60)
    assert await scene.dequeue(seq=1)


async def test_a_retrying_run_waits_for_its_time_again(scene: Scene) -> None:
    [run] = await scene.claim()
    await scene.dequeue()
    end = End(run, 1, Result(Outcome.LOST))
    await scene.ground.dispatch.record(EXECUTOR, [Ending(end, RunState.RETRYING, "lost", 3600.0)])
    before = await retries(scene.ground)
    assert await scene.ground.rows.lose_wait(run)
    assert await retries(scene.ground) == []
    await scene.heal()
    assert await retries(scene.ground) == before


async def test_a_run_that_waits_is_asked_about_again(scene: Scene) -> None:
    await scene.ground.rows.put_windows(Window("w", START, START + timedelta(hours=1)))
    [run] = await scene.claim()
    assert await scene.ground.rows.lose_wait(run)
    await scene.heal()
    assert [run.run_id for run in await scene.ground.waiting(JOB)] == [run]


@pytest.mark.parametrize("gone", ["executors", "handouts", "both"])
async def test_a_run_of_an_executor_that_ended_or_is_unknown_is_lost(
    scene: Scene, gone: str
) -> None:
    [run] = await scene.claim()
    await scene.dequeue()
    await scene.stop()
    if gone != "executors":
        await scene.ground.rows.lose_handouts(EXECUTOR)
    if gone != "handouts":
        await scene.ground.rows.lose_executor(EXECUTOR)
    assert await scene.ground.watch.abandoned_runs(9) == []
    await scene.heal()
    [(executor, running)] = await scene.ground.watch.abandoned_runs(9)
    assert (executor, [attempt.run_id for attempt in running]) == (EXECUTOR, [run])
    assert not await scene.heartbeat()


async def test_an_executor_that_lives_keeps_what_it_may_still_execute(scene: Scene) -> None:
    [run] = await scene.claim()
    await scene.dequeue()
    await scene.ground.rows.lose_handouts(EXECUTOR)
    await scene.heal()
    assert await scene.heartbeat(held=[(run, 1)])
    assert await scene.ground.dispatch.running_runs(EXECUTOR, [run])


async def test_what_an_executor_can_no_longer_execute_goes_back_to_the_queue(
    scene: Scene,
) -> None:
    [run] = await scene.claim()
    await scene.dequeue()
    await scene.ground.rows.lose_handouts(EXECUTOR)
    await scene.heal(after_s=86_400)
    assert await scene.heartbeat()
    assert not await scene.ground.dispatch.running_runs(EXECUTOR, [run])
    assert await scene.ground.rows.lose_place(run)


async def test_a_walk_goes_on_where_the_turn_before_ended(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(healing, "PAGE", 2)
    monkeypatch.setattr(healing, "TURN_S", 0.0)
    runs = await scene.claim(5)
    for run in runs:
        await scene.ground.rows.lose_place(run)
    found = []
    for _ in range(4):
        await scene.heal()
        found.append(sum([await scene.ground.rows.lose_place(run) for run in runs]))
    assert found == [2, 2, 1, 2]


async def retries(ground: Ground) -> list[object]:
    """Return the retries of the job's partition in the next two hours."""
    due = ground.clock.now() + timedelta(hours=2)
    return [*await ground.room.load_waiting({partition_of(JOB): BEGINNING}, due, 9)]
