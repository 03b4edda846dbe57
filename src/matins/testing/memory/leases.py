"""Leases in memory. See `domain.ports.Leases`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from matins.domain.runs.cluster import NO_FIGURES, Figures, Offer
from matins.testing.memory.rows import PartitionRow
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
        kept = {
            partition
            for partition, epoch in epochs.items()
            if world.is_held(partition, holder, epoch)
        }
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
        free = [
            partition
            for partition, row in world.partitions.items()
            if row.holder is None or not self._is_alive(row.holder, ttl_s)
            if not self._has_other_successor(row, holder, ttl_s)
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
        ready = set()
        for partition, row in world.partitions.items():
            if row.holder != holder:
                continue
            if row.offered != (partition in partitions):
                row.offered, row.successor, row.is_ready = not row.offered, None, False
            if row.is_ready and row.successor and self._is_staying(row.successor, ttl_s):
                ready.add(partition)
        others = sum(self._is_staying(member, ttl_s) for member in world.leases if member != holder)
        return Offer(ready, others)

    async def reserve(
        self, holder: UUID, count: int, loaded: Collection[int], ttl_s: float
    ) -> dict[int, int]:
        """See `domain.ports.Leases`."""
        rows = self._world.partitions
        taken = [partition for partition, row in rows.items() if row.successor == holder]
        open_ones = [
            partition
            for partition, row in rows.items()
            if row.offered and row.holder != holder
            if row.successor is None or not self._is_staying(row.successor, ttl_s)
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
        return sum(self._is_staying(holder, ttl_s) for holder in self._world.leases)

    def _is_staying(self, holder: UUID, ttl_s: float) -> bool:
        return holder not in self._world.leaving and self._is_alive(holder, ttl_s)

    def _has_other_successor(self, row: PartitionRow, holder: UUID, ttl_s: float) -> bool:
        other = row.successor
        return other is not None and other != holder and self._is_staying(other, ttl_s)

    def _end(self, holder: UUID) -> None:
        self._world.leases.pop(holder, None)
        self._world.leaving.discard(holder)

    def _is_alive(self, holder: UUID, ttl_s: float) -> bool:
        """Return whether a lease is in force, and not from before the clock went back."""
        latest = self._world.now() + timedelta(seconds=ttl_s)
        return self._world.is_in_force(holder) and self._world.leases[holder] <= latest

    def _free(self, holder: UUID, *, besides: set[int]) -> None:
        for partition, row in self._world.partitions.items():
            if row.holder == holder and partition not in besides:
                row.holder, row.offered = None, False
