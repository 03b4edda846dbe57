"""Schedules with `after: end`: due a length of time after the end of the run before."""

from __future__ import annotations

import msgspec

from matins.domain.schedules.every import Interval, IntervalRule
from matins.domain.schedules.rules import NoRule, Rule
from matins.domain.time.zones import Zone


class AfterEnd(msgspec.Struct, frozen=True, eq=False):
    """Due an interval after the end of the last run, from `first` to `last`.

    With `runs_max` only so many due times follow from when the schedule was set.
    """

    interval: Interval
    zone: Zone
    first: int
    last: int
    runs_max: int | None = None

    def rule(self, seed: str, anchor: int) -> Rule:
        """Return no due times: none is known before a run has ended."""
        del seed, anchor
        return NoRule()

    def next_after_end(self, ended: int, run_count: int = 0) -> int | None:
        """Return the due time that follows an end, in whole seconds from 1970 UTC, if any does.

        `run_count` is how many due times there were since the schedule was set.
        """
        if self.runs_max is not None and run_count >= self.runs_max:
            return None
        due = IntervalRule(self.interval, ended, self.zone).next_after(ended)
        return None if due is None or due > self.last else max(due, self.first)
