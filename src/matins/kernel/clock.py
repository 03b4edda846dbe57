"""The only reader of time: durations of this host, and the database's wall clock seen from here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from matins.domain.values.errors import UnavailableError

JUMP_S = 1.0
"""A database clock that moved by more than this against the host's durations has jumped."""

_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def elapsed_s() -> float:
    """Seconds since boot, with the time that the host slept (CLOCK_BOOTTIME, clock_gettime(2))."""
    return time.clock_gettime(_BOOT)


def wall_ns() -> int:
    """Return the host's wall clock in ns since 1970; for logs and the test bench, never for a
    decision.
    """
    return time.time_ns()


class HostClock:
    """The host's own clock, for processes that know no database; decides nothing by wall time."""

    def now(self) -> datetime:
        """Return the host's wall clock."""
        return datetime.now(UTC)

    def elapsed_s(self) -> float:
        """See `elapsed_s`."""
        return elapsed_s()

    async def sleep(self, seconds: float) -> None:
        """Wait so long."""
        await asyncio.sleep(max(seconds, 0))


class DatabaseClock(HostClock):
    """The database's wall clock, carried forward by this host's durations.

    A reading is taken to be as old as the answer to it, so `now` is never ahead of the database.
    Of the readings of the last `memory` measurements the most advanced one counts; a jump drops
    them all.
    """

    def __init__(self, read: Callable[[], Awaitable[datetime]], memory: int = 8) -> None:
        self._read = read
        self._memory = memory
        self._ahead: list[timedelta] = []
        self._zero = datetime(1970, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        """Return the database's time, never ahead of it. Raises UnavailableError before
        `measure`.
        """
        if not self._ahead:
            raise UnavailableError("the database's clock has not been read yet")
        return self._zero + timedelta(seconds=elapsed_s()) + max(self._ahead)

    def host_ahead_s(self) -> float:
        """Return how far the host's wall clock is ahead of the database's; for people only."""
        return (datetime.now(UTC) - self.now()).total_seconds()

    async def measure(self) -> bool:
        """Read the database's clock once. False: it jumped, so claiming should pause for a moment.

        A slow answer (over JUMP_S) says too little to show a jump backwards, and is then ignored.
        """
        asked = elapsed_s()
        database_now = await self._read()
        answered = elapsed_s()
        ahead = database_now - self._zero - timedelta(seconds=answered)
        slack = JUMP_S + (answered - asked)
        known = max(self._ahead, default=ahead)
        if abs((ahead - known).total_seconds()) > slack:
            self._ahead = [ahead]
            return False
        self._ahead = [*self._ahead[1 - self._memory :], ahead]
        return True
