"""Who makes processes crash and freeze, at the worst moments, by a seed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from random import Random
from typing import Any

from matins.testing.memory.faulty import FaultRates, Process
from matins.testing.memory.rewinding import copy_rows, go_back
from matins.testing.roles import Stage
from matins.testing.virtual import VirtualTime

TRAPS = {
    "scheduler": (
        *("claim", "claim", "claim", "renew", "acquire", "advance", "write_follow_ups", "record"),
        *("offer", "reserve", "release"),
        *("carry_out", "carry_out", "proceed", "proceed"),
    ),
    "gateway": ("dequeue", "dequeue", "record", "heartbeat"),
    "api": (
        *("transact", "lock_job", "record", "write_revision", "insert_job", "cancel_waiting"),
        *("trigger", "write", "send", "create", "change"),
        *("wake", "due", "write", "write", "take", "content", "record", "put_rules", "reseal"),
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
"""The share of those that are stopped in good order instead of crashing."""
_ORDERLY = ("executor", "scheduler")
_AWAY_S = (2.0, 5.0, 20.0, 150.0)
_LOST_S = (0.01, 0.5, 3.0, 10.0)
_FAIL_OVER_S = (0.001, 1.0, 30.0)
_CUTS_S = (1.0, 5.0, 12.0, 35.0, 60.0)
_STEPS_S = (-20.0, -2.0, -0.3, 0.3, 2.0, 20.0, 300.0)
_LOSES = 0.6
"""The share of lost rows in what is done to rows by hand, or by an older version."""
_LOOKS, _LOOK_S = 1000, 0.005
"""How often, and how far apart, it looks for a row that can go missing."""
_OLDER = "1999z"
_FAR = timedelta(minutes=8)
_LATER = timedelta(hours=1)


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
        rates: FaultRates,
        living: Mapping[str, Process],
        seen: Counter[str],
    ) -> None:
        """`living` holds the processes that run now, by role and number."""
        self._world = stage.world
        self._rng = rng
        self._rates = rates
        self._time = time
        self._cache = stage.cache
        self._checker = stage.checker
        self._living = living
        self._seen = seen

    async def rage(self) -> None:
        """Strike until cancelled."""
        while True:
            await asyncio.sleep(self._rng.uniform(2, 20))
            name = self._rng.choice(sorted(self._living))
            await self._strike(name.split()[0], self._living[name])

    async def meddle(self, rng: Random) -> None:
        """Lose rows, and compute next due times with older zone data, until cancelled."""
        while True:
            await asyncio.sleep(rng.uniform(5, 40))
            if rng.random() < _LOSES:
                await self._lose_row(rng)
            else:
                self._compute_with_older_data(rng)

    async def fail_over(self) -> None:
        """Let the database lose its last seconds, as an asynchronous fail-over does."""
        self._seen["database went back in time"] += 1
        rows = copy_rows(self._world)
        await asyncio.sleep(self._rng.choice(_LOST_S))
        await self._take_away(self._rng.choice(_FAIL_OVER_S))
        go_back(self._world, rows)

    async def _strike(self, role: str, process: Process) -> None:
        match self._rng.choices(tuple(_STRIKES), tuple(_STRIKES.values()))[0]:
            case "crash" if role in _ORDERLY and self._rng.random() < _STOPPED:
                self._seen[f"{role} stopped"] += 1
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
                process.trap = self._rng.choice(TRAPS[role])
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
        self._rates.away = True
        await asyncio.sleep(seconds)
        self._rates.away = False

    async def _lose_row(self, rng: Random) -> None:
        """Let a row beside a run go missing, as a mistake by hand does."""
        world = self._world
        table = rng.choice(("dispatch", "waiting", "handouts"))
        for _ in range(_LOOKS):
            queued = [run_id for queue in world.queues.values() for _, run_id in queue]
            rows: dict[str, list[Any]] = {
                "dispatch": queued,
                "waiting": [*world.waiting],
                "handouts": [*world.handouts],
            }
            if rows[table]:
                break
            await asyncio.sleep(_LOOK_S)
        else:
            return
        self._seen[f"row of {table} lost"] += 1
        key = rng.choice(rows[table])
        match table:
            case "dispatch":
                self._checker.row_lost([key])
                world.dequeue(key)
            case "waiting":
                self._checker.row_lost([key[1]])
                del world.waiting[key]
            case _:
                self._checker.row_lost(world.handouts.pop(key))

    def _compute_with_older_data(self, rng: Random) -> None:
        """Let a job have a next due time as a scheduler computes it that has older zone data.

        It was not to come for long, and comes later now: there is time to correct that.
        """
        world, now = self._world, self._world.now()
        world.zone_data = _OLDER, now
        jobs = [job for job in world.jobs.values() if job.next_due_at and job.follows is None]
        far = [job for job in jobs if job.next_due_at and job.next_due_at - now > _FAR]
        if far:
            self._seen["next due time by older zone data"] += 1
            job = rng.choice(far)
            assert job.next_due_at is not None
            job.next_due_at += _LATER
            job.next_fire_at = job.next_due_at

    async def _take_cache(self) -> None:
        self._seen["cache away"] += 1
        self._cache.go_away()
        try:
            await asyncio.sleep(self._rng.choice(_AWAY_S))
        finally:
            self._cache.come_back()
