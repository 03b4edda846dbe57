"""What somebody else holds locked waits; all the rest goes on at once."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

import msgspec
from tests.unit.scheduler.ground import Ground

from matins.domain.runs.admission.waiting import RETRY, CarriedOut, Decision
from matins.domain.runs.claims import Advance, Claim, Claimed
from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import BlockedError
from matins.domain.values.ids import partition_of
from matins.scheduler.pieces import cut, piecewise
from matins.testing.memory.agenda import MemoryAgenda
from matins.testing.memory.waiting import MemoryWaitingRoom
from matins.testing.memory.world import JobRow, World
from matins.testing.virtual import in_virtual_time

LOCK_S = 0.25


class Locked(MemoryAgenda):
    """An agenda in which somebody holds jobs and partitions locked."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.jobs: set[UUID] = set()
        self.partitions: set[int] = set()
        self.statements = 0

    async def claim(
        self, holder: UUID, epochs: Mapping[int, int], claims: Sequence[Claim]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        await self.wait(
            bool(self.jobs & {claim.job_id for claim in claims})
            or bool(self.partitions & {claim.partition for claim in claims})
        )
        return await super().claim(holder, epochs, claims)

    async def locked_partitions(self, partitions: Collection[int]) -> set[int]:
        """See `domain.ports.Agenda`."""
        return self.partitions & set(partitions)

    async def advance(self, holder: UUID, advances: Sequence[Advance]) -> None:
        """See `domain.ports.Agenda`."""
        await self.wait(bool(self.jobs & {advance.job_id for advance in advances}))
        await super().advance(holder, advances)

    async def quarantine(self, job_id: UUID, revision: int, reason: str) -> None:
        """See `domain.ports.Agenda`."""
        await self.wait(job_id in self.jobs)
        await super().quarantine(job_id, revision, reason)

    async def wait(self, blocked: bool) -> None:
        """Wait in vain, if it is blocked."""
        self.statements += 1
        if blocked:
            await asyncio.sleep(LOCK_S)
            raise BlockedError("canceling statement due to lock timeout")


class LockedRoom(MemoryWaitingRoom):
    """A waiting room of which the same jobs and partitions are locked."""

    def __init__(self, world: World, locked: Locked) -> None:
        super().__init__(world)
        self._locked = locked

    async def carry_out(
        self, holder: UUID, epochs: Mapping[int, int], decisions: Sequence[Decision]
    ) -> CarriedOut:
        """See `domain.ports.WaitingRoom`."""
        runs = [self._world.runs_by_id[decision.waiting.run_id] for decision in decisions]
        jobs, partitions = self._locked.jobs, self._locked.partitions
        await self._locked.wait(
            any(run.job_id in jobs or run.partition in partitions for run in runs)
        )
        return await super().carry_out(holder, epochs, decisions)


def worst_lag_s(ground: Ground, jobs: Sequence[JobRow]) -> float:
    """Return how late the latest claim of these jobs was."""
    return max(
        (run.claimed_at - run.due_at).total_seconds() for job in jobs for run in ground.runs(job)
    )


@in_virtual_time
async def test_a_job_that_is_being_changed_holds_up_no_other() -> None:
    ground = Ground()
    agenda = Locked(ground.world)
    others = [ground.job(every="1s") for _ in range(300)]
    changed = ground.job(every="1s")
    async with ground.running(agenda=agenda):
        await asyncio.sleep(5.5)
        agenda.jobs = {changed.id}
        await asyncio.sleep(10)
        assert worst_lag_s(ground, others) < 4 * LOCK_S
        assert {ground.dues(job)[-1] for job in others} == {15}
        assert ground.dues(changed)[-1] == 5
        agenda.jobs = set()
        await asyncio.sleep(1)
        assert ground.dues(changed) == ground.dues(others[0])


@in_virtual_time
async def test_a_locked_partition_costs_the_others_one_wait() -> None:
    ground = Ground()
    agenda = Locked(ground.world)
    jobs = [ground.job(every="1s") for _ in range(300)]
    locked = jobs[0].partition
    others = [job for job in jobs if job.partition != locked]
    for second in range(60):  # one more of the locked partition in each second
        name = next(job_id for job_id in iter(ground.uuid, None) if partition_of(job_id) == locked)
        schedule = Schedule(cron=f"{second} * * * * *")
        ground.world.add_job(name, msgspec.structs.replace(jobs[0].spec, schedule=schedule))
    async with ground.running(agenda=agenda) as scheduler:
        await asyncio.sleep(5.5)
        agenda.partitions = {locked}
        await asyncio.sleep(20)
        assert len(scheduler.epochs()) == 256
        waited = [
            run
            for job in others
            for run in ground.runs(job)
            if (run.claimed_at - run.due_at).total_seconds() > LOCK_S / 2
        ]
        assert len({run.due_at for run in waited}) <= 20 / 5
        assert worst_lag_s(ground, others) < 2 * LOCK_S
        agenda.partitions = set()
        await asyncio.sleep(6)
    assert ground.dues(jobs[0]) == ground.dues(others[0])


@in_virtual_time
async def test_the_watermark_stays_behind_what_is_blocked() -> None:
    ground = Ground()
    agenda = Locked(ground.world)
    changed = ground.job(every="1s")
    async with ground.running(agenda=agenda):
        await asyncio.sleep(5.5)
        agenda.jobs = {changed.id}
        await asyncio.sleep(30)
        oldest = max(run.due_at for run in ground.runs(changed))
        marks = [row.watermark for row in ground.world.partitions.values()]
        assert all(mark is None or mark <= oldest for mark in marks)


@in_virtual_time
async def test_a_blocked_job_has_others_write_their_next_due_times() -> None:
    ground = Ground()
    agenda = Locked(ground.world)
    jobs = [ground.job() for _ in range(20)]
    async with ground.running(agenda=agenda):
        await asyncio.sleep(60.9)
        agenda.jobs = {jobs[0].id}
        await asyncio.sleep(10)
        assert len({job.next_due_at for job in jobs[1:]}) == 1
        assert jobs[0].next_due_at != jobs[1].next_due_at
        agenda.jobs = set()
        await asyncio.sleep(10)
    assert jobs[0].next_due_at == jobs[1].next_due_at


@in_virtual_time
async def test_a_blocked_retry_holds_up_no_other_and_comes_later() -> None:
    ground = Ground()
    agenda = Locked(ground.world)
    jobs = [ground.job() for _ in range(20)]
    room = LockedRoom(ground.world, agenda)
    async with ground.running(agenda=agenda, room=room):
        await asyncio.sleep(61)
        runs = [run for job in jobs for run in ground.runs(job)]
        for run in runs:
            run.retry_at = ground.time.now()
            ground.world.wait(run, run.retry_at, RETRY)
            ground.world.move(run, RunState.RUNNING)
            ground.world.move(run, RunState.RETRYING)
        agenda.jobs, agenda.partitions = {jobs[0].id}, {jobs[1].partition}
        await asyncio.sleep(10)
        blocked = [run for run in runs if run.state is RunState.RETRYING]
        assert runs[0] in blocked
        assert {job.partition for job in blocked[1:]} == {jobs[1].partition}
        agenda.jobs, agenda.partitions = set(), set()
        await asyncio.sleep(10)
        assert {run.state for run in runs} == {RunState.QUEUED}


@in_virtual_time
async def test_work_is_cut_until_only_what_is_blocked_is_left() -> None:
    done: list[int] = []

    async def work(part: Sequence[int]) -> None:
        if {7, 501} & set(part):
            raise BlockedError("locked")
        done.extend(part)

    assert sorted(await piecewise(range(1000), work)) == [7, 501]
    assert sorted(done) == sorted({*range(1000)} - {7, 501})


def test_pieces_make_up_the_whole() -> None:
    for length in (1, 2, 15, 16, 17, 1000):
        pieces = cut(range(length))
        assert [number for piece in pieces for number in piece] == list(range(length))
        assert len(pieces) <= 16
