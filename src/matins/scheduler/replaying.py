"""Replays of dead letters: their runs go on at the rate that the owner has set.

Levels, not edges: whoever holds a replay's partition looks at it again and again, and goes as far
as its rate allows by then. A step that is lost or comes late is done once, or not at all.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from matins.domain.ports import Clock, Hints
from matins.domain.ports.dead import Replays
from matins.domain.runs.replays import OpenReplay, step
from matins.domain.values.errors import BlockedError, UnavailableError
from matins.kernel.hints import notify
from matins.kernel.metrics import REPLAYED
from matins.kernel.service import pause, restarted
from matins.scheduler.leases import LeaseHolder

log = structlog.get_logger()

IDLE_S: Final = 5.0
"""How often it is looked for replays where there was none, should the hint of one be lost."""

_BUSY: Final = 10
"""While a replay goes on, looks follow each other so many times as fast as polls."""


class Replayer:
    """Looks at the replays in the partitions under lease, and takes each as far as it may go."""

    def __init__(
        self, leases: LeaseHolder, replays: Replays, hints: Hints, clock: Clock, poll_s: float
    ) -> None:
        """Ten looks in `poll_s` while a replay goes on."""
        self._leases = leases
        self._replays = replays
        self._hints = hints
        self._clock = clock
        self._poll_s = poll_s
        self._hinted = asyncio.Event()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Look until `stop`: at every hint, and often while a replay goes on."""
        listening = asyncio.create_task(
            restarted(self._listen, self._clock, name="scheduler.listen_replays")
        )
        try:
            while not self._stopping.is_set():
                self._hinted.clear()
                pause_s = IDLE_S
                try:
                    if await self.look():
                        pause_s = self._poll_s / _BUSY
                except UnavailableError as error:
                    log.warning("replays.unavailable", error=str(error))
                await pause(pause_s, self._clock, self._hinted, self._stopping)
        finally:
            listening.cancel()
            await asyncio.wait([listening])

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def look(self) -> bool:
        """Take every replay as far as its rate allows; return whether there is any."""
        held = self._leases.epochs()
        unfinished = await self._replays.unfinished_replays(held) if held else []
        count = 0
        for replay in unfinished:
            try:
                count += await self._step(replay)
            except BlockedError as error:  # somebody has a run of it locked; the others go on
                log.warning("replay.blocked", replay=str(replay.id), error=str(error))
        if count:
            REPLAYED.inc(count)
            await notify(self._hints, "jobs")
        return bool(unfinished)

    async def _step(self, replay: OpenReplay) -> int:
        asked = replay.due
        if not asked:
            return 0
        found = await self._replays.next_letters(replay.id, asked)
        return await self._replays.proceed(step(replay, found, asked))

    async def _listen(self) -> None:
        async for _ in self._hints.listen("replays"):
            self._hinted.set()
