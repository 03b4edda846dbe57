"""What schedulers do when the database goes back in time: forget, read anew, claim again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise
from random import Random
from uuid import UUID

import pytest
from tests.unit.scheduler.ground import Ground, seconds

from matins.domain.jobs.misfire import Misfire
from matins.domain.runs.restores import UNCERTAIN, Resumption
from matins.kernel.lease_file import LeaseFile
from matins.owners.restores import Restores
from matins.scheduler.role import Era, SchedulerRole
from matins.scheduler.scheduler import Scheduler
from matins.testing.memory.agenda import MemoryAgenda
from matins.testing.memory.backfills import MemoryBackfills
from matins.testing.memory.dead import MemoryReplays
from matins.testing.memory.leases import MemoryLeases
from matins.testing.memory.pools import MemoryQueues
from matins.testing.memory.restores import MemoryRestores
from matins.testing.memory.rewinding import copy_rows, era_over, go_back, pinned
from matins.testing.memory.waiting import MemoryWaitingRoom
from matins.testing.memory.world import JobRow
from matins.testing.virtual import in_virtual_time


@asynccontextmanager
async def running(ground: Ground, predecessor: UUID | None = None) -> AsyncIterator[SchedulerRole]:
    """A scheduler's role on ports of the present era, stopped in good order at the end."""
    world = ground.world

    def begin() -> Era:
        scheduler = Scheduler(
            ground.uuid(),
            leases=pinned(MemoryLeases(world), world),
            agenda=pinned(MemoryAgenda(world), world),
            room=pinned(MemoryWaitingRoom(world), world),
            queues=pinned(MemoryQueues(world), world),
            watch=pinned(ground.watch, world),
            backfills=pinned(MemoryBackfills(world), world),
            replays=pinned(MemoryReplays(world), world),
            restores=pinned(MemoryRestores(world), world),
            notes=ground.notes,
            hints=ground.hints,
            clock=ground.clock(),
            rng=Random(2),
            settings=ground.settings,
        )
        return Era(scheduler, partial(era_over, world, world.era))

    role = SchedulerRole(begin, predecessor)
    task = asyncio.create_task(role.run())
    try:
        yield role
    finally:
        await role.stop()
        await task


@in_virtual_time
async def test_due_times_whose_rows_were_lost_are_claimed_again_under_the_same_ids() -> None:
    ground = Ground()
    job = ground.job(every="1s")
    async with running(ground):
        await asyncio.sleep(5.5)
        rows = copy_rows(ground.world)
        await asyncio.sleep(5)
        lost = [run.id for run in ground.runs(job)]
        go_back(ground.world, rows)
        assert len(ground.runs(job)) == 5
        await asyncio.sleep(2)
    assert [run.id for run in ground.runs(job)][: len(lost)] == lost
    assert ground.dues(job) == [float(second) for second in range(1, 13)]


@in_virtual_time
async def test_a_due_time_that_was_written_as_past_before_its_row_was_lost_is_claimed() -> None:
    ground = Ground()
    job = ground.job(cron="*/10 * * * *")
    async with running(ground):
        await asyncio.sleep(599)
        rows = copy_rows(ground.world)
        await asyncio.sleep(60)
        assert job.next_due_at is not None
        assert seconds(job.next_due_at) == 1200
        go_back(ground.world, rows)
        await asyncio.sleep(5)
        assert ground.dues(job) == [600.0]


@in_virtual_time
async def test_nobody_waits_for_leases_of_the_time_before() -> None:
    ground = Ground()
    job = ground.job(every="1s")
    async with running(ground), running(ground):
        await asyncio.sleep(20.5)
        go_back(ground.world, copy_rows(ground.world))
        await asyncio.sleep(3)
        claimed = [seconds(run.claimed_at) for run in ground.runs(job)]
        assert max(claimed) == 23
        assert all(b - a < 2 for a, b in pairwise(claimed))


