"""`rrule`: recurrence rules of RFC 5545 as rules of ours.

The standard leaves some things open or contradicts itself; this is what we do. A DTSTART that its
rule does not hit is not due (without a rule it is). A wall time that the rule generates and that
clocks skip is left out and not counted; one that was written (RDATE) has the offset from before.
FREQ=HOURLY and finer follow real time. UNTIL, EXDATE and RDATE without Z or TZID are read with the
TZID of DTSTART, or else in the schedule's zone; a date as UNTIL or EXDATE means all of its day.
BYWEEKNO without a day means the weekday of DTSTART.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import date

from matins.domain.schedules.at import InstantsRule
from matins.domain.schedules.every import Interval, IntervalRule
from matins.domain.schedules.rrule.days import (
    Gate,
    RecurrenceDays,
    YearDays,
    every_month,
    every_year,
    in_cycle,
)
from matins.domain.schedules.rrule.elapsed import ElapsedRule
from matins.domain.schedules.rrule.parts import UNIT_S, Frequency, Parts
from matins.domain.schedules.rrule.positions import ChosenWallSequence
from matins.domain.schedules.rrule.text import Recurrence, parse_recurrence
from matins.domain.schedules.rrule.wall_rule import (
    DailyWallSequence,
    WallRule,
    WallSequence,
    times_of_day,
)
from matins.domain.schedules.rules import LimitedRule, Rule, UnionRule
from matins.domain.time.civil import DAY_S, LAST_S
from matins.domain.time.zones import Zone, find_zone


def read_recurrence(text: str, zone: Zone, start: int) -> Rule:
    """Compile the lines DTSTART, RRULE, RDATE and EXDATE, or only the value of an RRULE.

    Local times without a TZID are in `zone`; without a DTSTART the rule starts at the instant
    `start`, in seconds from 1970 UTC. Raises ScheduleError.
    """
    return recurrence_rule(parse_recurrence(text, zone).starting(start))


def recurrence_rule(recurrence: Recurrence) -> Rule:
    """Return the due times of a recurrence."""
    rules: list[Rule] = []
    if recurrence.parts is not None:
        rules.append(_ended(recurrence, recurrence.parts))
    if recurrence.added:
        rules.append(InstantsRule(recurrence.added))
    rule = rules[0] if len(rules) == 1 else UnionRule(rules)
    return ExcludingRule(rule, recurrence.excluded) if recurrence.excluded else rule


class ExcludingRule:
    """The due times of a rule outside of some spans, given as first instants and ends."""

    __slots__ = ("_base", "_ends", "_firsts")

    def __init__(self, base: Rule, spans: list[tuple[int, int]]) -> None:
        self._base = base
        self._firsts = [first for first, _ in spans]
        self._ends = [end for _, end in spans]

    def next_after(self, instant: int) -> int | None:
        """Return the first due time strictly after an instant."""
        due = self._base.next_after(instant)
        while due is not None:
            index = bisect_right(self._firsts, due) - 1
            if index < 0 or due >= self._ends[index]:
                return due
            due = self._base.next_after(self._ends[index] - 1)
        return None

    def previous_before(self, instant: int) -> int | None:
        """Return the last due time strictly before an instant."""
        due = self._base.previous_before(instant)
        while due is not None:
            index = bisect_left(self._ends, due + 1)
            if index == len(self._ends) or due < self._firsts[index]:
                return due
            due = self._base.previous_before(self._firsts[index])
        return None


def _ended(read: Recurrence, parts: Parts) -> Rule:
    """Return the rule up to its UNTIL, or up to the last that COUNT counts."""
    last = read.until
    rule: Rule
    if parts.frequency in UNIT_S and not parts.is_limited:
        step_s = parts.interval * UNIT_S[parts.frequency]
        rule = IntervalRule(Interval(0, step_s), read.start, find_zone("UTC"))
        if parts.count is not None:
            last = read.start + (parts.count - 1) * step_s
    else:
        rule = _counted_rule(read, parts)
        if parts.count is not None:
            last = rule.nth(parts.count)
    return rule if last is None or last >= LAST_S else LimitedRule(rule, last=last)


def _counted_rule(read: Recurrence, parts: Parts) -> WallRule | ElapsedRule:
    day = read.wall // DAY_S
    first = date.fromordinal(date(1970, 1, 1).toordinal() + day)
    years = YearDays(parts, first)
    if parts.frequency in UNIT_S:
        return ElapsedRule(parts, years, read.clock, read.start)
    clock = read.wall % DAY_S
    times = times_of_day(
        parts.hours or [clock // 3600],
        parts.minutes or [clock // 60 % 60],
        parts.seconds or [clock % 60],
    )
    days = RecurrenceDays(years, _gate(parts, first, day), day)
    walls: WallSequence = DailyWallSequence(days, times, read.clock)
    if parts.positions:
        walls = ChosenWallSequence(parts, years, days, times, read.clock)
    return WallRule(walls, read.clock, read.start)


def _gate(parts: Parts, first: date, day: int) -> Gate | None:
    """Return what INTERVAL keeps, counted from the period of the first day."""
    interval = parts.interval
    if interval == 1:
        return None
    match parts.frequency:
        case Frequency.YEARLY:
            return every_year(first.year, interval)
        case Frequency.MONTHLY:
            return every_month(first.year * 12 + first.month - 1, interval)
        case Frequency.WEEKLY:
            week = day - (day + 3 - parts.week_start) % 7
            return in_cycle(week, 7 * interval, 0x7F)
        case _:
            return in_cycle(day, interval, 1)
