"""What backfills need of the world: of their owners, and of the scheduler that makes their runs.

See `domain.ports`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

import msgspec

from matins.domain.jobs.spec import JobSpec
from matins.domain.runs.admission.waiting import Waiting
from matins.domain.runs.backfills.expansion import JobPast, Ledger
from matins.domain.runs.backfills.stepping import BackfillStep, OpenBackfill
from matins.domain.runs.backfills.values import Backfill, BackfillState, LeftOut, Span


class BackfilledJob(NamedTuple):
    """A job that is to be backfilled, as it was, and the database's clock."""

    id: UUID
    spec: JobSpec
    past: JobPast
    now: datetime


class NewBackfill(msgspec.Struct, frozen=True):
    """A backfill that is to be made; `gaps` are times in which no due time can be told."""

    id: UUID
    job_id: UUID
    span: Span
    limit: int
    planned: int
    reason: str
    gaps: Sequence[LeftOut]


class BackfillChanges(Protocol):
    """The owners' side of backfills."""

    async def find_job(self, team: str, name: str) -> BackfilledJob | None:
        """Return a job by its name, also one that is paused."""

    async def ledger(self, job_id: UUID, first: datetime, last: datetime) -> Ledger:
        """Return what is recorded of a job's due times, both ends included."""

    async def create(self, backfill: NewBackfill) -> bool:
        """Make a backfill, and let claims of its job be asked about.

        False if the job has one that is unfinished, or was deleted.
        """

    async def find_unfinished(self, job_id: UUID) -> UUID | None:
        """Return the unfinished backfill of a job; it has one at most."""

    async def change(
        self, backfill_id: UUID, before: Collection[BackfillState], state: BackfillState
    ) -> bool:
        """Change the state of an unfinished backfill, if it is one of those; False if it is not."""

    async def find_backfill(self, backfill_id: UUID) -> Backfill | None:
        """Return how a backfill stands; None if there is none."""

    async def open_runs(self, backfill_id: UUID) -> list[UUID]:
        """Return the runs of a backfill of which it is not noted that they have ended."""


class BackfillSteps(Protocol):
    """The scheduler's side of backfills."""

    async def unfinished_backfills(self, partitions: Collection[int]) -> list[OpenBackfill]:
        """Return the backfills in these partitions that have not come to their end."""

    async def job_past(self, job_id: UUID) -> JobPast:
        """Return a job as it was."""

    async def ledger(self, job_id: UUID, first: datetime, last: datetime) -> Ledger:
        """Return what is recorded of a job's due times, both ends included."""

    async def proceed(
        self, holder: UUID, epochs: Mapping[int, int], step: BackfillStep
    ) -> list[Waiting]:
        """Carry out a step, in one statement with its fence; return the runs that were made.

        They wait to be asked about. Nothing at all is done where the lease is not in force, or
        where the backfill has gone on since.
        """
