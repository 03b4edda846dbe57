"""What is told of one due time or run."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal
from uuid import UUID

import msgspec

StepName = Literal[
    "asked", "before", "made", "due", "fires", "claimed", "skipped", "waits", "queued", "runs",
    "attempt", "retry", "cancel", "ended", "stopped", "upstream", "other", "holder", "now", "next",
]  # fmt: skip


class Standing(StrEnum):
    """Where something stands: the state of its run; where there is none, why."""

    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    TO_COME = "to_come"
    TO_BE_CLAIMED = "to_be_claimed"
    MISSING = "missing"
    PURGED = "purged"
    NOT_DUE = "not_due"
    NO_SCHEDULE = "no_schedule"
    PAUSED = "paused"
    QUARANTINED = "quarantined"
    DELETED = "deleted"
    UNREADABLE = "unreadable"


class Step(msgspec.Struct, frozen=True):
    """What happened at an instant, or will: one sentence."""

    at: datetime
    step: StepName
    text: str


class Explanation(msgspec.Struct, frozen=True):
    """Why something did, did not, or does not yet happen: steps in the order of time, and what
    follows from them.

    `so` is the verdict, and what to do about it if there is anything to do.
    """

    team: str
    job: str
    due_at: datetime | None
    run: UUID | None
    state: Standing
    steps: list[Step]
    so: str
