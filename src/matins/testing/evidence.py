"""What the history checker judges: what was due, what the rows say, what was really called."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal
from uuid import UUID

import msgspec

from matins.testing.calls import Call


class Invariant(StrEnum):
    """The promises that every history must keep."""

    ONCE = "I1"
    NO_GAP = "I2"
    ACKED = "I3"
    ENDS = "I4"
    FENCED = "I6"
    ON_TIME = "I7"
    TRUTHFUL = "I8"


class Due(msgspec.Struct, frozen=True):
    """A due time that must have its row, by the test's own computation."""

    job_id: UUID
    job: str
    due_at: datetime
    kind: str = "scheduled"


class EvidenceRow(msgspec.Struct, frozen=True):
    """A run's row; a skipped one may stand for `due_count` due times, up to `due_until`.

    Epoch 0: written under the job's own lock, without a lease.
    """

    run_id: UUID
    job_id: UUID
    due_at: datetime
    kind: str
    state: str
    reason: str
    attempt: int
    epoch: int
    partition: int
    claimed_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    due_until: datetime | None = None
    due_count: int = 1


class AttemptRow(msgspec.Struct, frozen=True):
    """An ended attempt's row."""

    run_id: UUID
    number: int
    outcome: str
    executor: UUID
    started_at: datetime
    finished_at: datetime


class Ack(msgspec.Struct, frozen=True):
    """A write that the API acknowledged: a job that was made, or a run that was triggered."""

    what: Literal["job", "run"]
    id: UUID
    name: str


class History(msgspec.Struct):
    """All that is known of one test, after it has come to rest.

    Read the calls first, then the attempts, then the rows: what comes later knows of what it needs.
    """

    due: list[Due]
    """Every due time before `until`, for every job that is judged."""
    rows: list[EvidenceRow]
    attempts: list[AttemptRow]
    calls: list[Call]
    acks: list[Ack] = []
    jobs: frozenset[UUID] = frozenset()
    """The jobs that exist at the end; only needed to judge acks of jobs."""
    until: datetime | None = None
    """Rows due from here on may be unfinished, and need not be in `due`; None: all are judged."""
    unnoted: frozenset[UUID] = frozenset()
    """The jobs whose target is not the call recorder."""
    cut_off: frozenset[UUID] = frozenset()
    """Executors that were frozen or cut off: what they began may overlap with the next attempt."""
    slack: timedelta = timedelta()
    """How far apart the clocks of the database and of the call recorder may be."""


class Violation(msgspec.Struct, frozen=True):
    """A promise that was not kept, by whom and when."""

    invariant: Invariant
    message: str
