"""What a scheduler has read, and up to when it says that all is accounted for."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from tests.unit.scheduler.ground import Ground, after, seconds

from matins.domain.runs.admission.waiting import RETRY
from matins.domain.runs.claims import AwaitedEnd, DueJob, Mark
from matins.domain.runs.cluster import Figures
from matins.domain.values.errors import UnavailableError
from matins.scheduler import coverage
from matins.scheduler.leases import LeaseHolder
from matins.scheduler.loading import OVERLAP, Loader
from matins.scheduler.planning import slot_of
from matins.scheduler.working_set import WorkingSet
from matins.testing.memory.agenda import MemoryAgenda
from matins.testing.memory.rows import WaitingRow
from matins.testing.memory.waiting import MemoryWaitingRoom
from matins.testing.memory.world import JobRow, World
from matins.testing.virtual import in_virtual_time

OVERLAP_S = OVERLAP.total_seconds()


class Slow(MemoryAgenda):
    """An agenda whose answers are as old as they took to come."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.load_s = 0.0
        self.changed_s = 0.0
        self.no_ends = False
        self.no_load = False
        self.quarantined = 0

    async def load(self, after: Mapping[int, Mark], until: datetime, share: int) -> list[DueJob]:
        """See `domain.ports.Agenda`."""
        if self.no_load:
            raise UnavailableError("it is away")
        found = await super().load(after, until, share)
        await asyncio.sleep(self.load_s)
        return found

    async def changed_jobs(self, partitions: Collection[int], since: datetime) -> list[DueJob]:
        """See `domain.ports.Agenda`."""
        found = await super().changed_jobs(partitions, since)
        await asyncio.sleep(self.changed_s)
        return found

    async def ended_runs(self, partitions: Collection[int], limit: int) -> list[AwaitedEnd]:
        """See `domain.ports.Agenda`."""
        if self.no_ends:
            raise UnavailableError("it is away")
        return await super().ended_runs(partitions, limit)

    async def quarantine(self, job_id: UUID, revision: int, reason: str) -> None:
        """See `domain.ports.Agenda`."""
        self.quarantined += 1
        await super().quarantine(job_id, revision, reason)


class Scene:
    """A loader with all partitions, and nobody who claims."""

    def __init__(self, poll_s: float = 1.0) -> None:
        self.ground = Ground()
        self.agenda = Slow(self.ground.world)
        self.clock = self.ground.clock()
        self.working_set = WorkingSet()

        async def nothing(_: object) -> None:
            pass

        self.holder = LeaseHolder(
            self.ground.uuid(),
            self.ground.leases,
            self.clock,
            3600.0,
            hints=self.ground.hints,
            watermark=lambda: None,
            figures=Figures,
            before_release=nothing,
            renewed=lambda *_: None,
        )
        self.loader = Loader(
            self.working_set,
            self.holder,
            self.agenda,
            MemoryWaitingRoom(self.ground.world),
            self.ground.hints,
            self.clock,
            horizon_s=300.0,
            poll_s=poll_s,
        )

    async def read(self, second: float | None = None) -> None:
        """Read once, so many seconds after the scene began."""
        if second is not None:
            await self.until(second)
        if not self.holder.epochs():
            await self.holder.balance()
        await self.loader.read()

    async def until(self, second: float) -> None:
        """Sleep until so many seconds after the scene began."""
        await asyncio.sleep(second - self.clock.elapsed_s())

    def settled_s(self, oldest_s: int | None = None) -> float | None:
        """Return up to when all is accounted for, in seconds since the scene began."""
        recorded = self.loader.recorded_until(oldest_s)
        return None if recorded is None else seconds(recorded)

    def has(self, job: JobRow) -> bool:
        """Return whether a job is in memory."""
        return self.working_set.find(job.id) is not None

    def made_unseen(self, changed_s: float) -> JobRow:
        """Return a job whose change was made at an instant, and could not be seen before now."""
        job = self.ground.job()
        job.changed_at = after(changed_s)
        return job


@in_virtual_time
async def test_a_change_that_was_committed_a_moment_after_it_was_made_is_found() -> None:
    scene = Scene()
    await scene.read(20)
    job = scene.made_unseen(20 - OVERLAP_S + 1)
    await scene.read(21)
    assert scene.has(job)


@in_virtual_time
async def test_a_change_that_was_made_while_the_answer_was_on_its_way_is_found() -> None:
    scene = Scene()
    scene.agenda.changed_s = OVERLAP_S + 5
    reading = asyncio.create_task(scene.read(20))
    await scene.until(21)
    job = scene.ground.job()
    await reading
    await scene.read()
    assert scene.has(job)


@in_virtual_time
async def test_a_change_that_was_made_after_the_databases_clock_went_back_is_found() -> None:
    scene = Scene()
    await scene.read(20)
    scene.ground.time.jump(-300)
    await scene.clock.measure()
    job = scene.ground.job()
    await scene.read(21)
    assert scene.has(job)


@in_virtual_time
async def test_all_is_accounted_for_up_to_what_could_be_seen_for_sure() -> None:
    scene = Scene()
    await scene.read(20)
    await scene.until(25)
    assert scene.settled_s() == 20 - OVERLAP_S


@in_virtual_time
async def test_all_is_accounted_for_up_to_the_last_look_at_what_has_ended() -> None:
    scene = Scene()
    await scene.read(20)
    scene.agenda.no_ends = True
    with pytest.raises(UnavailableError):
        await scene.read(60)
    assert scene.settled_s() == 20 - OVERLAP_S


