"""How partitions change hands while their jobs go on firing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from uuid import UUID

from tests.unit.scheduler.ground import Ground, after

from matins.domain.runs.placement import fair_share, may_move, to_acquire, to_shed
from matins.domain.values.ids import PARTITIONS
from matins.scheduler.scheduler import Scheduler
from matins.testing.memory.leases import MemoryLeases
from matins.testing.memory.world import World
from matins.testing.virtual import START, in_virtual_time

TERM_S = 10.0
JOBS = 200


class Noted(MemoryLeases):
    """Leases that note when partitions were released."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.released_s: list[tuple[float, int]] = []

    async def release(self, holder: UUID, epochs: Mapping[int, int]) -> None:
        """See `domain.ports.Leases`."""
        await super().release(holder, epochs)
        if epochs:
            self.released_s.append(((self._world.now() - START).total_seconds(), len(epochs)))


def worst_lag_s(ground: Ground) -> float:
    """Return the longest time from a fire time to its claim, of all runs."""
    runs = ground.world.runs.values()
    return max((run.claimed_at - run.fire_at).total_seconds() for run in runs)


def assert_each_second_has_its_runs(ground: Ground, seconds: int) -> None:
    dues = [run.due_at for run in ground.world.runs.values()]
    assert len(dues) == len(ground.world.runs)
    for second in range(1, seconds):
        assert dues.count(after(second)) == JOBS


async def start(stack: AsyncExitStack, ground: Ground, count: int) -> list[Scheduler]:
    """Start schedulers, and wait until each has its share."""
    found = [await stack.enter_async_context(ground.running()) for _ in range(count)]
    await asyncio.sleep(2 * TERM_S)
    return found


@in_virtual_time
async def test_who_leaves_hands_over_to_successors_that_go_on_at_once() -> None:
    ground = Ground()
    for _ in range(JOBS):
        ground.job(every="1s")
    async with AsyncExitStack() as stack:
        first = ground.scheduler()
        running = asyncio.create_task(first.run())
        others = await start(stack, ground, 2)
        await asyncio.sleep(3.5)
        await first.stop()
        await running
        left_s = ground.time.now() - START
        assert sorted(len(other.epochs()) for other in others) == [128, 128]
        await asyncio.sleep(3)
    assert left_s < timedelta(seconds=2 * TERM_S + 3.5 + 3)
    assert worst_lag_s(ground) < 0.3
    assert_each_second_has_its_runs(ground, 26)


@in_virtual_time
async def test_who_joins_gets_its_share_and_nothing_fires_late() -> None:
    ground = Ground()
    for _ in range(JOBS):
        ground.job(every="1s")
    async with AsyncExitStack() as stack:
        [first] = await start(stack, ground, 1)
        before = dict(first.epochs())
        [second] = await start(stack, ground, 1)
        assert len(second.epochs()) == PARTITIONS / 2
        kept = first.epochs()
        assert kept == {partition: before[partition] for partition in kept}
        await asyncio.sleep(3)
        # Another way than by a hand-over would have them wait for a look of the joiner.
        assert worst_lag_s(ground) < 0.3
    assert_each_second_has_its_runs(ground, 40)


@in_virtual_time
async def test_nothing_changes_hands_around_a_full_minute() -> None:
    ground = Ground()
    leases = ground.leases = Noted(ground.world)
    async with AsyncExitStack() as stack:
        first = ground.scheduler()
        running = asyncio.create_task(first.run())
        await start(stack, ground, 1)
        leases.released_s.clear()
        await asyncio.sleep(58.6 - (ground.time.now() - START).total_seconds())
        await first.stop()
        await running
    assert [int(at_s) for at_s, _ in leases.released_s][:1] == [61]


@in_virtual_time
async def test_who_leaves_alone_waits_for_nobody() -> None:
    ground = Ground()
    async with ground.running():
        await asyncio.sleep(5)
        stopped_at = ground.time.now()
    assert ground.time.now() - stopped_at < timedelta(seconds=0.5)
    assert ground.world.leases == {}


@in_virtual_time
async def test_a_successor_that_dies_in_the_middle_of_it_leaves_nothing_behind() -> None:
    ground = Ground()
    for _ in range(JOBS):
        ground.job(every="1s")
    async with AsyncExitStack() as stack:
        first = ground.scheduler()
        running = asyncio.create_task(first.run())
        [second] = await start(stack, ground, 1)
        clock = ground.clock()
        third = asyncio.create_task(ground.scheduler(clock).run())
        await asyncio.sleep(3)  # so that it has reserved, and nothing more
        clock.stop()
        await first.stop()
        await running
        await asyncio.sleep(3 * TERM_S)
        assert len(second.epochs()) == PARTITIONS
        third.cancel()
        clock.dispose()
    assert_each_second_has_its_runs(ground, 45)


def test_shares_are_fair_and_whoever_joins_or_leaves_moves_no_more_than_is_needed() -> None:
    for alive in range(1, 40):
        shares = [PARTITIONS // alive + (number < PARTITIONS % alive) for number in range(alive)]
        moved = sum(len(to_shed(list(range(share)), alive + 1)) for share in shares)
        assert moved <= fair_share(alive + 1)
        assert all(to_acquire(share, alive) <= 1 for share in shares)


def test_partitions_stay_where_they_are_around_full_minutes() -> None:
    seconds = [0.0, 0.999, 1.0, 30.0, 58.4, 58.5, 59.999]
    assert [may_move(after(second)) for second in seconds] == [
        False,
        False,
        True,
        True,
        True,
        False,
        False,
    ]


@in_virtual_time
async def test_what_was_reserved_before_others_came_is_held_by_one_of_them() -> None:
    ground = Ground()
    async with AsyncExitStack() as stack:
        [first] = await start(stack, ground, 1)
        joining = [await stack.enter_async_context(ground.running())]
        await asyncio.sleep(0.01)  # it has reserved a half
        reserved = [row for row in ground.world.partitions.values() if row.successor]
        joining += [await stack.enter_async_context(ground.running()) for _ in range(3)]
        await asyncio.sleep(3 * TERM_S)
        assert all(row.holder for row in ground.world.partitions.values())
        assert not any(row.successor for row in ground.world.partitions.values())
        assert sum(len(member.epochs()) for member in (first, *joining)) == PARTITIONS
    assert len(reserved) == PARTITIONS / 2
