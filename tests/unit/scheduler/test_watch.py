"""Executors that no longer heartbeat are declared lost, and what they held goes on."""

from __future__ import annotations

import asyncio
from datetime import datetime
from uuid import UUID

import msgspec
from structlog.testing import capture_logs
from tests.unit.scheduler.ground import Ground

from matins.domain.executors.liveness import ExecutorSeen
from matins.domain.executors.protocol import Handout, Heartbeat, Poll
from matins.domain.jobs.retry import Backoff, RetryPolicy
from matins.domain.runs.states import Outcome, RunState
from matins.domain.values.errors import UnavailableError
from matins.kernel.metrics import RUNS_DEAD
from matins.testing.memory.dispatch import MemoryDispatch, MemoryWatch
from matins.testing.virtual import in_virtual_time

LOST_AFTER_S = 45


class Blind(MemoryWatch):
    """A watch that can't be reached while `blind`."""

    blind = False

    async def executors(self) -> list[ExecutorSeen]:
        """See `domain.ports.Watch`."""
        if self.blind:
            raise UnavailableError("the store is away")
        return await super().executors()


class Side:
    """Some executors that heartbeat every three seconds, until told to be silent."""

    def __init__(self, ground: Ground, count: int) -> None:
        self.dispatch = MemoryDispatch(ground.world)
        self.world = ground.world
        self.silent: set[UUID] = set()
        self.names = [ground.uuid() for _ in range(count)]
        self.seqs = dict.fromkeys(self.names, 1)

    async def heartbeat(self) -> None:
        """Send heartbeats for ever."""
        while True:
            for name in self.names:
                if name not in self.silent:
                    await self.heartbeat_once(name)
            await asyncio.sleep(3)

    async def heartbeat_once(self, name: UUID) -> None:
        """Let one executor heartbeat now."""
        seq = self.seqs[name]
        await self.dispatch.heartbeat(
            Heartbeat(name, "x", ["default"], 10, seq, open=list(range(seq)))
        )

    async def dequeue(self, name: UUID) -> int:
        """Take what is queued; gives how much."""
        handout = (
            await self.dispatch.dequeue(Poll(name, self.seqs[name], ["default"], 9), "default")
            or Handout()
        )
        self.seqs[name] += 1
        return len(handout.attempts)

    def lost(self) -> set[UUID]:
        """Return who was declared lost."""
        return {row.id for row in self.world.executors.values() if row.ended_at is not None}


@in_virtual_time
async def test_a_silent_executor_is_lost_after_its_bound_and_its_runs_are_tried_again() -> None:
    ground = Ground()
    job = ground.job(cron="1 0 * * *")
    side = Side(ground, 3)
    heartbeats = asyncio.create_task(side.heartbeat())
    async with ground.running():
        await asyncio.sleep(61)
        assert await side.dequeue(side.names[0]) == 1
        [run] = ground.runs(job)
        side.silent = {side.names[0]}
        await asyncio.sleep(LOST_AFTER_S - 6)
        assert side.lost() == set()
        await asyncio.sleep(12)
        assert side.lost() == side.silent
        assert run.state is RunState.RETRYING
        assert run.lost_count == 1
        assert ground.world.attempts[run.id, 1].outcome is Outcome.LOST
        assert ground.world.handouts == {}
        await asyncio.sleep(15)
        assert await side.dequeue(side.names[1]) == 1
        assert run.attempt == 2
    heartbeats.cancel()


class Crossed(MemoryWatch):
    """A watch of which a heartbeat may cross an answer: the one to the look numbered `crossing`."""

    def __init__(self, ground: Ground, crossing: int) -> None:
        super().__init__(ground.world)
        self.side = Side(ground, 1)
        self.looks = self.declared_at = 0
        self.looked_s = float("-inf")
        self.crossing = crossing

    async def executors(self) -> list[ExecutorSeen]:
        """See `domain.ports.Watch`."""
        seen = await super().executors()
        # Whatever is asked at one instant is one look.
        looked_s = asyncio.get_running_loop().time()
        self.looks += looked_s != self.looked_s
        self.looked_s = looked_s
        if self.looks == self.crossing:
            await self.side.heartbeat_once(self.side.names[0])
        return seen

    async def declare_lost(self, executor: UUID, heartbeat_at: datetime) -> bool:
        """See `domain.ports.Watch`."""
        self.declared_at = self.looks
        return await super().declare_lost(executor, heartbeat_at)


async def _fall_silent(crossing: int) -> Crossed:
    """Let the only executor fall silent for a little longer than its bound."""
    ground = Ground()
    ground.watch = watch = Crossed(ground, crossing)
    heartbeats = asyncio.create_task(watch.side.heartbeat())
    async with ground.running():
        await asyncio.sleep(20)
        watch.side.silent = {watch.side.names[0]}
        await asyncio.sleep(LOST_AFTER_S + 10)
    heartbeats.cancel()
    return watch


