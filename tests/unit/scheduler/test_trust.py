"""For how long leases are trusted when the database takes its time to answer."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

import pytest
from tests.unit.scheduler.ground import Ground

from matins.domain.runs.cluster import NO_FIGURES, Figures
from matins.domain.values.errors import UnavailableError
from matins.domain.values.ids import PARTITIONS
from matins.scheduler.leases import LeaseHolder
from matins.testing.memory.leases import MemoryLeases
from matins.testing.memory.world import World
from matins.testing.virtual import in_virtual_time

TERM_S = 10.0
TRUST_S = 9.0


class Slow(MemoryLeases):
    """Leases that are granted at once, and whose answers come `answer_s` later, or never."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.answer_s = 0.0
        self.is_away = False
        self.renewals = 0

    async def renew(
        self,
        holder: UUID,
        epochs: Mapping[int, int],
        watermark: datetime | None,
        ttl_s: float,
        figures: Figures = NO_FIGURES,
    ) -> set[int]:
        """See `domain.ports.Leases`."""
        self.renewals += 1
        if self.is_away:
            raise UnavailableError("it is away")
        kept = await super().renew(holder, epochs, watermark, ttl_s, figures)
        await asyncio.sleep(self.answer_s)
        return kept

    async def acquire(self, holder: UUID, count: int, ttl_s: float) -> dict[int, int]:
        """See `domain.ports.Leases`."""
        gained = await super().acquire(holder, count, ttl_s)
        await asyncio.sleep(self.answer_s)
        return gained


class Scene:
    """A lease holder, its leases, and what it did before it gave any up."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.leases = Slow(self.ground.world)
        self.given_up: list[tuple[set[int], bool]] = []
        self.clock = self.ground.clock()
        self.holder = LeaseHolder(
            self.ground.uuid(),
            self.leases,
            self.clock,
            TERM_S,
            hints=self.ground.hints,
            watermark=lambda: None,
            figures=Figures,
            before_release=self._note,
            renewed=lambda *_: None,
        )

    async def _note(self, partitions: Collection[int]) -> None:
        row = self.ground.world.partitions[0]
        is_held = row.holder == self.holder.holder
        self.given_up.append((set(partitions) - self.holder.epochs().keys(), is_held))

    async def until(self, second: float) -> None:
        """Sleep until so many seconds after the scene began."""
        await asyncio.sleep(second - self.clock.elapsed_s())

    def count(self) -> int:
        """Return how many leases are trusted now."""
        return len(self.holder.epochs())


@in_virtual_time
async def test_a_gained_lease_counts_from_when_it_was_asked_for() -> None:
    scene = Scene()
    scene.leases.answer_s = 4.0
    await scene.holder.balance()
    await scene.until(TRUST_S - 0.01)
    assert scene.count() == PARTITIONS
    await scene.until(TRUST_S + 0.01)
    assert scene.count() == 0


@in_virtual_time
async def test_a_renewed_lease_counts_from_when_it_was_asked_for() -> None:
    scene = Scene()
    await scene.holder.balance()
    await scene.until(3)
    scene.leases.answer_s = 4.0
    await scene.holder.renew()
    await scene.until(3 + TRUST_S - 0.01)
    assert scene.count() == PARTITIONS
    await scene.until(3 + TRUST_S + 0.01)
    assert scene.count() == 0


@in_virtual_time
async def test_a_scheduler_is_in_touch_for_a_term_from_when_it_asked() -> None:
    scene = Scene()
    scene.leases.answer_s = 4.0
    await scene.holder.renew()
    await scene.until(TERM_S - 0.01)
    assert scene.holder.is_in_touch()
    await scene.until(TERM_S + 0.01)
    assert not scene.holder.is_in_touch()


@in_virtual_time
async def test_a_late_answer_prolongs_no_lease_that_was_gained_anew_meanwhile() -> None:
    scene = Scene()
    await scene.holder.balance()
    scene.leases.answer_s = 4.0
    renewing = asyncio.create_task(scene.holder.renew())
    await scene.until(1)
    scene.leases.answer_s = 0.0
    scene.ground.world.partitions[0].holder = None
    scene.holder.drop({0})
    await scene.holder.balance()
    await renewing
    assert scene.holder.epochs()[0] == 2


@in_virtual_time
async def test_what_is_no_longer_held_is_dropped_and_told() -> None:
    scene = Scene()
    await scene.holder.balance()
    scene.holder.changed.clear()
    for partition in range(10):
        scene.ground.world.partitions[partition].epoch += 1
    await scene.holder.renew()
    assert scene.holder.epochs().keys() == set(range(10, PARTITIONS))
    assert scene.holder.changed.is_set()


@in_virtual_time
async def test_what_the_fence_refused_is_dropped_and_told() -> None:
    scene = Scene()
    await scene.holder.balance()
    scene.holder.changed.clear()
    scene.holder.drop({0, 1})
    assert scene.holder.epochs().keys() == set(range(2, PARTITIONS))
    assert scene.holder.changed.is_set()


@in_virtual_time
async def test_a_lease_is_given_up_here_before_what_is_owed_is_written_and_then_there() -> None:
    scene = Scene()
    running = asyncio.create_task(scene.holder.run())
    await scene.until(1)
    await scene.holder.stop()
    await running
    assert scene.given_up == [(set(range(PARTITIONS)), True)]
    assert all(row.holder is None for row in scene.ground.world.partitions.values())


@pytest.mark.parametrize(("is_away", "expected"), [(False, range(7, 11)), (True, range(25, 32))])
@in_virtual_time
async def test_leases_are_renewed_each_third_of_the_term_and_tried_again_each_tenth(
    is_away: bool, expected: range
) -> None:
    scene = Scene()
    running = asyncio.create_task(scene.holder.run())
    await scene.until(0.5)
    scene.leases.is_away, scene.leases.renewals = is_away, 0
    await scene.until(0.5 + 3 * TERM_S)
    assert scene.leases.renewals in expected
    scene.leases.is_away = False
    await scene.holder.stop()
    await running
