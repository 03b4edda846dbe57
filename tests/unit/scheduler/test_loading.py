"""How jobs and retries come into memory, however many there are."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from tests.unit.scheduler.ground import Ground, after

from matins.domain.runs.admission.waiting import RETRY, CarriedOut, Decision
from matins.domain.runs.claims import BEGINNING, DueJob, Mark
from matins.domain.runs.states import Kind, RunState
from matins.domain.values.errors import BlockedError
from matins.domain.values.ids import partition_of, run_id
from matins.kernel.settings import Settings
from matins.scheduler.coverage import PAGE
from matins.testing.memory.agenda import MemoryAgenda
from matins.testing.memory.rows import RunRow
from matins.testing.memory.waiting import MemoryWaitingRoom
from matins.testing.memory.world import JobRow, World
from matins.testing.virtual import in_virtual_time

PAGE_S = 10.0
"""How long a page of a slow agenda takes."""

AGAIN_S = 6
"""When runs are tried again, in seconds after the start."""

UNHURRIED = Settings(poll_s=30.0, lease_term_s=60.0, heartbeat_s=15.0, flush_s=30.0)


class SlowAgenda(MemoryAgenda):
    """An agenda of which each page takes long; notes where each began."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.begun: list[Mapping[int, Mark]] = []

    async def load(self, after: Mapping[int, Mark], until: datetime, share: int) -> list[DueJob]:
        """See `domain.ports.Agenda`."""
        self.begun.append(dict(after))
        await asyncio.sleep(PAGE_S)
        return await super().load(after, until, share)


@in_virtual_time
async def test_what_fires_soonest_is_loaded_first_and_fires_while_the_rest_is_loaded() -> None:
    ground = Ground()
    jobs = [ground.job(at=after(12 + at % 60).isoformat()) for at in range(2 * PAGE)]
    agenda = SlowAgenda(ground.world)
    async with ground.running(agenda=agenda):
        await asyncio.sleep(73)
    assert len(agenda.begun) > 2
    assert len(ground.world.runs) == len(jobs)
    late = [run.claimed_at - run.fire_at for run in ground.world.runs.values()]
    assert max(late) < timedelta(seconds=1)


@in_virtual_time
async def test_a_horizon_that_moves_on_is_not_loaded_from_the_beginning() -> None:
    ground = Ground()
    ground.settings = UNHURRIED
    agenda = SlowAgenda(ground.world)
    async with ground.running(agenda=agenda):
        await asyncio.sleep(600)
    whole = [begun for begun in agenda.begun if BEGINNING in begun.values()]
    assert len(whole) == 2
    assert len(agenda.begun) > 5


@in_virtual_time
async def test_a_due_time_that_came_by_no_change_is_found_by_a_sweep() -> None:
    ground = Ground()
    ground.settings = UNHURRIED
    job = ground.job(cron="0 0 1 1 *")
    async with ground.running():
        await asyncio.sleep(300)
        job.next_due_at = job.next_fire_at = after(100)
        await asyncio.sleep(1300)
    assert ground.dues(job) == [100.0]


@in_virtual_time
async def test_very_many_retries_that_are_due_at_once_are_queued_at_once() -> None:
    ground = Ground()
    jobs = [ground.job(cron="0 0 1 1 *") for _ in range(9)]
    for at in range(3 * PAGE):
        retrying(ground, jobs[max(0, at % 16 - 7)], at)
    async with ground.running():
        await asyncio.sleep(AGAIN_S - 0.1)
        assert not ground.world.queues
        await asyncio.sleep(1)
        assert len(ground.world.queues["default"]) == 3 * PAGE


class Locked(MemoryWaitingRoom):
    """A waiting room in which somebody has locked all runs."""

    until = after(300)

    async def carry_out(
        self, holder: UUID, epochs: Mapping[int, int], decisions: Sequence[Decision]
    ) -> CarriedOut:
        """See `domain.ports.WaitingRoom`."""
        if self._world.now() < self.until:
            raise BlockedError("it is locked")
        return await super().carry_out(holder, epochs, decisions)


@in_virtual_time
async def test_a_retry_that_was_locked_for_long_is_queued_once_it_is_free() -> None:
    ground = Ground()
    ground.settings = UNHURRIED
    retrying(ground, ground.job(cron="0 0 1 1 *"), 0)
    async with ground.running(room=Locked(ground.world)):
        await asyncio.sleep(299)
        assert not ground.world.queues
        await asyncio.sleep(1 + UNHURRIED.poll_s)
        assert len(ground.world.queues["default"]) == 1


def retrying(ground: Ground, job: JobRow, number: int) -> None:
    """A run of a job that waits for its next attempt."""
    due = after(-1 - number)
    run = RunRow(
        id=run_id(job.id, due, Kind.SCHEDULED),
        job_id=job.id,
        due_at=due,
        fire_at=due,
        claimed_at=due,
        epoch=1,
        partition=partition_of(job.id),
        pool="default",
        priority=1,
        kind=Kind.SCHEDULED,
        state=RunState.RETRYING,
        retry_at=after(AGAIN_S),
    )
    ground.world.insert(run)
    ground.world.wait(run, after(AGAIN_S), RETRY)
