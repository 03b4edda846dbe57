"""The last runs of a job, as a list of jobs shows them, and how long a run of it takes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from matins.domain.runs.states import RunState

RECENT_MAX: Final = 30
"""The most runs of each job that are given."""


class RecentRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run, and how it stands or ended. It ran from `started_at`, of its last attempt."""

    id: UUID
    due_at: datetime
    fire_at: datetime
    kind: str
    state: RunState
    started_at: datetime | None = None
    finished_at: datetime | None = None
    attempt: int = 0
    reason: str = ""

    @property
    def took_s(self) -> float | None:
        """How long its last attempt took, if it has ended."""
        if self.started_at is None or self.finished_at is None:
            return None
        return (self.finished_at - self.started_at).total_seconds()


class RecentRuns(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job's last runs, newest due time first; `p95_s` of those that succeeded."""

    runs: list[RecentRun] = []
    p95_s: float | None = None

    @classmethod
    def of(cls, runs: Sequence[RecentRun]) -> RecentRuns:
        """Sum up runs."""
        return cls(list(runs), usual_s(runs))


def usual_s(runs: Sequence[RecentRun]) -> float | None:
    """Return how long 95 of a hundred successful runs take at most; None if none succeeded.

    It is what one of them took (the nearest rank), so that of less than twenty it is the longest.
    """
    succeeded = (run.took_s for run in runs if run.state is RunState.SUCCEEDED)
    took = sorted(seconds for seconds in succeeded if seconds is not None)
    return took[-(len(took) // 20) - 1] if took else None
