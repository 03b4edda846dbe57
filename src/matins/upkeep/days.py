"""Daily tables of runs and attempts: made some days ahead, and detached when they are over.

A statement with a generic plan locks every partition of the tables that it names. So `runs` and
`attempts` hold the days in which something may still happen, and the days that are over hang below
`past_runs` and `past_attempts`. A day moves whole: its rows are neither read nor written for it.
"""

from __future__ import annotations

import asyncio
from datetime import date, timedelta
from typing import Final

import structlog

from matins.domain.ports import Clock
from matins.domain.ports.upkeep import DayTables, Locks
from matins.domain.values.errors import BlockedError
from matins.kernel.service import Stopwatch, repeat

AHEAD_DAYS: Final = 7

WORK: Final = "days"
"""The name of the work on days that are over, which one process does at a time."""

WORK_S: Final = 30.0
"""A call begins with no further day after so long."""

_EVERY_S: Final = 3600.0

log = structlog.get_logger()


class DaysAhead:
    """Makes the tables of the coming days, again every hour. See `kernel.service.Service`."""

    def __init__(self, days: DayTables, clock: Stopwatch) -> None:
        self._days = days
        self._clock = clock
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Work until stopped."""
        await repeat(
            lambda: make_days_ahead(self._days),
            _EVERY_S,
            self._clock,
            self._stopping,
            name="days.ahead",
        )

    async def stop(self) -> None:
        """End soon."""
        self._stopping.set()


async def make_days_ahead(days: DayTables) -> None:
    """Make the tables of yesterday up to a week ahead, where they are missing."""
    today = await days.today()
    await days.make(today - timedelta(days=1), today + timedelta(days=AHEAD_DAYS))


class DaysOver:
    """Detaches days, oldest first; one process does it at a time."""

    def __init__(
        self, locks: Locks, days: DayTables, clock: Clock, stopping: asyncio.Event
    ) -> None:
        self._locks = locks
        self._days = days
        self._clock = clock
        self._stopping = stopping

    async def detach(self) -> list[date]:
        """Detach what is over, and return those days; what takes long is left for the next call."""
        detached: list[date] = []
        until_s = self._clock.elapsed_s() + WORK_S
        async with self._locks.alone(WORK) as is_alone:
            for day in await self._days.days_over() if is_alone else ():
                if self._stopping.is_set() or self._clock.elapsed_s() > until_s:
                    break
                try:
                    if await self._days.detach(day):
                        detached.append(day)
                except BlockedError:
                    log.info("day.busy", day=str(day))
        if detached:
            first, last = str(detached[0]), str(detached[-1])
            log.info("days.detached", count=len(detached), first=first, last=last)
        return detached
