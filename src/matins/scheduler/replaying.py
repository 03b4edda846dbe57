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
from matins.domain.values.errors import BlockedError
from matins.kernel.hints import notify
from matins.kernel.metrics import REPLAYED
from matins.kernel.service import background, repeat_at_hints
from matins.scheduler.leases import LeaseHolder

log = structlog.get_logger()

IDLE_S: Final = 5.0
"""How often it is looked for replays where there was none, should the hint of one be lost."""

_BUSY: Final = 10
"""While a replay goes on, looks follow each other so many times as fast as polls."""


async def advance(replays: Replays, replay: OpenReplay) -> int:
    """Take a replay as far as its rate allows by now; return how many runs go on."""
    due = replay.due
    if not due:
        return 0
    letters = await replays.next_letters(replay.id, due)
    return await replays.proceed(step(replay, letters, due))


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
        async with background(self._listen, self._clock, name="scheduler.listen_replays"):
            await repeat_at_hints(
                self._look, IDLE_S, self._clock, self._hinted, self._stopping, name="replays.look"
            )

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def _look(self) -> float:
        """Take every replay as far as its rate allows; return how long it is to the next look."""
        self._hinted.clear()
        held = self._leases.epochs()
        unfinished = await self._replays.unfinished_replays(held) if held else []
        count = 0
        for replay in unfinished:
            try:
                count += await advance(self._replays, replay)
            except BlockedError as error:  # somebody has a run of it locked; the others go on
                log.warning("replay.blocked", replay=str(replay.id), error=str(error))
        if count:
            REPLAYED.inc(count)
            await notify(self._hints, "jobs")
        return self._poll_s / _BUSY if unfinished else IDLE_S

    async def _listen(self) -> None:
        async for _ in self._hints.listen("replays"):
            self._hinted.set()
