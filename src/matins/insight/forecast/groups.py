"""Groups of jobs: what their due times have in common, so that they are expanded once for all.

Jobs of a group differ by nothing, or by nothing but a phase: where in the group's step the job's
anchor lies. Instants are whole seconds from 1970 UTC.
"""

from __future__ import annotations

from typing import Final

import msgspec

from matins.domain.schedules.cron.days import Days
from matins.domain.schedules.cron.pattern import Pattern
from matins.domain.schedules.rules import Rule
from matins.domain.time.civil import DAY_S, FIRST_S, LAST_S
from matins.domain.time.zones import Zone
from matins.domain.timetables.timetable import Timetable

MINUTE_S: Final = 60
HOUR_S: Final = 3600


class DayShape(msgspec.Struct, frozen=True):
    """The matching hours of a day, and the matching seconds of each such hour; sorted.

    All days that a cron expression matches have the same shape, and so have all their hours.
    """

    hours: tuple[int, ...]
    seconds: tuple[int, ...]


class CronGroup(msgspec.Struct, frozen=True, eq=False):
    """The due times of a cron expression, from `first` to `last`."""

    rule: Rule
    days: Days
    shape: DayShape
    zone: Zone
    jitter_s: int = 0
    first: int = FIRST_S
    last: int = LAST_S


class EveryGroup(msgspec.Struct, frozen=True):
    """Due each `step_s`, from `first` to `last`: seconds of real time, or with a zone whole
    calendar days at one wall time.
    """

    step_s: int
    zone: Zone | None = None
    jitter_s: int = 0
    first: int = FIRST_S
    last: int = LAST_S

    @property
    def spread_s(self) -> int:
        """Over how many seconds each fire is spread: jitter never reaches the next due time."""
        return min(self.jitter_s + 1, self.step_s)

    def phase(self, anchor: int) -> int:
        """Return the place of an anchor in the step."""
        wall = anchor if self.zone is None else anchor + self.zone.offset_at(anchor)
        return wall % self.step_s


class AtGroup(msgspec.Struct, frozen=True):
    """Due once, at the anchor itself, which is the phase."""

    jitter_s: int = 0

    def phase(self, anchor: int) -> int:
        """Return the anchor."""
        return anchor


class RateGroup(msgspec.Struct, frozen=True):
    """Due about each `step_s`, at unknown times: the ends of runs decide."""

    step_s: int
    first: int = FIRST_S
    last: int = LAST_S


class TimetableGroup(msgspec.Struct, frozen=True, eq=False):
    """Due times that have to be enumerated: the most costly kind."""

    timetable: Timetable
    jitter_s: int = 0


PlainGroup = CronGroup | RateGroup | TimetableGroup
"""All jobs of the group are due at the same times."""

PhasedGroup = EveryGroup | AtGroup
"""The phase of each job counts."""

Group = PlainGroup | PhasedGroup


def day_shape(pattern: Pattern) -> DayShape:
    """Read the hours and seconds of a pattern off one of its days."""
    day = pattern.days.next(0)
    assert day is not None, "a pattern without a day is refused when it is parsed"
    midnight = day * DAY_S
    hours, seconds = list[int](), list[int]()
    at = pattern.next_from(midnight)
    while at is not None and at < midnight + DAY_S:
        hours.append((at - midnight) // HOUR_S)
        hour_end = midnight + (hours[-1] + 1) * HOUR_S
        while len(hours) == 1 and at is not None and at < hour_end:
            seconds.append((at - midnight) % HOUR_S)
            at = pattern.next_from(at + 1)
        at = pattern.next_from(hour_end)
    return DayShape(tuple(hours), tuple(seconds))
