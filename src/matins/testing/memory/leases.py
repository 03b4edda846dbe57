"""Leases in memory. See `domain.ports.Leases`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from matins.testing.memory.world import World


class MemoryLeases:
    """Leases on the partitions of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def renew(
        self, holder: UUID, epochs: Mapping[int, int], watermark: datetime | None, ttl_s: float
    ) -> set[int]:
        """See `domain.ports.Leases`."""
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
        ][:count]
        latest = world.now() + timedelta(seconds=ttl_s)
        for other in [name for name, ends_at in world.leases.items() if ends_at > latest]:
            if other != holder:
                del world.leases[other]
        if not world.is_in_force(holder):
            self._free(holder, besides=set(free))
        gained = {}
        for partition in free:
            row = world.partitions[partition]
            row.epoch += 1
            row.holder = holder
            gained[partition] = row.epoch
        if gained:
            world.leases[holder] = world.now() + timedelta(seconds=ttl_s)
        return gained

    async def release(self, holder: UUID, epochs: Mapping[int, int]) -> None:
        """See `domain.ports.Leases`."""
        for partition, epoch in epochs.items():
            row = self._world.partitions[partition]
            if row.holder == holder and row.epoch == epoch:
                row.holder = None
        held = {
            partition for partition, row in self._world.partitions.items() if row.holder == holder
        }
        if held <= epochs.keys():
            self._world.leases.pop(holder, None)

    async def retire(self, holder: UUID) -> None:
        """See `domain.ports.Leases`."""
        self._free(holder, besides=set())
        self._world.leases.pop(holder, None)

    async def alive(self, ttl_s: float) -> int:
        """See `domain.ports.Leases`."""
        return sum(self._is_alive(holder, ttl_s) for holder in self._world.leases)

    def _is_alive(self, holder: UUID, ttl_s: float) -> bool:
        """Return whether a lease is in force, and not from before the clock went back."""
        latest = self._world.now() + timedelta(seconds=ttl_s)
        return self._world.is_in_force(holder) and self._world.leases[holder] <= latest

    def _free(self, holder: UUID, *, besides: set[int]) -> None:
        for partition, row in self._world.partitions.items():
            if row.holder == holder and partition not in besides:
                row.holder = None
