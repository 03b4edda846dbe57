"""Schedules of kind `every`: due again and again after a length of time, from an anchor on.

Hours, minutes and seconds are real time. Days and weeks are calendar days at the anchor's wall
time, so that `1d` stays at 09:00 when clocks change while `24h` does not.
"""

from __future__ import annotations

import re
from typing import ClassVar, Final

import msgspec

from matins.domain.schedules.report import ProblemReport
from matins.domain.schedules.rules import Rule
from matins.domain.schedules.schedule import Times
from matins.domain.time.civil import DAY_S, LAST_S
from matins.domain.time.instants import parse_instant
from matins.domain.time.zones import Zone
from matins.domain.values.durations import parse_whole_seconds
from matins.domain.values.errors import ScheduleError

_DAYS: Final = re.compile(r"P?(?:(\d+)W)?(?:(\d+)D)?.*", re.ASCII | re.IGNORECASE)


class Interval(msgspec.Struct, frozen=True):
    """A length of time: calendar days, then seconds of real time."""

    days: int
    seconds: int

    @property
    def length_s(self) -> int:
        """Its length where no clocks change, in seconds."""
        return self.days * DAY_S + self.seconds


def parse_interval(text: str) -> Interval:
    """Read an interval of whole seconds, at least one; raises ScheduleError."""
    length = parse_whole_seconds(text)
    if length == 0:
        raise ScheduleError(f"{text[:40]!r} is no time at all; write 1s or more")
    match = _DAYS.fullmatch(text)
    weeks, days = match.groups(default="0") if match else ("0", "0")
    calendar_days = int(weeks) * 7 + int(days)
    return Interval(calendar_days, length - calendar_days * DAY_S)


class IntervalRule:
    """Due at the anchor and after each interval from it on; never before the anchor."""

    __slots__ = ("_anchor", "_interval", "_step_s", "_wall", "_zone")

    def __init__(self, interval: Interval, anchor: int, zone: Zone) -> None:
        self._interval = interval
        self._anchor = anchor
        self._zone = zone
        self._wall = anchor + zone.offset_at(anchor)
        self._step_s = interval.length_s

    def next_after(self, instant: int) -> int | None:
        """Return the first due time strictly after an instant."""
        if instant < self._anchor:
            return self._anchor
        number = (instant - self._anchor) // self._step_s
        if not self._interval.days:
            due = self._anchor + (number + 1) * self._step_s
        else:
            while self._due(number) > instant:
                number -= 1
            while (due := self._due(number)) <= instant:
                number += 1
        return due if due <= LAST_S else None

    def previous_before(self, instant: int) -> int | None:
        """Return the last due time strictly before an instant."""
        if instant <= self._anchor:
            return None
        number = (instant - 1 - self._anchor) // self._step_s
        if not self._interval.days:
            return self._anchor + number * self._step_s
        while self._due(number) < instant:
            number += 1
        while (due := self._due(number)) >= instant:
            number -= 1
        return due

    def _due(self, number: int) -> int:
        """Return the n-th due time; the anchor is number 0."""
        if number <= 0:
            return self._anchor + number * self._step_s
        wall = self._wall + number * self._interval.days * DAY_S
        return self._zone.first_reached(wall) + number * self._interval.seconds


class Every(msgspec.Struct, frozen=True, eq=False):
    """An interval, from an anchor of its own or from that of each job."""

    ENDS: ClassVar[bool] = False

    interval: Interval
    anchor: int | None
    zone: Zone

    @classmethod
    def parse(cls, times: Times, zone: Zone, report: ProblemReport) -> Every | None:
        """Parse it; None if it can't be, which is reported."""
        assert times.every is not None
        interval, anchor = report.attempt("every", parse_interval, times.every), None
        if times.anchor is not None:
            anchor = report.attempt("anchor", parse_instant, times.anchor, zone)
        return None if interval is None else cls(interval, anchor, zone)

    def start(self, anchor: int) -> int:
        """Return the instant from which a job with an anchor counts."""
        return anchor if self.anchor is None else self.anchor

    def rule(self, seed: str, anchor: int) -> Rule:
        """Return the due times of a job with an anchor."""
        del seed
        return IntervalRule(self.interval, self.start(anchor), self.zone)
