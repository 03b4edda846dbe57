"""Runs whose next attempt is due go back on the queue."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest
from tests.unit.scheduler.ground import Ground

from matins.domain.executors.protocol import End, Ending, Handout, Heartbeat, Poll
from matins.domain.runs.admission.waiting import RETRY
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome, RunState
from matins.testing.memory.dispatch import MemoryDispatch
from matins.testing.memory.rows import RunRow
from matins.testing.virtual import in_virtual_time


async def fail_first(ground: Ground, retry_in_s: float) -> RunRow:
    """Let the first run of a job fail, to be tried again in so many seconds."""
    dispatch = MemoryDispatch(ground.world)
    executor = ground.uuid()
    await dispatch.heartbeat(Heartbeat(executor, "one", ["default"], 10, next_seq=1))
    handout = await dispatch.dequeue(Poll(executor, 1, ["default"], 10), "default") or Handout()
    [attempt] = handout.attempts
    end = End(attempt.run_id, attempt.number, Result(Outcome.FAILED, "no"))
    await dispatch.record(executor, [Ending(end, RunState.RETRYING, "no", retry_in_s)])
    return ground.world.runs_by_id[attempt.run_id]


@in_virtual_time
async def test_a_retry_is_queued_when_its_time_has_come_and_not_before() -> None:
    for retry_in_s in (0.0, 0.5, 30.0, 600.0):
        ground = Ground()
        ground.job(cron="1 0 * * *")
        async with ground.running():
            await asyncio.sleep(61)
            run = await fail_first(ground, retry_in_s)
            await asyncio.sleep(max(retry_in_s - 0.1, 0))
            if retry_in_s:
                assert run.state is RunState.RETRYING
            await asyncio.sleep(3)
            assert run.state is RunState.QUEUED
            assert len(ground.world.queues["default"]) == 1


@in_virtual_time
async def test_retries_outlive_their_scheduler() -> None:
    ground = Ground()
    ground.job(cron="1 0 * * *")
    async with ground.running():
        await asyncio.sleep(61)
        run = await fail_first(ground, 20.0)
    due = run.retry_at
    await asyncio.sleep(5)
    async with ground.running():
        await asyncio.sleep(20)
    assert run.state is RunState.QUEUED
    assert due is not None
    assert ground.time.now() - due > timedelta(0)


@pytest.mark.parametrize(
    ("known_for_s", "moved_by_s"), [(1, -140), (1, 60), (198, -190), (198, 60)]
)
@in_virtual_time
async def test_a_retry_that_is_moved_is_queued_once_at_its_new_time(
    known_for_s: float, moved_by_s: float
) -> None:
    ground = Ground()
    ground.job(cron="1 0 * * *")
    queued: list[datetime] = []

    def note(run: RunRow, before: RunState | None) -> None:
        if (before, run.state) == (RunState.RETRYING, RunState.QUEUED):
            queued.append(ground.time.now())

    ground.world.watchers.append(note)
    async with ground.running():
        await asyncio.sleep(61)
        run = await fail_first(ground, 200.0)
        await asyncio.sleep(known_for_s)
        assert run.retry_at is not None
        moved_to = max(run.retry_at + timedelta(seconds=moved_by_s), ground.time.now())
        run.retry_at = moved_to
        ground.world.wait(run, moved_to, RETRY)
        await asyncio.sleep(280)
    [queued_at] = queued
    assert timedelta(0) <= queued_at - moved_to <= timedelta(seconds=3)


@in_virtual_time
async def test_waiting_executors_are_told_of_promoted_runs() -> None:
    ground = Ground()
    ground.job(cron="1 0 * * *")
    told = 0

    async def listen() -> None:
        nonlocal told
        async for _ in ground.hints.listen("dispatch"):
            told += 1

    async with ground.running():
        await asyncio.sleep(61)
        await fail_first(ground, 5.0)
        listening = asyncio.create_task(listen())
        await asyncio.sleep(1)
        assert told == 1
        await asyncio.sleep(7)
        assert told == 2
        listening.cancel()


@pytest.mark.parametrize("begun_s", [61.1, 61.5, 61.9])
@in_virtual_time
async def test_a_retry_waits_for_no_whole_second(begun_s: float) -> None:
    ground = Ground()
    ground.job(cron="1 0 * * *")
    queued: list[datetime] = []

    def note(run: RunRow, before: RunState | None) -> None:
        if (before, run.state) == (RunState.RETRYING, RunState.QUEUED):
            queued.append(ground.time.now())

    ground.world.watchers.append(note)
    async with ground.running():
        await asyncio.sleep(begun_s)
        run = await fail_first(ground, 1.0)
        due = run.retry_at
        await asyncio.sleep(5)
    assert due is not None
    [at] = queued
    assert timedelta(0) <= at - due < timedelta(seconds=0.2)