@in_virtual_time
async def test_all_is_accounted_for_up_to_before_the_oldest_that_has_no_row() -> None:
    scene = Scene()
    await scene.read(20)
    oldest_s = slot_of(after(5))
    assert scene.settled_s(oldest_s) == 4.0


@in_virtual_time
async def test_nothing_beyond_the_horizon_is_accounted_for() -> None:
    scene = Scene()
    await scene.read(20)
    scene.working_set.extend_horizon(slot_of(after(3)))
    assert scene.settled_s() == 3.0


@in_virtual_time
async def test_nothing_is_said_while_a_job_is_stale_or_about_to_be_quarantined() -> None:
    scene = Scene()
    job = scene.ground.job()
    await scene.read(20)
    entry = scene.working_set.find(job.id)
    assert entry is not None
    scene.working_set.mark_stale([job.id])
    assert scene.settled_s() is None
    scene.working_set.refresh([job.id], [])
    assert scene.settled_s() is not None
    scene.working_set.quarantine(entry.job, ValueError("why"))
    assert scene.settled_s() is None


@in_virtual_time
async def test_nothing_is_said_before_all_is_loaded_of_what_is_held() -> None:
    scene = Scene()
    assert scene.settled_s() is None
    await scene.read(20)
    scene.ground.world.partitions[7].holder = None
    scene.holder.drop({7})
    await scene.holder.balance()
    assert scene.settled_s() is None
    await scene.read(21)
    assert scene.settled_s() == 21 - OVERLAP_S


@in_virtual_time
async def test_nothing_is_said_while_the_next_horizon_could_not_be_loaded() -> None:
    scene = Scene()
    await scene.read(1)
    scene.agenda.no_load = True
    with pytest.raises(UnavailableError):
        await scene.read(200)
    assert scene.settled_s() is None


@in_virtual_time
async def test_a_partition_that_is_dropped_between_two_pages_is_loaded_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(coverage, "PAGE", 2)
    scene = Scene()
    first, job = scene.ground.job(), scene.ground.job(cron="2-59 * * * *")
    job.partition = first.partition
    scene.agenda.load_s = 5.0
    reading = asyncio.create_task(scene.read(20))
    await scene.until(27)
    scene.working_set.drop_partitions({job.partition})
    await reading
    assert not scene.has(job)
    assert scene.settled_s() is None
    await scene.read()
    assert scene.has(job)


@in_virtual_time
async def test_every_page_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "PAGE", 3)
    scene = Scene()
    jobs = {scene.ground.job().id for _ in range(10)}
    await scene.read(1)
    assert all(map(scene.working_set.find, jobs))


@in_virtual_time
async def test_a_stale_job_is_taken_in_as_it_stands_or_not_at_all() -> None:
    scene = Scene()
    changed, gone = scene.ground.job(), scene.ground.job()
    await scene.read(1)
    changed.next_due_at = changed.next_fire_at = after(120)
    gone.next_due_at = gone.next_fire_at = None
    for job in (changed, gone):
        job.changed_at = after(-3600)
    scene.working_set.mark_stale([changed.id, gone.id])
    await scene.read(2)
    entry = scene.working_set.find(changed.id)
    assert entry is not None
    assert entry.due_s == slot_of(after(120))
    assert not scene.has(gone)


@in_virtual_time
async def test_a_job_is_quarantined_once() -> None:
    scene = Scene()
    job = scene.ground.job()
    await scene.read(1)
    entry = scene.working_set.find(job.id)
    assert entry is not None
    scene.working_set.quarantine(entry.job, ValueError("why"))
    for second in (2, 3, 4):
        await scene.read(second)
    assert scene.agenda.quarantined == 1


@pytest.mark.parametrize("what", ["a hint", "a gained lease", "a stale job"])
@in_virtual_time
async def test_what_is_told_is_read_at_once(what: str) -> None:
    scene = Scene(poll_s=60.0)
    await scene.holder.balance()
    running = asyncio.create_task(scene.loader.run())
    await scene.until(5)
    job = scene.ground.job()
    match what:
        case "a hint":
            await scene.ground.hints.send("jobs", [str(job.id)])
        case "a gained lease":
            scene.ground.world.partitions[job.partition].holder = None
            scene.holder.drop({job.partition})
            await scene.holder.balance()
        case "a stale job":
            scene.working_set.mark_stale([job.id])
    await scene.until(5.5)
    assert scene.has(job)
    await scene.loader.stop()
    await running


@in_virtual_time
async def test_the_horizon_moves_on_when_half_of_it_is_over() -> None:
    scene = Scene()
    await scene.read(1)
    assert scene.working_set.horizon_s == slot_of(after(301))
    await scene.read(150)
    assert scene.working_set.horizon_s == slot_of(after(301))
    await scene.read(152)
    assert scene.working_set.horizon_s == slot_of(after(452))


@in_virtual_time
async def test_retries_are_in_memory_before_their_time_comes() -> None:
    scene = Scene()
    run, partition = scene.ground.uuid(), 9
    ready_at = after(20) + timedelta(seconds=2)
    scene.ground.world.waiting[partition, run] = WaitingRow(ready_at, 1, RETRY)
    await scene.read(20)
    assert run in scene.working_set.waiting


@in_virtual_time
async def test_what_is_no_longer_held_leaves_the_memory() -> None:
    scene = Scene()
    job = scene.ground.job()
    await scene.read(1)
    scene.holder.drop({job.partition})
    await scene.loader.read()
    assert not scene.has(job)
    assert job.partition not in scene.working_set.epochs
