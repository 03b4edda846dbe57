"""What owners' deeds to single runs need of the world. See `domain.ports`."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

from matins.domain.executors.protocol import RunStatus
from matins.domain.jobs.overlap import OverlapPolicy
from matins.domain.jobs.targets import Target
from matins.domain.runs.admission.open_runs import OpenRun
from matins.domain.runs.admission.waiting import Verdict
from matins.domain.runs.inputs import NO_INPUT, RunInput


class TriggeredRun(NamedTuple):
    """A run that was made by its owner, and the pool in whose queue it waits."""

    status: RunStatus
    pool: str


class KeyedRun(NamedTuple):
    """The run for which an idempotency key stands, and the fingerprint of what was asked for."""

    id: UUID
    fingerprint: str


class FoundJob(NamedTuple):
    """A job that is there, what decides about a run of it that is triggered, and the database's
    clock.

    `first_open` is looked up where it decides. `target` is None if it can't be read. `keyed` is
    what was made with the key that was asked for. `has_letter`: so has the run that is asked for.
    """

    id: UUID
    now: datetime
    overlap: OverlapPolicy
    first_open: OpenRun | None = None
    target: Target | None = None
    keyed: KeyedRun | None = None
    has_letter: bool = False


class ChangedRun(NamedTuple):
    """A run that was ended, is to end, or is to be tried again now, and its job."""

    status: RunStatus
    job_id: UUID


class RunChanges(Protocol):
    """Makes and ends single runs, each in one statement."""

    async def find_job(
        self, team: str, name: str, key: str | None = None, replay_of: UUID | None = None
    ) -> FoundJob | None:
        """Return a job by its name, also one that is paused; and whether a run of it has a dead
        letter.
        """

    async def trigger(  # noqa: PLR0913 # what a run is made of
        self,
        run_id: UUID,
        job_id: UUID,
        due_at: datetime,
        verdict: Verdict,
        run_input: RunInput = NO_INPUT,
        key: str | None = None,
        *,
        allow_overlap: bool = False,
        replay_of: UUID | None = None,
        by: str = "",
    ) -> TriggeredRun | None:
        """Make a manual run: queued, skipped, or waiting to be asked about. None if there is one
        due then or made with this key, or the job is deleted.

        Where it stands for a dead run of the job, the letter of that is closed `by` somebody; None
        without one.
        """

    async def cancel(self, run_id: UUID, reason: str) -> ChangedRun | None:
        """Cancel a run that waits, or ask for the end of one that is running; None if neither."""

    async def retry_now(self, run_id: UUID) -> ChangedRun | None:
        """Let the next attempt of a run that is tried again be due now, at the latest; None if it
        waits for none.
        """

    async def stop_retrying(self, run_id: UUID, reason: str) -> ChangedRun | None:
        """Make a dead letter of a run that waits for its next attempt; None if it waits for none.

        Its last failure stands behind the reason.
        """

    async def replay(self, run_id: UUID, by: str = "") -> RunStatus | None:
        """Let a dead run wait for one attempt more, as somebody wants, whose name it keeps, and
        close its dead letter; None if it has none, its job is deleted, its day was
        purged, or a due time was counted from its end.
        """

    async def status(self, run_id: UUID) -> RunStatus | None:
        """Return how a run stands; None if there is none."""
