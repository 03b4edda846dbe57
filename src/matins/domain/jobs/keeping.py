"""How long the rows of runs that are over are kept."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from matins.domain.values.errors import Problem, below

DAYS = 90
"""How many days runs are kept where nobody says it."""

DAYS_MAX = 36_500
_RUNS_MAX = 1_000_000


class KeepLimits(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Runs are kept for so many days after their due time, and of a job no more than so many."""

    days: int | None = None
    runs: int | None = None

    def problems(self) -> list[Problem]:
        """Return what is wrong with it; `where` is relative to it."""
        problems = []
        for name, count, most in (("days", self.days, DAYS_MAX), ("runs", self.runs, _RUNS_MAX)):
            if count is not None and not 1 <= count <= most:
                problems.append(Problem(name, f"is {count}; it must be from 1 to {most}"))
        return problems


class Keep(KeepLimits, frozen=True):
    """What is kept of a job's runs; `others` is for those that did not succeed, if it differs."""

    others: KeepLimits | None = None

    def problems(self) -> list[Problem]:
        """Return what is wrong with it; `where` is relative to it."""
        problems = super().problems()
        return problems + (below("others", self.others.problems()) if self.others else [])


class Kept(msgspec.Struct, frozen=True):
    """How many days and runs are kept, of those that succeeded and of the others."""

    days: int
    runs: int | None
    others_days: int
    others_runs: int | None

    @property
    def longest_days(self) -> int:
        """After so many days nothing is kept."""
        return max(self.days, self.others_days)

    def until(self, now: datetime) -> tuple[datetime, datetime]:
        """Return up to when runs are too old: those that succeeded, and the others."""
        return now - timedelta(self.days), now - timedelta(self.others_days)


def kept(job: Keep | None = None, team: Keep | None = None, usual_days: int = DAYS) -> Kept:
    """Return what holds for a job: what it says itself, else what its team says, else the usual."""
    keep = job or team or Keep()
    days = keep.days or usual_days
    rest = keep.others or keep
    return Kept(days, keep.runs, rest.days or days, rest.runs)
