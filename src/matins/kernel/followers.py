"""Passing things on to whoever follows them, without waiting for anybody."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class _Follower(Generic[T]):
    """What waits for one reader; it ends, with nothing left, once `is_dropped`."""

    def __init__(self) -> None:
        self.waiting: deque[T] = deque()
        self.is_dropped = False
        self.came = asyncio.Event()

    async def read(self) -> AsyncIterator[T]:
        """Give what comes."""
        while not self.is_dropped:
            if self.waiting:
                yield self.waiting.popleft()
                continue
            self.came.clear()
            await self.came.wait()


class Followers(Generic[K, T]):
    """Readers by what they follow. One for whom more than `bound` things wait is dropped."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._readers: dict[K, set[_Follower[T]]] = {}

    def followed(self) -> list[K]:
        """Return what has any followers."""
        return list(self._readers)

    def pass_on(self, key: K, thing: T) -> None:
        """Give a thing to all who follow the key."""
        for reader in list(self._readers.get(key, ())):
            if len(reader.waiting) >= self._bound:
                reader.is_dropped = True
                reader.waiting.clear()
                self._remove(key, reader)
            else:
                reader.waiting.append(thing)
            reader.came.set()

    @contextmanager
    def follow(self, key: K) -> Iterator[AsyncIterator[T]]:
        """Follow a key from now on."""
        reader = _Follower[T]()
        self._readers.setdefault(key, set()).add(reader)
        try:
            yield reader.read()
        finally:
            self._remove(key, reader)

    def _remove(self, key: K, reader: _Follower[T]) -> None:
        readers = self._readers.get(key, set())
        readers.discard(reader)
        if not readers:
            self._readers.pop(key, None)
