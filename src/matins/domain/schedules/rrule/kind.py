"""Schedules of kind `rrule`: due by a recurrence rule of RFC 5545."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, Final

import msgspec

from matins.domain.schedules.report import ProblemReport
from matins.domain.schedules.rrule.recurrences import recurrence_rule
from matins.domain.schedules.rrule.text import Recurrence, parse_recurrence
from matins.domain.schedules.rules import Rule
from matins.domain.schedules.schedule import Times
from matins.domain.time.zones import Zone
from matins.domain.values.errors import ScheduleError

_SHARED_MAX: Final = 16_384


class RRule(msgspec.Struct, frozen=True, eq=False):
    """A recurrence, whose times without a zone of their own are in the schedule's zone."""

    ENDS: ClassVar[bool] = True

    text: str
    zone: Zone
    written: Recurrence

    @classmethod
    def parse(cls, times: Times, zone: Zone, report: ProblemReport) -> RRule | None:
        """Parse it; None if it can't be, which is reported."""
        assert times.rrule is not None
        return report.attempt("rrule", read_rrule, times.rrule, zone)

    def recurrence(self, anchor: int) -> Recurrence:
        """Return what it says for a job with an anchor, at which it starts without a DTSTART.

        Raises ScheduleError if it can't start there.
        """
        try:
            return self.written.starting(anchor)
        except ScheduleError as error:
            raise ScheduleError(f"rrule: {error}") from error

    def rule(self, seed: str, anchor: int) -> Rule:
        """Return the due times of a job with an anchor. Raises ScheduleError as `recurrence`."""
        del seed
        return _rule(self, self.written.start if self.written.has_start else anchor)


@lru_cache(maxsize=_SHARED_MAX)
def read_rrule(text: str, zone: Zone) -> RRule:
    """Read a text, each once for all schedules that have it. Raises ScheduleError."""
    return RRule(text, zone, parse_recurrence(text, zone))


@lru_cache(maxsize=_SHARED_MAX)
def _rule(rrule: RRule, start: int) -> Rule:
    return recurrence_rule(rrule.recurrence(start))
