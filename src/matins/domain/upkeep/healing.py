"""Rows that went missing beside a run, by a restore or by a mistake."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import ScheduleError

SURELY_OVER: Final = timedelta(minutes=10)
"""How long after its time-out a run isn't being executed any more, whoever has it."""


class Repaired(msgspec.Struct, frozen=True):
    """What was put back beside the runs of one page, and which of them are running."""

    count: int
    """How many runs the page has."""
    last: UUID | None
    """Where it ends; None for an empty page."""
    enqueued: list[UUID]
    rescheduled: list[UUID]
    running: list[UUID]


class StrayRun(msgspec.Struct, frozen=True):
    """A running run that is in no hand-out of its executor, or whose executor isn't known."""

    run_id: UUID
    executor: UUID
    is_executor_alive: bool
    started_at: datetime
    timeout: str
    now: datetime
    """When it was looked at."""

    @property
    def is_abandoned(self) -> bool:
        """Whether nobody executes it: its executor ended, or lives and keeps time-outs."""
        return not self.is_executor_alive or self._is_surely_over()

    def _is_surely_over(self) -> bool:
        try:
            longest = timedelta(seconds=parse_duration(self.timeout))
        except ScheduleError:
            return False
        return self.started_at + longest + SURELY_OVER < self.now
