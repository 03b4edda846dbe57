"""What schedulers do where clocks change: by a law, by a step, by sleep, or by a restart."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from random import Random

from tests.unit.scheduler.ground import Ground

from matins.domain.jobs.misfire import Misfire
from matins.domain.runs.states import RunState
from matins.domain.values.ids import PARTITIONS
from matins.kernel import metrics
from matins.testing.memory.world import JobRow
from matins.testing.virtual import in_virtual_time

BERLIN = "Europe/Berlin"
ALL = Misfire(policy="all", max_count=1000)


def jump_to(ground: Ground, text: str) -> None:
    """Let the world be at an instant."""
    ground.time.jump((datetime.fromisoformat(text) - ground.time.now()).total_seconds())


async def pass_through(ground: Ground, *instants: str) -> None:
    """Let schedulers run for a minute and a half around each of these instants, which come in turn;
    what lies between is missed.
    """
    for instant in instants:
        jump_to(ground, instant)
        ground.time.jump(-60)
        async with ground.running():
            await asyncio.sleep(90)


@in_virtual_time
async def test_a_time_that_clocks_skip_is_claimed_once_right_after_the_gap() -> None:
    """TM-01: 02:30 in Berlin on the day on which clocks go from 02:00 to 03:00."""
    ground = Ground()
    jump_to(ground, "2026-03-28T23:50:00Z")
    daily = ground.job(cron="30 2 * * *", misfire=ALL, timezone=BERLIN)
    quarters = ground.job(cron="*/15 * * * *", misfire=ALL, timezone=BERLIN)
    times = ("00:30", "01:00", "01:30", "02:30")
    await pass_through(ground, *(f"2026-03-29T{time}:00Z" for time in times))
    [run] = ground.runs(daily)
    assert run.due_at == datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert (run.claimed_at - run.due_at).total_seconds() < 1
    assert_each_quarter(ground, quarters, 11)


@in_virtual_time
async def test_a_time_that_occurs_twice_is_claimed_once_and_each_quarter_of_an_hour() -> None:
    """TM-02: 02:30 in Berlin on the day on which clocks go from 03:00 back to 02:00."""
    ground = Ground()
    jump_to(ground, "2026-10-24T23:50:00Z")
    daily = ground.job(cron="30 2 * * *", misfire=ALL, timezone=BERLIN)
    quarters = ground.job(cron="*/15 * * * *", misfire=ALL, timezone=BERLIN)
    times = ("00:00", "00:30", "01:00", "01:30", "02:30")
    await pass_through(ground, *(f"2026-10-25T{time}:00Z" for time in times))
    [run] = ground.runs(daily)
    assert run.due_at == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert (run.claimed_at - run.due_at).total_seconds() < 1
    assert_each_quarter(ground, quarters, 11)


def assert_each_quarter(ground: Ground, job: JobRow, count: int) -> None:
    """A job has so many runs, a quarter of an hour apart, none of them early."""
    dues = [run.due_at.timestamp() for run in ground.runs(job)]
    assert dues == [dues[0] + 900 * number for number in range(count)]
    assert all(run.claimed_at >= run.due_at for run in ground.runs(job))


@in_virtual_time
async def test_what_lies_beyond_the_horizon_is_claimed_when_the_clock_gets_there() -> None:
    """CL-15: a leap day, a date in 2099 and an interval of 400 days, with steps to before them."""
    ground = Ground()
    jobs = {
        "2027-02-05T00:00:00Z": ground.job(every="400d", misfire=ALL),
        "2028-02-29T00:00:00Z": ground.job(cron="0 0 29 2 *", misfire=ALL),
        "2099-12-31T23:59:59Z": ground.job(at="2099-12-31T23:59:59Z", misfire=ALL),
    }
    async with ground.running():
        await asyncio.sleep(150)
        assert not ground.world.runs
        for due, job in jobs.items():
            jump_to(ground, due)
            ground.time.jump(-30)
            await asyncio.sleep(29)
            assert datetime.fromisoformat(due) not in {run.due_at for run in ground.runs(job)}
            await asyncio.sleep(3)
            assert ground.runs(job)[-1].due_at == datetime.fromisoformat(due)
            assert all(run.claimed_at >= run.due_at for run in ground.runs(job))


@in_virtual_time
async def test_a_clock_that_is_put_back_claims_nothing_again_and_holds_up_nothing_new() -> None:
    """TM-08: minutes back, while one scheduler is dead that holds its half."""
    ground = Ground()
    job = ground.job()
    jumps = metrics.CLOCK_JUMPS._value.get()
    dead_clock = ground.clock()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(ground.running())
        dead = ground.scheduler(dead_clock)
        dying = asyncio.create_task(dead.run())
        await asyncio.sleep(300.5)
        assert len(dead.epochs()) == PARTITIONS / 2
        dead_clock.stop()
        ground.time.jump(-240)
        before = ground.dues(job)
        await asyncio.sleep(15)
        new = [ground.job(every="5s") for _ in range(8)]
        await asyncio.sleep(15)
        assert metrics.CLOCK_JUMPS._value.get() == jumps + 1
        assert ground.dues(job) == before == [60.0 * minute for minute in range(1, 6)]
        assert {tuple(ground.dues(job)) for job in new} == {(80.0, 85.0, 90.0)}
        await asyncio.sleep(280)
        assert ground.dues(job) == [60.0 * minute for minute in range(1, 7)]
    dead_clock.dispose()
    dying.cancel()


@in_virtual_time
async def test_a_machine_that_slept_for_ten_minutes_catches_up_by_policy() -> None:
    """TM-10: all processes stand still while time goes on, and wake up in any order."""
    ground = Ground()
    newest = ground.job(misfire=Misfire(policy="last"))
    every = [ground.job(misfire=Misfire(policy="all")) for _ in range(20)]
    rng = Random(5)
    async with AsyncExitStack() as stack:
        clocks = [ground.clock() for _ in range(3)]
        schedulers = [await stack.enter_async_context(ground.running(clock)) for clock in clocks]
        await asyncio.sleep(90)
        for clock in clocks:
            clock.freeze(600 + rng.uniform(0, 5))
        await asyncio.sleep(599)
        assert all(not scheduler.epochs() for scheduler in schedulers)
        await asyncio.sleep(60)
    minutes = [60.0 * minute for minute in range(1, 13)]
    for job in every:
        assert ground.dues(job) == minutes
        epochs = [run.epoch for run in sorted(ground.runs(job), key=lambda run: run.claimed_at)]
        assert epochs == sorted(epochs)
    assert set(ground.dues(newest)) == {60.0, 660.0, 720.0}
    skipped = [run for run in ground.runs(newest) if run.state is RunState.SKIPPED]
    assert sum(run.due_count for run in skipped) == 9
    assert all(run.reason for run in skipped)


@in_virtual_time
async def test_an_interval_goes_on_however_often_schedulers_are_started() -> None:
    """TM-14: each 15 seconds, with a new scheduler each 10."""
    ground = Ground()
    job = ground.job(every="15s")
    for _ in range(11):
        async with ground.running():
            await asyncio.sleep(10)
    assert ground.dues(job) == [15.0 * number for number in range(1, 8)]


@in_virtual_time
async def test_what_was_purged_is_not_claimed_again_when_the_clock_goes_back() -> None:
    """CL-23: no rows are left of the last minutes, to which the clock returns."""
    ground = Ground()
    job = ground.job(every="10s")
    async with ground.running():
        await asyncio.sleep(205)
    for run in ground.runs(job):
        ground.world.dequeue(run.id)
        ground.world.delete(run)
    ground.time.jump(-150)
    async with ground.running():
        await asyncio.sleep(145)
        assert ground.runs(job) == []
        await asyncio.sleep(25)
    assert ground.dues(job) == [210.0, 220.0]
