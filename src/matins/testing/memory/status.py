"""The status cache in memory. See `domain.ports.StatusCache`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

import msgspec

from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.states import FINAL


class MemoryStatusCache:
    """Statuses that stay until `empty` is called; a final one is never written over."""

    def __init__(self) -> None:
        self._statuses: dict[UUID, RunStatus] = {}
        self._is_there = asyncio.Event()
        self._is_there.set()

    def go_away(self) -> None:
        """Answer nobody until `come_back`, and forget everything."""
        self.empty()
        self._is_there.clear()

    def come_back(self) -> None:
        """Answer again, those who wait too."""
        self._is_there.set()

    async def put(self, statuses: Sequence[RunStatus]) -> None:
        """See `domain.ports.StatusCache`."""
        await self._is_there.wait()
        for status in statuses:
            if status.state in FINAL:
                self._statuses[status.id] = status
            else:
                self._statuses.setdefault(status.id, status)

    async def get(self, run_id: UUID) -> bytes | None:
        """See `domain.ports.StatusCache`."""
        if not self._is_there.is_set():
            return None
        status = self._statuses.get(run_id)
        return None if status is None else msgspec.json.encode(status)

    def empty(self) -> None:
        """Lose everything, as a cache may at any moment."""
        self._statuses.clear()
