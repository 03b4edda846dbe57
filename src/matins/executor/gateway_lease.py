"""T1: whether a heartbeat was answered lately enough for attempts to live on."""

from __future__ import annotations

import asyncio

from matins.domain.ports import Clock


class GatewayLease:
    """Judged at the moment of asking, by the clock and not by a timer that may come late.

    A process that was frozen past T1 and thaws is out of touch at once, before any timer of its own
    has run.
    """

    def __init__(self, clock: Clock, cut_off_s: float) -> None:
        self._clock = clock
        self._cut_off_s = cut_off_s
        self._heard_at: float | None = None
        self._heard = asyncio.Event()

    @property
    def was_made(self) -> bool:
        """Whether any heartbeat was ever answered."""
        return self._heard_at is not None

    def hear(self, asked_at: float) -> None:
        """Note that the heartbeat sent at `asked_at`, by `clock.elapsed_s`, was answered."""
        self._heard_at = asked_at
        self._heard.set()

    def left_s(self) -> float:
        """Seconds until T1; zero or less: out of touch."""
        if self._heard_at is None:
            return 0.0
        return self._heard_at + self._cut_off_s - self._clock.elapsed_s()

    async def established(self) -> None:
        """Wait until in touch."""
        while self.left_s() <= 0:
            self._heard.clear()
            await self._heard.wait()
