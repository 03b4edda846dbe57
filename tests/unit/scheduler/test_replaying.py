"""Schedulers replay dead letters, and count what they have replayed."""

from __future__ import annotations

import asyncio

from tests.unit.scheduler.ground import TEAM, Ground

from matins.domain.executors.protocol import End, Ending, Handout, Heartbeat, Poll
from matins.domain.ports.dead import NewReplay
from matins.domain.runs.attempts import Result
from matins.domain.runs.replays import ReplayDead
from matins.domain.runs.states import Outcome, RunState
from matins.kernel.metrics import REPLAYED
from matins.testing.memory.dead import MemoryReplays
from matins.testing.memory.dispatch import MemoryDispatch
from matins.testing.virtual import in_virtual_time


async def let_die(ground: Ground) -> None:
    """Let all runs that are queued die."""
    dispatch, executor = MemoryDispatch(ground.world), ground.uuid()
    await dispatch.heartbeat(Heartbeat(executor, "one", ["default"], 10, next_seq=1))
    handout = await dispatch.dequeue(Poll(executor, 1, ["default"], 10), "default") or Handout()
    endings = [
        Ending(End(attempt.run_id, 1, Result(Outcome.FAILED, "no")), RunState.DEAD, "no")
        for attempt in handout.attempts
    ]
    await dispatch.record(executor, endings)


@in_virtual_time
async def test_what_is_replayed_is_counted() -> None:
    ground = Ground()
    job = ground.job()
    async with ground.running():
        await asyncio.sleep(181)
        await let_die(ground)
        assert len(ground.world.dead_letters) == 3
        await asyncio.sleep(1)  # replayed is what died before
        before = REPLAYED._value.get()
        wanted = ReplayDead(everything=True, rate="1/s")
        await MemoryReplays(ground.world).create(NewReplay(ground.uuid(), TEAM, wanted))
        await asyncio.sleep(10)
        assert REPLAYED._value.get() == before + 3
        assert {run.state for run in ground.runs(job)} == {RunState.QUEUED}
