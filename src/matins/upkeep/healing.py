"""Rows that went missing beside a run are put back: judged from the runs, page by page."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Final
from uuid import UUID

import structlog

from matins.domain.ports import Clock
from matins.domain.ports.upkeep import RunRepairs
from matins.kernel.metrics import ROWS_HEALED

PAGE: Final = 10_000
"""How many runs one statement looks at."""

TURN_S: Final = 1.0
"""How long one turn goes on; the next one goes on where it ended."""

_MIN_AGE_S: Final = 60.0
"""A run that was claimed a moment ago isn't judged yet."""

_FIRST: Final = UUID(int=0)

log = structlog.get_logger()


class Healing:
    """Walks through all runs that have not moved to the history, again and again.

    A queued run has its row on the dispatch queue, or waits there for something; a retrying one has
    its retry; a running one has a hand-out, by which its loss is found. Without them a run would
    stay as it is for ever.
    """

    def __init__(self, repairs: RunRepairs, clock: Clock, stopping: asyncio.Event) -> None:
        self._repairs = repairs
        self._clock = clock
        self._stopping = stopping
        self._after = _FIRST

    async def heal(self) -> None:
        """Look at as many runs as there is time for, and put back the rows that are missing.

        Permits of runs that are over are given back.
        """
        _report("permits", await self._repairs.free_permits())
        ends_s = self._clock.elapsed_s() + TURN_S
        while not self._stopping.is_set():
            page = await self._repairs.repair(self._after, PAGE, _MIN_AGE_S)
            _report("dispatch", page.enqueued)
            _report("waiting", page.rescheduled)
            if page.running:
                await self._assign_strays(page.running)
            is_last = page.last is None or page.count < PAGE
            self._after = page.last if page.last and not is_last else _FIRST
            if is_last or self._clock.elapsed_s() >= ends_s:
                return

    async def _assign_strays(self, running: Sequence[UUID]) -> None:
        abandoned: dict[UUID, list[UUID]] = defaultdict(list)
        for stray in await self._repairs.stray_runs(running):
            if stray.is_abandoned:
                abandoned[stray.executor].append(stray.run_id)
        for executor, runs in abandoned.items():
            await self._repairs.hand_out_again(executor, runs)
            _report("handouts", runs)


def _report(table: str, runs: Sequence[UUID]) -> None:
    if runs:
        ROWS_HEALED.labels(table).inc(len(runs))
        log.error("rows.healed", table=table, runs=len(runs), first=str(runs[0]))
