"""Locks of rows in memory: who holds one may be in the middle of a change."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable

from matins.domain.values.errors import BlockedError


class KeyLocks:
    """A lock for each key, until its holder ends."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, asyncio.Lock] = {}

    async def take(self, key: Hashable, within_s: float) -> asyncio.Lock:
        """Wait for a lock and take it. Raises BlockedError if that takes longer."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with asyncio.timeout(within_s):
                await lock.acquire()
        except TimeoutError:
            raise BlockedError("somebody else holds a lock on it") from None
        return lock

    def is_taken(self, key: Hashable) -> bool:
        """Return whether somebody holds a lock."""
        return key in self._locks and self._locks[key].locked()

    async def free(self, keys: Iterable[Hashable], within_s: float) -> None:
        """Wait until nobody holds one of these locks. Raises BlockedError if that takes longer.

        Whoever waits goes on at once, before anybody else can take one.
        """
        wanted = list(keys)
        try:
            async with asyncio.timeout(within_s):
                while taken := [key for key in wanted if self.is_taken(key)]:
                    async with self._locks[taken[0]]:
                        pass
        except TimeoutError:
            raise BlockedError("somebody else holds a lock on it") from None