@in_virtual_time
async def test_whoever_follows_an_ended_process_claims_at_once() -> None:
    ground = Ground()
    job = ground.job(every="1s")
    ended = ground.uuid()
    await ground.leases.acquire(ended, 256, 600)
    async with running(ground, ended):
        await asyncio.sleep(1.5)
        assert ground.dues(job) == [1.0]


@in_virtual_time
async def test_what_was_moved_in_memory_is_not_written_into_the_past() -> None:
    """The next due time is still to be written when the database goes back behind its claim."""
    ground = Ground()
    job = ground.job(cron="* * * * *")
    async with running(ground):
        await asyncio.sleep(59)
        rows = copy_rows(ground.world)
        await asyncio.sleep(1.5)
        assert ground.dues(job) == [60.0]
        go_back(ground.world, rows)
        await asyncio.sleep(10)
    assert ground.dues(job) == [60.0]


@in_virtual_time
async def test_a_role_that_is_stopped_ends_in_good_order() -> None:
    ground = Ground()
    ground.job(every="1s")
    async with running(ground):
        await asyncio.sleep(5)
        go_back(ground.world, copy_rows(ground.world))
        await asyncio.sleep(5)
    assert not ground.world.leases


async def lose_minutes(ground: Ground, job: JobRow, minutes: int) -> None:
    """Go back by so many minutes once a scheduler has claimed them."""
    await asyncio.sleep(65)
    rows = copy_rows(ground.world)
    await asyncio.sleep(60 * minutes)
    assert len(ground.runs(job)) == 1 + minutes
    go_back(ground.world, rows)
    await asyncio.sleep(5)


@in_virtual_time
async def test_a_database_that_was_restored_catches_up_on_nothing_until_somebody_says_so() -> None:
    ground = Ground()
    job = ground.job(cron="* * * * *", misfire=Misfire("all"))
    other = ground.job(cron="* * * * *")
    restores = Restores(MemoryRestores(ground.world), ground.hints)
    async with running(ground):
        await lose_minutes(ground, job, 12)
        held = ground.runs(job)[1:-1]
        assert {run.reason for run in held} == {UNCERTAIN}
        assert len(held) == 11
        assert [run.state for run in ground.runs(other)[1:]] == ["skipped", "queued"]
        await asyncio.sleep(120)
        assert [run.state for run in ground.runs(job)[-3:]] == ["queued"] * 3
        assert {run.state for run in held} == {"skipped"}
        done = await restores.resume(Resumption("all"))
        assert (done.uncertain, done.jobs, done.to_run) == (11, 1, 11)
        await asyncio.sleep(5)
        assert {run.state for run in ground.runs(job)} == {"queued"}


@in_virtual_time
@pytest.mark.parametrize(("keeps_notes", "held"), [(True, 0), (False, 26)])
async def test_without_notes_a_database_far_behind_the_clock_may_be_an_old_copy(
    keeps_notes: bool, held: int
) -> None:
    ground = Ground()
    job = ground.job(cron="0 * * * *", misfire=Misfire("all"))
    async with running(ground):
        await asyncio.sleep(30)
    await asyncio.sleep(26 * 3600 + 600)
    if not keeps_notes:
        ground.notes = LeaseFile(None)
    async with running(ground):
        await asyncio.sleep(30)
        found = [run for run in ground.runs(job) if run.reason == UNCERTAIN]
        assert len(found) == held
        assert len(ground.runs(job)) == 26


@in_virtual_time
async def test_a_fail_over_that_loses_seconds_is_no_restore() -> None:
    ground = Ground()
    job = ground.job(cron="* * * * *", misfire=Misfire("all"))
    async with running(ground):
        await lose_minutes(ground, job, 1)
    assert not ground.world.restores
    assert {run.state for run in ground.runs(job)} == {"queued"}


@in_virtual_time
async def test_downtime_is_no_restore() -> None:
    ground = Ground()
    job = ground.job(cron="* * * * *", misfire=Misfire("all"))
    async with running(ground):
        await asyncio.sleep(125)
    await asyncio.sleep(86_400 / 24)
    async with running(ground):
        await asyncio.sleep(10)
    assert not ground.world.restores
    assert {run.state for run in ground.runs(job)} == {"queued"}
