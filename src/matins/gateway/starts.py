"""How much is handed out of each pool, noted once a second: ranks and estimates go by it."""

from __future__ import annotations

import asyncio

from matins.domain.ports import Clock, Dispatch
from matins.domain.runs.ranking import Started
from matins.kernel.service import repeat

NOTE_S = 1.0
"""How often it is noted."""


BUSY = 200
"""From so many starts on since they were noted, a pool is busy."""


class _Count:
    """What was handed out of a pool since it was noted."""

    def __init__(self, since_s: float) -> None:
        self.since_s = since_s
        self.starts = 0
        self.is_emptied = False


class StartsCounter:
    """Counts what this gateway hands out, pool by pool."""

    def __init__(self, dispatch: Dispatch, clock: Clock) -> None:
        self._dispatch = dispatch
        self._clock = clock
        self._counts: dict[str, _Count] = {}
        self._empty: set[str] = set()
        """The pools that were noted as empty last: there is nothing new in that."""
        self._stopping = asyncio.Event()

    def count(self, pool: str, starts: int, *, is_emptied: bool) -> None:
        """Count what a dequeue gave; `is_emptied`: it left nothing on the queue."""
        counted = self._counts.get(pool)
        if counted is None:
            counted = self._counts[pool] = _Count(self._clock.elapsed_s())
        counted.starts += starts
        counted.is_emptied = counted.is_emptied or is_emptied

    def is_busy(self, pool: str) -> bool:
        """Return whether so much of a pool is being handed out that its executors even out."""
        counted = self._counts.get(pool)
        return counted is not None and counted.starts >= BUSY

    async def run(self) -> None:
        """Note it until `stop`."""
        await repeat(self._note, NOTE_S, self._clock, self._stopping, name="dispatch.note_starts")

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def _note(self) -> None:
        """Note what was started. While runs are left on a queue, the time goes on counting."""
        now_s = self._clock.elapsed_s()
        counts, self._counts = self._counts, {}
        started = []
        for pool, counted in counts.items():
            if counted.starts or (counted.is_emptied and pool not in self._empty):
                elapsed_s = now_s - counted.since_s
                started.append(Started(pool, counted.starts, elapsed_s, counted.is_emptied))
                if not counted.is_emptied:
                    self._counts[pool] = _Count(now_s)
            elif not counted.is_emptied:
                self._counts[pool] = counted
            if counted.is_emptied:
                self._empty.add(pool)
            else:
                self._empty.discard(pool)
        if started:
            await self._dispatch.note_starts(started)
