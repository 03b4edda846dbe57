"""What simulated executors call."""

from __future__ import annotations

import asyncio

from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.states import Outcome
from matins.executor.news import Tell
from matins.testing.checks import Checker
from matins.testing.memory.faulty import Process

_FAILS = 0.08
_LASTS_LONG = 0.03


class SimulatedTarget:
    """A runner whose attempts last for a while and then succeed or fail, by the process's rng.

    Like attempts under a keeper they go on while the executor is frozen, and end with it, or when
    there was no contact for `cut_off_s`.
    """

    def __init__(self, process: Process, checker: Checker, cut_off_s: float) -> None:
        self._process = process
        self._checker = checker
        self._cut_off_s = cut_off_s
        self._contact_s = process.clock.elapsed_s()

    def contact(self, asked_s: float) -> None:
        """A heartbeat that was sent then has been answered."""
        self._contact_s = asked_s

    async def run(self, attempt: Attempt, cancel: asyncio.Event, _tell: Tell) -> Result:
        """See `executor.targets.Runner`."""
        rng = self._process.rng
        fails = rng.random() < _FAILS
        lasts_s = rng.uniform(20, 90) if rng.random() < _LASTS_LONG else rng.uniform(0.05, 5)
        self._checker.started(attempt.run_id, attempt.number)
        try:
            ended = await self._last(lasts_s, cancel)
        finally:
            self._checker.ended(attempt.run_id, attempt.number)
        await self._process.clock.gate()
        if not ended:
            return Result(Outcome.CANCELLED, "killed")
        return Result(Outcome.FAILED, "bad luck") if fails else Result(Outcome.SUCCEEDED)

    async def close(self) -> None:
        """See `executor.targets.Runner`."""

    async def _last(self, seconds: float, cancel: asyncio.Event) -> bool:
        """Be busy for so long; False if it was ended before."""
        clock, crashed = self._process.clock, self._process.crashed
        ends_s = clock.elapsed_s() + seconds
        waits = [asyncio.ensure_future(event.wait()) for event in (cancel, crashed)]
        try:
            while not cancel.is_set() and not crashed.is_set():
                killed_s = self._contact_s + self._cut_off_s
                left_s = min(ends_s, killed_s) - clock.elapsed_s()
                if left_s <= 0:
                    return ends_s <= killed_s
                await asyncio.wait(waits, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return False
