"""Schedules with `after: {jobs: …}`: due with the runs of other jobs, once these have ended."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

import msgspec

from matins.domain.schedules.rules import NoRule, Rule
from matins.domain.values.errors import Problem
from matins.domain.values.names import name_problems

When = Literal["all_success", "any_success", "all_done", "any_failure"]
Join = Literal["due_time", "latest"]

JOBS_MAX: Final = 20
"""The most jobs that one follows."""


class AfterJobs(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Due with each run of the first of `jobs`, the leader, and at its due time.

    Of the others the run with the same due time counts, or by `latest` the newest one that is due
    no later. It starts as soon as `when` is met, and is skipped as soon as that can't be any more.
    """

    EXAMPLE: ClassVar[str] = "{jobs: [extract, load], when: all_success}"

    jobs: list[str]
    when: When = "all_success"
    join: Join = "due_time"

    def problems(self) -> list[Problem]:
        """Return what is wrong with it; `where` is relative to it."""
        if not 1 <= len(self.jobs) <= JOBS_MAX:
            return [Problem("jobs", f"names {len(self.jobs)} jobs; name 1 to {JOBS_MAX}")]
        problems = []
        for index, name in enumerate(self.jobs):
            problems += name_problems(f"jobs[{index}]", name)
            if name in self.jobs[:index]:
                problems.append(Problem(f"jobs[{index}]", f"names {name!r} again; write it once"))
        return problems


class Chained(msgspec.Struct, frozen=True, eq=False):
    """What `after: {jobs: …}` is parsed to."""

    after: AfterJobs

    def rule(self, seed: str, anchor: int) -> Rule:
        """Return no due times: each comes with the row of another job's run."""
        del seed, anchor
        return NoRule()
