"""Rows that went missing beside a run are made again: judged from `runs`, page by page."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

import asyncpg
import structlog

from matins.domain.ports import Clock
from matins.domain.runs.states import SUSPECT_AFTER
from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import ScheduleError
from matins.domain.values.ids import partition_of
from matins.kernel.metrics import ROWS_HEALED
from matins.store.database import Database
from matins.store.dispatch import DEFAULT_TIMEOUT
from matins.store.queries import load_queries

log = structlog.get_logger()

_Q = load_queries("healing.sql")

PAGE: Final = 10_000
"""How many runs one statement looks at."""

TURN_S: Final = 1.0
"""How long one turn goes on; the next one goes on where it ended."""

SURELY_OVER: Final = timedelta(minutes=10)
"""A run that began its time-out and so long ago is not being executed any more."""

_FIRST = UUID(int=0)


class Healing:
    """Walks through all runs that have not moved to the history, again and again.

    A run that is queued has its row in `dispatch`, or waits in `retries` for the end of a window;
    one that is retrying has its row there; one that is running has a hand-out, by which its loss is
    found. Without them it would stay as it is for ever.
    """

    def __init__(self, database: Database, clock: Clock, stopping: asyncio.Event) -> None:
        self._database = database
        self._clock = clock
        self._stopping = stopping
        self._after = _FIRST

    async def heal(self) -> None:
        """Look at as many runs as there is time for, and make the rows that are missing."""
        ends_s = self._clock.elapsed_s() + TURN_S
        while not self._stopping.is_set():
            row = await self._database.fetchrow(
                _Q["heal"], after=self._after, limit=PAGE, suspect_after=SUSPECT_AFTER
            )
            assert row is not None
            _tell("dispatch", row["enqueued"])
            _tell("retries", row["scheduled"])
            if row["running"]:
                await self._find_strays(row["running"])
            is_last = row["count"] < PAGE
            self._after = _FIRST if is_last else row["ended"]
            if is_last or self._clock.elapsed_s() >= ends_s:
                return

    async def _find_strays(self, running: Sequence[UUID]) -> None:
        strays: dict[UUID, list[UUID]] = defaultdict(list)
        for row in await self._database.fetch(_Q["strays"], run_ids=running):
            if not row["is_alive"] or _is_surely_over(row):
                strays[row["executor"]].append(row["id"])
        for executor, runs in strays.items():
            await self._database.fetch(
                _Q["hand_out_again"],
                executor=executor,
                partition=partition_of(executor),
                run_ids=runs,
            )
            _tell("handouts", runs)


def _is_surely_over(row: asyncpg.Record) -> bool:
    """Whether an executor that lives can't be executing the run any more: it keeps time-outs."""
    try:
        longest = timedelta(seconds=parse_duration(row["timeout"] or DEFAULT_TIMEOUT))
    except ScheduleError:
        return False
    over: bool = row["started_at"] + longest + SURELY_OVER < row["now"]
    return over


def _tell(table: str, runs: Sequence[UUID]) -> None:
    if runs:
        ROWS_HEALED.labels(table).inc(len(runs))
        log.error("rows.healed", table=table, runs=len(runs), first=str(runs[0]))
