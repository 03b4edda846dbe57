"""What is asked of, and told about, all jobs of a team that have some labels."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import msgspec

from matins.domain.jobs.misfire import Missed
from matins.domain.values.errors import Problem
from matins.domain.values.texts import label_problems


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


class Relabel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which labels a job gets, or gets another value of, and which it loses."""

    add: dict[str, str] = {}
    drop: list[str] = []
    reason: str = ""

    def problems(self) -> list[Problem]:
        """Return what is wrong with it, whatever the job."""
        if not (self.add or self.drop):
            return [Problem("add", "is empty, and so is `drop`; name a label to add or to drop")]
        both = sorted(self.add.keys() & set(self.drop))
        told = [Problem("drop", f"has {name!r}, which is to be added, too") for name in both[:1]]
        return told + label_problems(self.add)


class RelabelMany(Relabel, frozen=True, forbid_unknown_fields=True):
    """How to label all jobs of a team that have these labels; without any, all of its jobs."""

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
    With `next` there may be more: it is the last of those that were asked for by `limit`.
    """

    jobs: list[JobOutcome]
    changed: int
    skipped: int = 0
    queued: int = 0
    next: str | None = None


def told_together(parts: Sequence[SelectionChanged]) -> SelectionChanged:
    """Return what became of jobs that were changed part by part."""
    return SelectionChanged(
        [outcome for part in parts for outcome in part.jobs],
        sum(part.changed for part in parts),
        sum(part.skipped for part in parts),
        sum(part.queued for part in parts),
    )
