"""The scheduler role: one scheduler after another, each for one era of the database."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple
from uuid import UUID

import structlog

from matins.scheduler.scheduler import Scheduler

log = structlog.get_logger()


class Era(NamedTuple):
    """A scheduler, on ports that raise UnavailableError as soon as its era is over."""

    scheduler: Scheduler
    over: Callable[[], Awaitable[None]]
    """Returns once the database is another one, or has gone back in time."""


class SchedulerRole:
    """Lets go of all memory when an era is over: what was claimed in it may have no row any more.

    The scheduler that follows reads everything anew and claims under another name; runs keep
    theirs, which follow from their due times.
    """

    def __init__(self, begin: Callable[[], Era], predecessor: UUID | None = None) -> None:
        """`begin` gives a scheduler that does not run yet, with a holder of its own.

        `predecessor`: the holder of a process that is known to have ended.
        """
        self._begin = begin
        self._predecessor = predecessor
        self._era = begin()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Schedule until `stop`."""
        while not self._stopping.is_set():
            await self._schedule()
            self._predecessor = self._era.scheduler.holder
            if not self._stopping.is_set():
                self._era = self._begin()

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()
        await self._era.scheduler.stop()

    def is_ready(self) -> bool:
        """Return whether the database answered within the last lease term."""
        return self._era.scheduler.is_ready()

    def lag_s(self) -> float:
        """Return how old the oldest due and unclaimed fire time in memory is, in seconds."""
        return self._era.scheduler.lag_s()

    async def _schedule(self) -> None:
        """Schedule until stopped, or until the era is over: then nothing is written any more."""
        scheduler = self._era.scheduler
        running = asyncio.ensure_future(scheduler.run(self._predecessor))
        over = asyncio.ensure_future(self._era.over())
        await asyncio.wait([running, over], return_when=asyncio.FIRST_COMPLETED)
        if over.done():
            over.result()  # a watch that broke ends the role
        over.cancel()
        if running.done():
            running.result()
        else:
            log.error("scheduler.forgets", partitions=len(scheduler.epochs()))
            running.cancel()
        await asyncio.wait([running, over])
