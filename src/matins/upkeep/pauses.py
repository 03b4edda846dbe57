"""Jobs that are paused until a time go on by themselves."""

from __future__ import annotations

import asyncio

from matins.domain.ports import Clock
from matins.domain.ports.jobs import PausedJobs
from matins.kernel.service import repeat


class PauseEnds:
    """Looks every `every_s` whose pause is over; any number may. See `kernel.service.Service`."""

    def __init__(self, jobs: PausedJobs, clock: Clock, every_s: float) -> None:
        self._jobs = jobs
        self._clock = clock
        self._every_s = every_s
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Work until stopped."""
        await repeat(
            self._jobs.end_pauses, self._every_s, self._clock, self._stopping, name="pause.ends"
        )

    async def stop(self) -> None:
        """End soon."""
        self._stopping.set()
