"""Jobs that are due some time after the end of their last run."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from tests.unit.scheduler.ends import Troubled, end, insist_on_the_chain, let_runs_last
from tests.unit.scheduler.ground import TEAM, Ground, after, seconds

from matins.domain.jobs.misfire import Misfire
from matins.domain.jobs.spec import JobState
from matins.domain.runs.states import FINAL, RunState
from matins.domain.schedules.schedule import Schedule
from matins.scheduler import following
from matins.testing.virtual import START, in_virtual_time


@in_virtual_time
async def test_each_run_is_due_after_the_end_of_the_one_before_and_on_time() -> None:
    ground = Ground()
    let_runs_last(ground, 0.3)
    jobs = [ground.job(every=f"{delay}s", after="end") for delay in (1, 2, 5)]
    async with ground.running():
        await asyncio.sleep(120.5)
    for job, delay, count in zip(jobs, (1, 2, 5), (60, 40, 20), strict=True):
        assert len(ground.runs(job)) == count
        insist_on_the_chain(ground, job, delay, lag_s=0.1)


@in_virtual_time
async def test_while_a_run_goes_on_nothing_is_due_and_nothing_is_known_of_the_next() -> None:
    ground = Ground()
    let_runs_last(ground, 300)
    job = ground.job(every="5m", after="end")
    async with ground.running():
        await asyncio.sleep(580)
        assert (job.next_due_at, job.next_fire_at, job.follows) == (None, None, after(300))
        await asyncio.sleep(40)
        assert job.next_due_at == after(900)
        await asyncio.sleep(300)
    assert ground.dues(job, RunState.SUCCEEDED) == [300.0]
    assert ground.dues(job) == [900.0]


@in_virtual_time
async def test_a_far_due_time_is_claimed_in_its_time() -> None:
    ground = Ground()
    let_runs_last(ground, 10)
    job = ground.job(every="4m", after="end")
    async with ground.running():
        await asyncio.sleep(1300)
    assert len(ground.runs(job)) == 5
    insist_on_the_chain(ground, job, 240)


@in_virtual_time
async def test_jitter_comes_after_the_delay() -> None:
    ground = Ground()
    let_runs_last(ground, 5)
    job = ground.job(every="1m", after="end", jitter="20s")
    async with ground.running():
        await asyncio.sleep(1000)
    insist_on_the_chain(ground, job, 60, lag_s=21)
    assert len({run.fire_at - run.due_at for run in ground.runs(job)}) > 5


@in_virtual_time
async def test_a_run_that_is_tried_again_has_not_ended() -> None:
    ground = Ground()
    job = ground.job(every="10s", after="end")
    async with ground.running():
        await asyncio.sleep(11)
        [run] = ground.runs(job)
        ground.world.move(run, RunState.RUNNING)
        ground.world.move(run, RunState.RETRYING)
        await asyncio.sleep(100)
        assert len(ground.runs(job)) == 1
        end(ground.world, run, RunState.DEAD)
        await asyncio.sleep(11)
    assert len(ground.runs(job)) == 2


@pytest.mark.parametrize("state", sorted(FINAL - {RunState.SKIPPED}))
def test_whatever_ends_a_run_the_chain_goes_on(state: RunState) -> None:
    @in_virtual_time
    async def play() -> None:
        ground = Ground()
        let_runs_last(ground, 2, state)
        job = ground.job(every="10s", after="end")
        async with ground.running():
            await asyncio.sleep(60)
        insist_on_the_chain(ground, job, 10)
        assert len(ground.runs(job)) == 5

    play()


@in_virtual_time
async def test_a_due_time_that_was_missed_and_skipped_is_followed_too() -> None:
    ground = Ground()
    let_runs_last(ground, 2)
    job = ground.job(every="10s", after="end", misfire=Misfire(policy="skip"))
    await asyncio.sleep(600.5)
    async with ground.running():
        await asyncio.sleep(30)
    [missed, *rest] = ground.runs(job)
    assert (seconds(missed.due_at), missed.reason) == (10.0, "misfire: skip")
    assert [seconds(run.due_at) for run in rest] == [611.0, 623.0]


@in_virtual_time
async def test_a_job_has_so_many_runs_and_no_more() -> None:
    ground = Ground()
    let_runs_last(ground, 1)
    job = ground.job(every="10s", after="end", max_runs=3)
    async with ground.running():
        await asyncio.sleep(120)
    assert len(ground.runs(job)) == 3
    assert (job.next_due_at, job.follows) == (None, None)


@in_virtual_time
async def test_a_scheduler_that_dies_after_the_claim_leaves_the_chain_to_the_next() -> None:
    for died_s in (10.2, 13.2, 17.2):  # before the next due time was written, and after it
        ground = Ground()
        let_runs_last(ground, 5)
        job = ground.job(every="10s", after="end")
        crashed = asyncio.create_task(ground.scheduler().run())
        await asyncio.sleep(died_s)
        crashed.cancel()
        await asyncio.wait([crashed])
        async with ground.running():
            await asyncio.sleep(60)
        assert len(ground.runs(job)) >= 4
        insist_on_the_chain(ground, job, 10, lag_s=12)


@in_virtual_time
async def test_a_lost_follow_up_is_made_again_and_a_lost_answer_delays_nothing() -> None:
    for done in (False, True):
        ground = Ground()
        agenda = Troubled(ground.world)
        agenda.done = done
        let_runs_last(ground, 2)
        job = ground.job(every="10s", after="end")
        async with ground.running(agenda=agenda):
            for _ in range(6):
                agenda.losing = 3
                await asyncio.sleep(13)
        insist_on_the_chain(ground, job, 10)
        assert len(ground.runs(job)) == 6


@in_virtual_time
async def test_what_somebody_else_has_followed_is_claimed_here_on_time() -> None:
    ground = Ground()
    agenda = Troubled(ground.world)
    agenda.others = True
    let_runs_last(ground, 2)
    job = ground.job(every="5s", after="end")
    async with ground.running(agenda=agenda):
        await asyncio.sleep(60)
    insist_on_the_chain(ground, job, 5)


@in_virtual_time
async def test_a_next_due_time_that_is_written_late_undoes_no_follow_up() -> None:
    ground = Ground()
    agenda = Troubled(ground.world)
    agenda.advance_s = 7.0
    let_runs_last(ground, 0.5)
    job = ground.job(every="30s", after="end")
    async with ground.running(agenda=agenda):
        await asyncio.sleep(50)
        assert job.next_due_at == job.follows == after(61)
        await asyncio.sleep(70)
    insist_on_the_chain(ground, job, 30)


@in_virtual_time
async def test_a_job_that_cannot_be_computed_is_quarantined_and_the_others_go_on() -> None:
    ground = Ground()
    let_runs_last(ground, 5)
    good, bad = (ground.job(every="10s", after="end") for _ in range(2))
    async with ground.running():
        await asyncio.sleep(12)
        schedule = Schedule(every="10s", after="end", timezone="Mars/Olympus")
        bad.spec = msgspec.structs.replace(bad.spec, schedule=schedule)
        await asyncio.sleep(48)
    assert (bad.state, len(ground.runs(bad))) == (JobState.QUARANTINED, 1)
    assert "Mars/Olympus" in bad.reason
    assert len(ground.runs(good)) == 4


@in_virtual_time
async def test_more_ends_than_one_page_holds_are_followed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(following, "PAGE", 3)
    ground = Ground()
    let_runs_last(ground, 2)
    jobs = [ground.job(every="5s", after="end") for _ in range(20)]
    async with ground.running():
        await asyncio.sleep(60)
    for job in jobs:
        insist_on_the_chain(ground, job, 5)


@in_virtual_time
async def test_the_watermark_waits_for_ends_that_are_not_followed() -> None:
    ground = Ground()
    agenda = Troubled(ground.world)
    let_runs_last(ground, 2)
    ground.job(every="20s", after="end")
    async with ground.running(agenda=agenda):
        await asyncio.sleep(21.5)
        agenda.losing = 1_000
        await asyncio.sleep(60)
        marks = {row.watermark for row in ground.world.partitions.values()}
        assert all(mark is not None and START < mark < after(42) for mark in marks)


@in_virtual_time
async def test_a_pause_ends_the_chain_and_it_begins_again_when_the_job_goes_on() -> None:
    ground = Ground()
    let_runs_last(ground, 40)
    job = ground.job(every="10s", after="end")
    async with ground.running():
        await asyncio.sleep(15)
        await ground.owners.pause(TEAM, job.spec.name)
        await asyncio.sleep(15)
        await ground.owners.resume(TEAM, job.spec.name)  # its run goes on all the while
        assert (job.next_due_at, job.follows) == (None, after(10))
        await asyncio.sleep(35)
        assert ground.dues(job) == [60.0]
        await asyncio.sleep(40)
        await ground.owners.pause(TEAM, job.spec.name)
        await asyncio.sleep(15)
        await ground.owners.resume(TEAM, job.spec.name)
        assert job.next_due_at == after(130)
        await asyncio.sleep(15)
    assert [seconds(run.due_at) for run in ground.runs(job)] == [10.0, 60.0, 130.0]


@in_virtual_time
async def test_a_new_delay_holds_from_the_end_of_the_run_that_goes_on() -> None:
    ground = Ground()
    let_runs_last(ground, 20)
    job = ground.job(every="10s", after="end")
    async with ground.running():
        await asyncio.sleep(15)
        spec = msgspec.structs.replace(job.spec, schedule=Schedule(every="1m", after="end"))
        await ground.owners.put(TEAM, spec)
        await asyncio.sleep(80)
    assert [seconds(run.due_at) for run in ground.runs(job)] == [10.0, 90.0]
