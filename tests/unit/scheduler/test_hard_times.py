"""Much at once: changes around due times, a backlog, and a database that is slow."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

import msgspec
from tests.unit.scheduler.ground import TEAM, Ground

from matins.domain.jobs.misfire import Misfire
from matins.domain.runs.claims import Claim, Claimed
from matins.domain.runs.cluster import NO_FIGURES, Figures
from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import NotFoundError
from matins.domain.values.ids import PARTITIONS
from matins.kernel.settings import Settings
from matins.testing.checks import Checker
from matins.testing.memory.agenda import MemoryAgenda
from matins.testing.memory.leases import MemoryLeases
from matins.testing.memory.world import JobRow, World
from matins.testing.virtual import in_virtual_time

ROUND_TRIP_S = 0.2
SECOND = timedelta(seconds=1)


class SlowAgenda(MemoryAgenda):
    """An agenda whose claims take their time: for the way, and for each row."""

    def __init__(self, world: World, row_s: float) -> None:
        super().__init__(world)
        self.row_s = row_s
        self.sizes: list[int] = []

    async def claim(
        self, holder: UUID, epochs: Mapping[int, int], claims: Sequence[Claim]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        self.sizes.append(len(claims))
        await asyncio.sleep(ROUND_TRIP_S + len(claims) * self.row_s)
        return await super().claim(holder, epochs, claims)


class SlowLeases(MemoryLeases):
    """Leases whose answers take their time."""

    async def renew(
        self,
        holder: UUID,
        epochs: Mapping[int, int],
        watermark: datetime | None,
        ttl_s: float,
        figures: Figures = NO_FIGURES,
    ) -> set[int]:
        """See `domain.ports.Leases`."""
        kept = await super().renew(holder, epochs, watermark, ttl_s, figures)
        await asyncio.sleep(ROUND_TRIP_S)
        return kept


@in_virtual_time
async def test_many_at_once_and_a_slow_database_cost_no_lease() -> None:
    """CL-20: claims come in bounded batches, and no renewal waits behind them."""
    ground = Ground()
    ground.settings = Settings(lease_term_s=3.0, claim_batch=150)
    ground.leases = SlowLeases(ground.world)
    agenda = SlowAgenda(ground.world, 1 / 300)
    for _ in range(1500):
        ground.job()
    ground.time.jump(50)
    async with ground.running(agenda=agenda) as scheduler:
        await asyncio.sleep(7)
        assert len(scheduler.epochs()) == PARTITIONS
        await asyncio.sleep(13)
        assert set(scheduler.epochs().values()) == {1}
    assert len(ground.world.runs) == 1500
    assert {run.epoch for run in ground.world.runs.values()} == {1}
    assert max(agenda.sizes) <= 150


@in_virtual_time
async def test_a_backlog_of_one_team_holds_up_nothing_that_others_are_due() -> None:
    """CL-10: an hour without schedulers is caught up with beside what is due now, and behind it."""
    ground = Ground()
    misfire = Misfire(policy="all", max_count=1000)
    backlog = [ground.job(misfire=misfire) for _ in range(100)]
    agenda = SlowAgenda(ground.world, 1 / 2000)
    await asyncio.sleep(3600)
    control = ground.job(every="1s")
    control.team_id = 2
    async with ground.running(agenda=agenda):
        await asyncio.sleep(30)
    assert all(len(ground.runs(job)) == 60 for job in backlog)
    on_time = ground.runs(control)
    assert len(on_time) >= 29
    queue = [run_id for _, run_id in sorted(ground.world.queues["default"])]
    places = {run_id: place for place, run_id in enumerate(queue)}
    assert max(places[run.id] for run in on_time[:20]) < len(queue) / 4
    assert max((run.claimed_at - run.due_at).total_seconds() for run in on_time) < 3


@in_virtual_time
async def test_changes_around_due_times_lose_none_and_fire_none_of_the_old() -> None:
    """CL-11: 500 edits, pauses, ends of pauses and deletions within two seconds of a due time."""
    ground = Ground()
    checker = Checker(ground.world, Counter())
    rng = Random(11)
    jobs = [ground.job(every="10s") for _ in range(50)]
    async with ground.running():
        await asyncio.sleep(5)
        for _ in range(10):
            await asyncio.gather(*(change(ground, job, rng) for job in jobs))
        await asyncio.sleep(20)
    checker.check_ledger(ground.time.now())
    assert checker.violations == []
    runs = ground.world.runs.values()
    claimed = [run for run in runs if run.state is not RunState.SKIPPED]
    assert len(claimed) > 500
    assert max((run.claimed_at - run.due_at).total_seconds() for run in claimed) < 3
    revisions = [job.revision for job in jobs]
    assert sum(revisions) > 300


async def change(ground: Ground, job: JobRow, rng: Random) -> None:
    """Change a job in a moment around its due time, which is in the middle of ten seconds."""
    await asyncio.sleep(delay := rng.uniform(3, 7))
    with suppress(NotFoundError):
        await change_now(ground, job, rng)
    await asyncio.sleep(10 - delay)


async def change_now(ground: Ground, job: JobRow, rng: Random) -> None:
    """Change a job in one of many ways."""
    name = job.spec.name
    match rng.choice(["every", "every", "soon", "pause", "resume", "delete"]):
        case "every":
            every = Schedule(every=rng.choice(["1s", "2s", "5s", "10s"]))
            await ground.owners.put(TEAM, msgspec.structs.replace(job.spec, schedule=every))
        case "soon":
            soon = ground.time.now().replace(microsecond=0) + rng.randint(2, 4) * SECOND
            at = Schedule(at=soon.isoformat())
            await ground.owners.put(TEAM, msgspec.structs.replace(job.spec, schedule=at))
        case "pause":
            await ground.owners.pause(TEAM, name)
        case "resume":
            await ground.owners.resume(TEAM, name)
        case "delete" if rng.random() < 0.1:
            await ground.owners.delete(TEAM, name)
