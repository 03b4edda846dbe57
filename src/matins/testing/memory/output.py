"""Output in memory. See `domain.ports.output`."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

from matins.domain.runs.output import LIVE_MAX, LiveChunk, LiveText, OutputChunk, joined
from matins.kernel.followers import Followers

_Name = tuple[UUID, int]


class MemoryLiveOutput:
    """Live output within one process. What is appended while it is away is lost."""

    def __init__(self, waiting_max: int = 64) -> None:
        self._chunks: defaultdict[_Name, deque[LiveChunk]] = defaultdict(deque)
        self._followers: Followers[_Name, LiveChunk] = Followers(waiting_max)
        self._is_away = False

    def go_away(self) -> None:
        """Forget everything, and be silent until `come_back`."""
        self._chunks.clear()
        self._is_away = True

    def come_back(self) -> None:
        """Pass chunks on again."""
        self._is_away = False

    def is_away(self) -> bool:
        """See `domain.ports.output.LiveOutput`."""
        return self._is_away

    async def append(self, chunks: Sequence[LiveChunk]) -> None:
        """See `domain.ports.output.LiveOutput`."""
        if self._is_away:
            return
        for chunk in chunks:
            name = (chunk.run_id, chunk.number)
            kept = self._chunks[name]
            kept.append(chunk)
            while sum(len(piece.text) for piece in kept) > LIVE_MAX:
                kept.popleft()
            self._followers.pass_on(name, chunk)

    async def so_far(self, run_id: UUID, number: int) -> LiveText:
        """See `domain.ports.output.LiveOutput`."""
        return joined(list(self._chunks.get((run_id, number), ())))

    @asynccontextmanager
    async def follow(self, run_id: UUID, number: int) -> AsyncIterator[AsyncIterator[LiveChunk]]:
        """See `domain.ports.output.LiveOutput`."""
        with self._followers.follow((run_id, number)) as chunks:
            yield chunks


class MemoryKeptOutput:
    """Whole outputs in memory."""

    def __init__(self) -> None:
        self._chunks: defaultdict[_Name, dict[int, str]] = defaultdict(dict)

    async def append(self, chunks: Sequence[OutputChunk]) -> None:
        """See `domain.ports.output.KeptOutput`."""
        for chunk in chunks:
            self._chunks[chunk.run_id, chunk.number].setdefault(chunk.offset, chunk.text)

    async def length(self, run_id: UUID, number: int) -> int:
        """See `domain.ports.output.KeptOutput`."""
        kept = self._chunks.get((run_id, number), {})
        return max((offset + len(text) for offset, text in kept.items()), default=0)

    async def read(self, run_id: UUID, number: int, start: int, end: int) -> str:
        """See `domain.ports.output.KeptOutput`."""
        kept = self._chunks.get((run_id, number), {})
        return "".join(
            text[max(start - offset, 0) : max(end - offset, 0)]
            for offset, text in sorted(kept.items())
        )
