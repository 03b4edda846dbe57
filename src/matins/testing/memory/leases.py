"""Leases in memory. See `domain.ports.Leases`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from matins.domain.runs.cluster import NO_FIGURES, Figures, Offer
from matins.testing.memory.world import World


class MemoryLeases:
    """Leases on the partitions of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def renew(
        self,
        holder: UUID,
        epochs: Mapping[int, int],
        watermark: datetime | None,
        ttl_s: float,
        figures: Figures = NO_FIGURES,
    ) -> set[int]:
        """See `domain.ports.Leases`. The figures are for people, of whom there are none here."""
        del figures
        world = self._world
        kept = world.fence(holder, epochs)
        for partition in kept:
            row = world.partitions[partition]
            if watermark is not None:
                row.watermark = max(row.watermark or watermark, watermark)
        self._free(holder, besides=kept)
        world.leases[holder] = world.now() + timedelta(seconds=ttl_s)
        return kept

    async def acquire(self, holder: UUID, count: int, ttl_s: float) -> dict[int, int]:
        """See `domain.ports.Leases`."""
        world = self._world
        alive = self._alive(ttl_s)
        others = alive - world.leaving - {holder}
        free = [
            partition
            for partition, row in world.partitions.items()
            if row.holder not in alive and row.successor not in others
        ]
        free.sort(key=lambda partition: world.partitions[partition].successor != holder)
        del free[count:]
        latest = world.now() + timedelta(seconds=ttl_s)
        for other in [name for name, ends_at in world.leases.items() if ends_at > latest]:
            if other != holder:
                self._end(other)
        if not world.is_in_force(holder):
            self._free(holder, besides=set(free))
        gained = {}
        for partition in free:
            row = world.partitions[partition]
            row.epoch += 1
            row.holder = holder
            row.offered, row.successor, row.is_ready = False, None, False
            gained[partition] = row.epoch
        if gained:
            world.leases[holder] = world.now() + timedelta(seconds=ttl_s)
        return gained

    async def release(self, holder: UUID, epochs: Mapping[int, int]) -> None:
        """See `domain.ports.Leases`."""
        for partition, epoch in epochs.items():
            row = self._world.partitions[partition]
            if row.holder == holder and row.epoch == epoch:
                row.holder, row.offered = None, False
        held = {
            partition for partition, row in self._world.partitions.items() if row.holder == holder
        }
        if held <= epochs.keys():
            self._end(holder)

    async def offer(
        self, holder: UUID, partitions: Collection[int], ttl_s: float, *, leaving: bool
    ) -> Offer:
        """See `domain.ports.Leases`."""
        world = self._world
        if holder in world.leases:
            (world.leaving.add if leaving else world.leaving.discard)(holder)
        staying = self._staying(ttl_s)
        ready = set()
        for partition, row in world.partitions.items():
            if row.holder != holder:
                continue
            if row.offered != (partition in partitions):
                row.offered, row.successor, row.is_ready = not row.offered, None, False
            if row.is_ready and row.successor in staying:
                ready.add(partition)
        return Offer(ready, len(staying - {holder}))

    async def reserve(
        self, holder: UUID, count: int, loaded: Collection[int], ttl_s: float
    ) -> dict[int, int]:
        """See `domain.ports.Leases`."""
        rows, staying = self._world.partitions, self._staying(ttl_s)
        taken = [partition for partition, row in rows.items() if row.successor == holder]
        open_ones = [
            partition
            for partition, row in rows.items()
            if row.offered and row.holder != holder and row.successor not in staying
        ]
        for partition in taken[count:]:  # it must not keep from others what it does not take
            rows[partition].successor, rows[partition].is_ready = None, False
        del taken[count:]
        for partition in taken:
            rows[partition].is_ready |= partition in loaded
        for partition in open_ones[: max(0, count - len(taken))]:
            rows[partition].successor, rows[partition].is_ready = holder, False
            taken.append(partition)
        return {partition: rows[partition].epoch + 1 for partition in taken}

    async def retire(self, holder: UUID) -> None:
        """See `domain.ports.Leases`."""
        self._free(holder, besides=set())
        self._end(holder)

    async def count_alive(self, ttl_s: float) -> int:
        """See `domain.ports.Leases`."""
        return len(self._staying(ttl_s))

    def _staying(self, ttl_s: float) -> set[UUID]:
        """Return who is alive and not about to end."""
        return self._alive(ttl_s) - self._world.leaving

    def _end(self, holder: UUID) -> None:
        self._world.leases.pop(holder, None)
        self._world.leaving.discard(holder)

    def _alive(self, ttl_s: float) -> set[UUID]:
        """Return whose lease is in force, and not from before the clock went back."""
        now = self._world.now()
        latest = now + timedelta(seconds=ttl_s)
        return {holder for holder, ends_at in self._world.leases.items() if now < ends_at <= latest}

    def _free(self, holder: UUID, *, besides: set[int]) -> None:
        for partition, row in self._world.partitions.items():
            if row.holder == holder and partition not in besides:
                row.holder, row.offered = None, False