@in_virtual_time
async def test_an_executor_is_not_lost_whose_heartbeat_crosses_the_look_that_judges_it() -> None:
    judged = await _fall_silent(crossing=0)
    assert judged.side.lost() == judged.side.silent
    crossed = await _fall_silent(crossing=judged.declared_at)
    assert crossed.declared_at
    assert crossed.side.lost() == set()


@in_virtual_time
async def test_a_run_that_was_lost_too_often_is_a_dead_letter() -> None:
    ground = Ground()
    job = ground.job(cron="1 0 * * *")
    retry = RetryPolicy(lost=1, backoff=Backoff(initial="1s"))
    job.spec = msgspec.structs.replace(job.spec, retry=retry)
    side = Side(ground, 2)
    heartbeats = asyncio.create_task(side.heartbeat())
    async with ground.running():
        await asyncio.sleep(61)
        await side.dequeue(side.names[0])
        side.silent = {side.names[0]}
        before = RUNS_DEAD._value.get()
        with capture_logs() as logs:
            await asyncio.sleep(LOST_AFTER_S + 6)
        [run] = ground.runs(job)
        assert run.state is RunState.DEAD
        assert len(ground.world.dead_letters) == 1
        assert RUNS_DEAD._value.get() == before + 1
        [line] = [entry for entry in logs if entry["event"] == "runs.dead"]
        assert (line["run"], line["reason"]) == (str(run.id), run.reason)
    heartbeats.cancel()


@in_virtual_time
async def test_runs_that_are_lost_together_are_suspect_and_tried_alone_after_the_second_time() -> (
    None
):
    ground = Ground()
    retry = RetryPolicy(lost=1, backoff=Backoff(initial="1s"))
    jobs = [ground.job(cron="1 0 * * *") for _ in range(2)]
    for job in jobs:
        job.spec = msgspec.structs.replace(job.spec, retry=retry)
    side = Side(ground, 3)
    heartbeats = asyncio.create_task(side.heartbeat())
    async with ground.running():
        await asyncio.sleep(61)
        runs = [run for job in jobs for run in ground.runs(job)]
        for name in side.names[:2]:
            assert await side.dequeue(name) == 2
            side.silent |= {name}
            await asyncio.sleep(LOST_AFTER_S + 15)
        assert [run.shared_losses for run in runs] == [2, 2]
        assert await side.dequeue(side.names[2]) == 1
        side.silent |= {side.names[2]}
        await asyncio.sleep(LOST_AFTER_S + 15)
        assert sorted(run.state for run in runs) == [RunState.DEAD, RunState.QUEUED]
    heartbeats.cancel()


@in_virtual_time
async def test_the_time_in_which_the_watcher_could_not_see_does_not_count() -> None:
    ground = Ground()
    watch = Blind(ground.world)
    ground.watch = watch
    clock = ground.clock()
    side = Side(ground, 1)
    heartbeats = asyncio.create_task(side.heartbeat())
    async with ground.running(clock):
        await asyncio.sleep(20)
        side.silent = {side.names[0]}
        clock.freeze(LOST_AFTER_S)
        await asyncio.sleep(LOST_AFTER_S + 10)
        watch.blind = True
        await asyncio.sleep(LOST_AFTER_S + 10)
        watch.blind = False
        await asyncio.sleep(20)
        assert side.lost() == set()
        await asyncio.sleep(30)
        assert side.lost() == side.silent
    heartbeats.cancel()


@in_virtual_time
async def test_when_most_fall_silent_at_once_the_bound_counts_double() -> None:
    ground = Ground()
    side = Side(ground, 4)
    heartbeats = asyncio.create_task(side.heartbeat())
    async with ground.running():
        await asyncio.sleep(20)
        side.silent = set(side.names[:3])
        await asyncio.sleep(LOST_AFTER_S + 20)
        assert side.lost() == set()
        await asyncio.sleep(LOST_AFTER_S)
        assert side.lost() == side.silent
    heartbeats.cancel()


@in_virtual_time
async def test_what_a_stopped_executor_still_held_is_taken_back() -> None:
    ground = Ground()
    job = ground.job(cron="1 0 * * *")
    side = Side(ground, 1)
    [name] = side.names
    heartbeats = asyncio.create_task(side.heartbeat())
    async with ground.running():
        await asyncio.sleep(61)
        await side.dequeue(name)
        side.silent = {name}
        await side.dispatch.heartbeat(
            Heartbeat(name, "x", ["default"], 10, 2, open=[1], stopped=True)
        )
        await asyncio.sleep(7)
        assert [run.state for run in ground.runs(job)] == [RunState.RETRYING]
    heartbeats.cancel()
