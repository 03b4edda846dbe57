"""What is asked of, and told about, all jobs of a team that have some labels."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from matins.domain.jobs.misfire import Missed


class PauseMany(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pause of all jobs of a team that have these labels; without any, of all of its jobs."""

    reason: str = ""
    until: datetime | None = None
    missed: Missed = "skip"
    labels: dict[str, str] = {}


class ResumeMany(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to resume all jobs of a team that have these labels; without any, all of its jobs."""

    missed: Missed = "skip"
    reason: str = ""
    labels: dict[str, str] = {}


class JobOutcome(msgspec.Struct, frozen=True):
    """What became of one of many jobs: `reason` says why it is `unchanged`, or `refused`."""

    job: str
    change: Literal["created", "changed", "unchanged", "paused", "resumed", "deleted", "refused"]
    skipped: int = 0
    queued: int = 0
    reason: str = ""


class SelectionChanged(msgspec.Struct, frozen=True):
    """What became of all jobs that a team and labels select, by name.

    So many were `changed`, and so many due times of theirs that had passed `skipped` or `queued`.
    """

    jobs: list[JobOutcome]
    changed: int
    skipped: int = 0
    queued: int = 0
