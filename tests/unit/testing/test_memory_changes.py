"""A change in memory holds others up, and is undone, as one in PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

import pytest

from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import HttpTarget, Target
from matins.domain.ports.jobs import JobTransaction
from matins.domain.runs.claims import Advance, Claim
from matins.domain.runs.ledger import catch_up
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import BlockedError, UnavailableError
from matins.testing.memory.agenda import MemoryAgenda
from matins.testing.memory.changes import IDLE_S, LOCK_S, MemoryJobChanges
from matins.testing.memory.leases import MemoryLeases
from matins.testing.memory.rewinding import copy_rows, go_back
from matins.testing.memory.world import World
from matins.testing.virtual import START, VirtualTime, in_virtual_time

HOLDER, JOB = UUID(int=1), UUID(int=2, version=4)
DUE = START + timedelta(seconds=10)
SPEC = JobSpec("job", Target(http=HttpTarget("http://localhost/")), Schedule(every="10s"))


class House:
    """A world with a job that is due, whose scheduler holds all partitions."""

    def __init__(self) -> None:
        self.world = World(VirtualTime().now)
        self.world.add_job(JOB, SPEC)
        self.changes = MemoryJobChanges(self.world)
        self.agenda = MemoryAgenda(self.world)
        self.locked = asyncio.Event()
        self.epochs: dict[int, int] = {}

    async def change(self, lasts_s: float, *, records: bool = False) -> None:
        """Change the job so long, and perhaps record its first due time."""

        async def step(tx: JobTransaction) -> None:
            job = await tx.lock_job("default", "job")
            assert job is not None
            if records:
                await tx.record(job, claims_of(job, 1), DUE)
            self.locked.set()
            await asyncio.sleep(lasts_s)
            await tx.now()

        await self.changes.transact(step)

    async def meanwhile(self, do: Callable[[], Awaitable[object]], **change: bool) -> None:
        """Do something in the middle of a change that lasts for two seconds."""
        self.epochs = await MemoryLeases(self.world).acquire(HOLDER, 256, 3600)
        await asyncio.sleep(30)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.change(2, **change))
            await self.locked.wait()
            await do()

    def claim(self, count: int) -> Awaitable[object]:
        """Claim the first due times of the job."""
        row = self.world.jobs[JOB]
        job = LockedJob(
            *(JOB, "default", 1, row.partition, row.revision, row.state, SPEC, row.timing, ()),
            *(row.created_at, row.changed_at),
        )
        return self.agenda.claim(HOLDER, self.epochs, claims_of(job, count))


def claims_of(job: LockedJob, count: int) -> list[Claim]:
    """Return claims of the first due times of a job."""
    timetable = job.timetable()
    assert timetable is not None
    return catch_up(job, timetable, [DUE + timedelta(seconds=10 * n) for n in range(count)])


@in_virtual_time
async def test_a_claim_waits_for_a_change_that_has_recorded_the_same_but_not_for_long() -> None:
    house = House()

    async def do() -> None:
        with pytest.raises(BlockedError):
            await house.claim(1)

    await house.meanwhile(do, records=True)
    assert len(house.world.runs) == 1


@in_virtual_time
async def test_a_claim_of_another_due_time_passes_a_change_by() -> None:
    house = House()

    async def do() -> None:
        await house.claim(1)
        assert len(house.world.runs) == 1

    await house.meanwhile(do)


@in_virtual_time
async def test_claims_that_catch_up_pass_over_a_job_that_is_being_changed() -> None:
    house = House()

    async def do() -> None:
        await house.claim(2)
        assert not house.world.runs

    await house.meanwhile(do)


@in_virtual_time
async def test_a_next_due_time_is_not_written_in_the_middle_of_a_change() -> None:
    house = House()

    async def do() -> None:
        with pytest.raises(BlockedError):
            await house.agenda.advance(HOLDER, [Advance(JOB, 1, None, None, DUE)])

    await house.meanwhile(do)
    assert house.world.jobs[JOB].next_due_at == DUE


@in_virtual_time
async def test_another_change_waits_and_then_gives_up() -> None:
    house = House()
    first = asyncio.create_task(house.change(LOCK_S + 1))
    await house.locked.wait()
    with pytest.raises(BlockedError):
        await house.change(0)
    await first


@in_virtual_time
async def test_a_change_that_stands_still_is_undone_and_frees_what_it_has_locked() -> None:
    house = House()
    first = asyncio.create_task(house.change(3600, records=True))
    await house.locked.wait()
    await asyncio.sleep(LOCK_S + IDLE_S + 1)
    await house.change(0)
    with pytest.raises(UnavailableError):
        await first
    assert not house.world.runs


@in_virtual_time
async def test_a_change_ends_with_its_database() -> None:
    house = House()
    rows = copy_rows(house.world)
    first = asyncio.create_task(house.change(1, records=True))
    await house.locked.wait()
    go_back(house.world, rows)
    with pytest.raises(UnavailableError):
        await first
    assert not house.world.runs
