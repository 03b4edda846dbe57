"""The slow upkeep of jobs, on which no claim depends: each task may be repeated at any moment, by
any number of schedulers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import structlog

from matins.domain.ports import Clock
from matins.domain.values.errors import UnavailableError
from matins.kernel.contact import Contact
from matins.kernel.metrics import UPKEEP_FAILED
from matins.kernel.service import repeat

Task = Callable[[], Awaitable[object]]

log = structlog.get_logger()


class Upkeep:
    """Does all tasks one after the other, again every `every_s`. See `kernel.service.Service`."""

    def __init__(
        self, tasks: Mapping[str, Task], clock: Clock, every_s: float, stopping: asyncio.Event
    ) -> None:
        """`stopping` is set by `stop`; a task that runs for long looks at it between its pages."""
        self._tasks = tasks
        self._clock = clock
        self._every_s = every_s
        self._stopping = stopping
        self._contacts = {
            name: Contact(clock.elapsed_s, "upkeep.unavailable", "upkeep.available", task=name)
            for name in tasks
        }

    async def run(self) -> None:
        """Work until stopped."""
        await repeat(self.work, self._every_s, self._clock, self._stopping, name="upkeep")

    async def stop(self) -> None:
        """End soon."""
        self._stopping.set()

    async def work(self) -> None:
        """Do each task once; one that fails holds up none of the others, and no claim."""
        for name, task in self._tasks.items():
            try:
                await task()
                self._contacts[name].worked()
            except UnavailableError as error:
                self._contacts[name].failed(error)
            except Exception:  # a mistake of ours: the scheduler must go on claiming
                UPKEEP_FAILED.inc()
                log.exception("upkeep.failed", task=name)
