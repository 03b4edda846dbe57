"""Who makes processes crash and freeze, at the worst moments, by a seed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from random import Random

from matins.testing.memory.faulty import Process, Weather
from matins.testing.memory.rewinding import copy_rows, go_back
from matins.testing.roles import Stage
from matins.testing.virtual import VirtualTime

_TRAPS = {
    "scheduler": (
        *("claim", "claim", "claim", "renew", "acquire", "advance", "follow", "record"),
        *("carry_out", "carry_out"),
    ),
    "gateway": ("take", "take", "record", "heartbeat"),
    "api": (
        *("transact", "lock_job", "record", "write_revision", "insert_job", "cancel_waiting"),
        *("trigger", "write", "send"),
    ),
    "executor": ("poll", "report", "heartbeat"),
}
_STRIKES = {
    "trap": 10,
    "freeze": 6,
    "crash": 5,
    "cut": 4,
    "away": 2,
    "step": 2,
    "no cache": 1,
}
"""How often each kind of strike comes, beside the others."""
_FREEZES_S = (1.0, 3.0, 12.0, 15.0, 35.0, 60.0)
_STOPPED = 0.5
"""The share of executors that are stopped in good order instead of crashing."""
_AWAY_S = (2.0, 5.0, 20.0, 150.0)
_LOST_S = (0.01, 0.5, 3.0, 10.0)
_FAIL_OVER_S = (0.001, 1.0, 30.0)
_CUTS_S = (1.0, 5.0, 12.0, 35.0, 60.0)
_STEPS_S = (-20.0, -2.0, -0.3, 0.3, 2.0, 20.0, 300.0)


class Nemesis:
    """Strikes every few seconds, by what `_STRIKES` says.

    A process crashes, stops, freezes, falls into a trap in its next call, or is cut off in one
    direction; the database is away, or has its clock stepped; the cache is away.
    """

    def __init__(
        self,
        rng: Random,
        stage: Stage,
        time: VirtualTime,
        weather: Weather,
        living: Mapping[str, Process],
        seen: Counter[str],
    ) -> None:
        """`living` holds the processes that run now, by role and number."""
        self._world = stage.world
        self._rng = rng
        self._weather = weather
        self._time = time
        self._cache = stage.cache
        self._checker = stage.checker
        self._living = living
        self._seen = seen

    async def rage(self) -> None:
        """Strike until cancelled."""
        while True:
            await asyncio.sleep(self._rng.uniform(2, 15))
            name = self._rng.choice(sorted(self._living))
            await self._strike(name.split()[0], self._living[name])

    async def fail_over(self) -> None:
        """Let the database lose its last seconds, as an asynchronous fail-over does."""
        self._seen["database went back in time"] += 1
        rows = copy_rows(self._world)
        await asyncio.sleep(self._rng.choice(_LOST_S))
        await self._take_away(self._rng.choice(_FAIL_OVER_S))
        go_back(self._world, rows)

    async def _strike(self, role: str, process: Process) -> None:
        match self._rng.choices(tuple(_STRIKES), tuple(_STRIKES.values()))[0]:
            case "crash" if role == "executor" and self._rng.random() < _STOPPED:
                self._seen["executor stopped"] += 1
                process.stopping.set()
            case "crash":
                self._seen[f"{role} crashed"] += 1
                process.crash()
            case "freeze":
                self._seen[f"{role} frozen"] += 1
                process.clock.freeze(self._rng.choice(_FREEZES_S))
            case "trap":
                crashes = self._rng.random() < 0.4
                process.trap_s = None if crashes else self._rng.choice(_FREEZES_S)
                process.trap = self._rng.choice(_TRAPS[role])
            case "cut":
                await self._cut(role, process)
            case "step":
                self._step(self._rng.choice(_STEPS_S))
            case "away":
                self._seen["database away"] += 1
                await self._take_away(self._rng.choice(_AWAY_S))
            case "no cache":
                await self._take_cache()

    async def _cut(self, role: str, process: Process) -> None:
        """Let nothing pass in one direction for a while."""
        process.cut = self._rng.choice(("calls", "answers"))
        self._seen[f"{role}'s {process.cut} cut off"] += 1
        try:
            await asyncio.sleep(self._rng.choice(_CUTS_S))
        finally:
            process.cut = ""

    def _step(self, seconds: float) -> None:
        """Let the database's clock step."""
        self._seen[f"clock stepped {'back' if seconds < 0 else 'forward'}"] += 1
        self._time.jump(seconds)
        self._checker.clock_stepped(seconds)

    async def _take_away(self, seconds: float) -> None:
        self._weather.away = True
        await asyncio.sleep(seconds)
        self._weather.away = False

    async def _take_cache(self) -> None:
        self._seen["cache away"] += 1
        self._cache.go_away()
        try:
            await asyncio.sleep(self._rng.choice(_AWAY_S))
        finally:
            self._cache.come_back()
