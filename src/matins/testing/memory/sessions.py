"""Locks that belong to a session: they are gone with it, whatever its process still does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from matins.domain.values.errors import UnavailableError
from matins.testing.memory.changes import LOCK_S
from matins.testing.memory.faulty import Process
from matins.testing.memory.world import World

_LOST: Final = 0.1
"""How often a session is lost while it holds a lock."""

_LOST_AFTER_S: Final = 2.0
"""After so long, at most."""


class SessionLocks:
    """See `domain.ports.upkeep.Locks`. A process may crash, or lose its session."""

    def __init__(self, world: World, process: Process) -> None:
        self._world = world
        self._process = process

    @asynccontextmanager
    async def alone(self, work: str) -> AsyncIterator[bool]:
        """See `domain.ports.upkeep.Locks`."""
        process, locks = self._process, self._world.locks
        await process.clock.gate()
        if process.rates.away or process.cut:
            raise UnavailableError("it could not be reached")
        if locks.is_taken(("work", work)):
            yield False
            return
        lock = await locks.take(("work", work), LOCK_S)
        session = asyncio.ensure_future(self._last())
        session.add_done_callback(lambda _: lock.release())
        try:
            yield True
            await process.clock.gate()
        finally:
            session.cancel()

    async def _last(self) -> None:
        """Return when the session has ended."""
        process = self._process
        is_lost = bool(process.rates.fail_after) and process.rng.random() < _LOST
        if is_lost:
            process.seen["session lost with its lock"] += 1
        within_s = process.rng.uniform(0, _LOST_AFTER_S) if is_lost else None
        ends = asyncio.ensure_future(process.crashed.wait())
        try:
            await asyncio.wait([ends], timeout=within_s)
        finally:
            ends.cancel()
