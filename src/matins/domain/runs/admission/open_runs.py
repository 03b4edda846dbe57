"""Unfinished runs of a job, and how it is kept in mind which there may be."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from matins.domain.runs.states import Kind, RunState
from matins.domain.values.ids import due_of

MARGIN: Final = timedelta(seconds=10)
"""So long after its due time a triggered run has its row at the latest: the trigger's deadline."""

NOTED_EVERY: Final = timedelta(minutes=1)
"""So far may `open_since` in a job's row lag behind, where nobody writes its next due time."""


class OpenRun(msgspec.Struct, frozen=True):
    """A run that is unfinished."""

    id: UUID
    due_at: datetime
    claimed_at: datetime
    kind: Kind
    state: RunState
    attempt: int = 0
    cancel_at: datetime | None = None
    awaits_replay: bool = False
    """It was dead, is to be replayed, and was not admitted since."""

    @property
    def is_started(self) -> bool:
        """Whether it was admitted: it is on the queue, runs, or waits for another attempt."""
        if self.state not in (RunState.WAITING, RunState.RETRYING):
            return True
        return self.attempt > 0 and not self.awaits_replay

    @property
    def makes_up(self) -> bool:
        """Whether it makes up for the past: on-time runs go before it."""
        return self.kind is Kind.BACKFILL or self.awaits_replay

    def goes_before(self, other: OpenRun) -> bool:
        """Return whether it is admitted first: first come, first served, and what makes up for
        the past last.
        """
        return _turn(self) < _turn(other)


class OpenRuns(msgspec.Struct, frozen=True):
    """Where to look for unfinished runs of a job: all that were due before `since` are over, but
    for `runs`.
    """

    since: datetime
    runs: tuple[UUID, ...] = ()

    def advanced(self, asked: Iterable[OpenRun], left: Iterable[OpenRun]) -> OpenRuns:
        """Return where to look next, after all there was had been looked at: runs were asked
        about, and these are left. Backfills, which are due in the past, are looked up apart.
        """
        since = max([self.since, *(run.due_at for run in asked)])
        kept = [run for run in left if run.due_at < since and run.kind is not Kind.BACKFILL]
        return OpenRuns(since, tuple(run.id for run in kept))

    @property
    def safe_since(self) -> datetime:
        """Since when whoever knows nothing of `runs` has to look."""
        since = min([self.since, *map(due_of, self.runs)]) if self.runs else self.since
        return since - MARGIN


def _turn(run: OpenRun) -> tuple[bool, datetime, datetime, UUID]:
    return run.makes_up, run.claimed_at, run.due_at, run.id
