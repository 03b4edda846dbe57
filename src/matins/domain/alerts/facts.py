"""What is known of a job when its levels are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import msgspec

from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.runs.states import Kind, RunState


class SeenRun(NamedTuple):
    """A run of the job. `started_at` is that of its last attempt.

    `due_until`: it stands for all due times up to then, which were skipped.
    """

    id: UUID
    kind: Kind
    state: RunState
    due_at: datetime
    fire_at: datetime
    claimed_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    attempt: int
    reason: str
    due_count: int
    due_until: datetime | None = None

    @property
    def last_due_at(self) -> datetime:
        """The last due time that it stands for."""
        return self.due_until or self.due_at

    @property
    def is_ended(self) -> bool:
        """Whether it was tried, and is over by itself."""
        return self.state in (RunState.SUCCEEDED, RunState.DEAD)

    @property
    def took_s(self) -> float | None:
        """How long its last attempt took, once it is over."""
        if self.started_at is None or self.finished_at is None:
            return None
        return (self.finished_at - self.started_at).total_seconds()


class JobFacts(msgspec.Struct, frozen=True):
    """A job, its newest runs (the newest due time first; none of a backfill), and the time.

    Their last one may be an older run: that which died last.

    `watched_from`: what happened before, nobody is told of. `expect_from`: since when a success can
    be expected. `succeeded_at`: the end of the last one. `expected_by`: by when there should have
    been another, by the schedule.
    """

    now: datetime
    job_id: UUID
    spec: JobSpec
    state: JobState
    reason: str
    changed_at: datetime
    runs: Sequence[SeenRun]
    watched_from: datetime
    expect_from: datetime
    succeeded_at: datetime | None = None
    next_fire_at: datetime | None = None
    next_due_at: datetime | None = None
    expected_by: datetime | None = None

    @property
    def ended(self) -> list[SeenRun]:
        """The runs that were tried and are over, the newest end first."""
        over = [run for run in self.runs if run.is_ended and run.finished_at]
        return sorted(over, key=lambda run: (run.finished_at, run.id), reverse=True)

    @property
    def claimed_until(self) -> datetime | None:
        """The newest due time of the schedule that has its run."""
        due = [run.last_due_at for run in self.runs if run.kind is Kind.SCHEDULED]
        return max(due, default=None)
