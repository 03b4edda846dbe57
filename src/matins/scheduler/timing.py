"""Keeping the database's time: measured every few seconds; a jump makes claiming pause."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

import structlog

from matins.domain.ports import Clock
from matins.kernel.metrics import CLOCK_JUMPS
from matins.kernel.service import repeat

log = structlog.get_logger()

EVERY_S = 5.0
"""How often the database's clock is read."""

HOLD_S = 2.0
"""How long claiming pauses after a jump, so that one that is taken back does less harm."""


class MeasuredClock(Clock, Protocol):
    """A clock that has to read the database's time now and then."""

    async def measure(self) -> bool:
        """Read it once; False if it jumped. Raises UnavailableError."""

    def host_ahead_s(self) -> float:
        """Return how far the host's wall clock is ahead of the database's."""


class Timekeeper:
    """Measures, and calls `on_jump` with the seconds for which claiming should pause."""

    def __init__(self, clock: MeasuredClock, on_jump: Callable[[float], None]) -> None:
        self._clock = clock
        self._on_jump = on_jump
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Measure until `stop`."""
        await repeat(self.measure, EVERY_S, self._clock, self._stopping, name="timekeeper")

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def measure(self) -> None:
        """Measure once."""
        if not await self._clock.measure():
            CLOCK_JUMPS.inc()
            log.error("clock.jumped", now=self._clock.now().isoformat())
            self._on_jump(HOLD_S)
