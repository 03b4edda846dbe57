"""Pauses: why a job is paused, until when, and what becomes of what it misses."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Final

import msgspec

from matins.domain.jobs.misfire import Missed
from matins.domain.time.instants import instant_problems
from matins.domain.values.errors import Problem
from matins.domain.values.texts import length_problems

REASON_MAX: Final = 500
"""The longest reason of a change, in characters."""


class Pause(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A pause. With `until` the job goes on by itself then; what it missed up to then is skipped,
    or the last or all of it is run.
    """

    EXAMPLE: ClassVar[str] = "{reason: the vendor is down, until: 2026-12-01T06:00:00Z}"

    reason: str = ""
    until: datetime | None = None
    missed: Missed = "skip"

    def problems(self, now: datetime) -> list[Problem]:
        """Return what is wrong with it; `where` is relative to the pause."""
        problems = reason_problems(self.reason)
        if self.until is not None:
            problems += instant_problems("until", self.until)
            if not problems and self.until <= now:
                problems.append(Problem("until", "has passed; it must lie in the future"))
        elif self.missed != "skip":
            rule = "goes with `until`; otherwise it is for the resume to say"
            problems.append(Problem("missed", rule))
        return problems


NO_END: Final = Pause()
"""A pause without a reason, until its owner resumes the job."""


def reason_problems(reason: str) -> list[Problem]:
    """Return what is wrong with the reason of a change."""
    return length_problems("reason", reason, REASON_MAX)
