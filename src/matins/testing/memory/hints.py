"""Hints in memory. See `domain.ports.Hints`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection


class MemoryHints:
    """Words between the parts of one event loop."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[asyncio.Queue[str]]] = {}

    async def send(self, channel: str, words: Collection[str]) -> None:
        """See `domain.ports.Hints`."""
        self.tell(channel, words)

    def tell(self, channel: str, words: Collection[str]) -> None:
        """Send words as part of a statement."""
        for queue in self._listeners.get(channel, []):
            for word in words:
                queue.put_nowait(word)

    async def listen(self, channel: str) -> AsyncIterator[str]:
        """See `domain.ports.Hints`."""
        queue: asyncio.Queue[str] = asyncio.Queue()
        listeners = self._listeners.setdefault(channel, [])
        listeners.append(queue)
        try:
            yield ""
            while True:
                yield await queue.get()
        finally:
            listeners.remove(queue)
