"""What owners' deeds to single runs need of the world. See `domain.ports`."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.states import RunState


class TriggeredRun(NamedTuple):
    """A run that was made by its owner, and the pool in whose queue it waits."""

    status: RunStatus
    pool: str


class FoundJob(NamedTuple):
    """A job that is there, and the database's clock."""

    id: UUID
    now: datetime


class RunChanges(Protocol):
    """Makes and ends single runs, each in one statement."""

    async def find_job(self, team: str, name: str) -> FoundJob | None:
        """Return a job by its name, also one that is paused."""

    async def trigger(self, run_id: UUID, job_id: UUID, due_at: datetime) -> TriggeredRun | None:
        """Make and queue a manual run; None if there is one due then, or the job is deleted."""

    async def cancel(self, run_id: UUID) -> RunStatus | None:
        """Cancel a run that waits, or ask for the end of one that is running; None if neither."""

    async def state(self, run_id: UUID) -> RunState | None:
        """Return where a run stands; None if there is none."""
