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
        now = self._world.now()
        self._world.schedulers[holder] = now
        kept = {it for it, epoch in epochs.items() if self._world.is_held(it, holder, epoch)}
        for partition in kept:
            row = self._world.partitions[partition]
            row.expires_at = now + timedelta(seconds=ttl_s)
            if watermark is not None:
                row.watermark = max(row.watermark or watermark, watermark)
        return kept

    async def acquire(self, holder: UUID, count: int, ttl_s: float) -> dict[int, int]:
        """See `domain.ports.Leases`."""
        now, term = self._world.now(), timedelta(seconds=ttl_s)
        free = [
            partition
            for partition, row in self._world.partitions.items()
            if row.holder is None
            or row.expires_at is None
            or not now < row.expires_at <= now + term
        ]
        gained = {}
        for partition in free[:count]:
            row = self._world.partitions[partition]
            row.epoch += 1
            row.holder = holder
            row.expires_at = now + term
            gained[partition] = row.epoch
        return gained

    async def release(self, holder: UUID, epochs: Mapping[int, int]) -> None:
        """See `domain.ports.Leases`."""
        for partition, epoch in epochs.items():
            row = self._world.partitions[partition]
            if row.holder == holder and row.epoch == epoch:
                row.holder = row.expires_at = None
        if not any(row.holder == holder for row in self._world.partitions.values()):
            self._world.schedulers.pop(holder, None)

    async def alive(self, ttl_s: float) -> int:
        """See `domain.ports.Leases`."""
        now, term = self._world.now(), timedelta(seconds=ttl_s)
        signs = self._world.schedulers.values()
        return sum(1 for renewed_at in signs if now - term < renewed_at <= now + term)
