"""`every`: due again and again after a length of time, from an anchor or from each run's end.

Hours, minutes and seconds are real time. Days and weeks are calendar days at the anchor's wall
time, so that `1d` stays at 09:00 when clocks change while `24h` does not.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from matins.domain.time.civil import DAY_S, LAST_S
from matins.domain.time.zones import Zone
from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import ScheduleError

_DAYS: Final = re.compile(r"P?(?:(\d+)W)?(?:(\d+)D)?.*", re.ASCII | re.IGNORECASE)


class Interval(msgspec.Struct, frozen=True):
    """A length of time: calendar days, then seconds of real time."""

    days: int
    seconds: int


def parse_interval(text: str) -> Interval:
    """Read an interval of whole seconds, at least one; raises ScheduleError."""
    length = parse_duration(text)
    if length == 0:
        raise ScheduleError(f"{text[:40]!r} is no time at all; write 1s or more")
    if length != int(length):
        raise ScheduleError(f"{text[:40]!r} has a fraction of a second; write whole seconds")
    match = _DAYS.fullmatch(text)
    weeks, days = match.groups(default="0") if match else ("0", "0")
    calendar_days = int(weeks) * 7 + int(days)
    return Interval(calendar_days, int(length) - calendar_days * DAY_S)


class IntervalRule:
    """Due at the anchor and after each interval from it on; never before the anchor."""

    __slots__ = ("_anchor", "_interval", "_step_s", "_wall", "_zone")

    def __init__(self, interval: Interval, anchor: int, zone: Zone) -> None:
        self._interval = interval
        self._anchor = anchor
        self._zone = zone
        self._wall = anchor + zone.offset_at(anchor)
        self._step_s = interval.days * DAY_S + interval.seconds

    def next_after(self, instant: int) -> int | None:
        """Give the first due time strictly after an instant."""
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
        """Give the last due time strictly before an instant."""
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
        """Give the n-th due time; the anchor is number 0."""
        if number <= 0:
            return self._anchor + number * self._step_s
        wall = self._wall + number * self._interval.days * DAY_S
        return self._zone.first_reached(wall) + number * self._interval.seconds


class Following:
    """Due a length of time after the end of the last run, from `first` to `last`.

    With `runs_max` only so many due times follow from when the schedule was set.
    """

    __slots__ = ("_first", "_interval", "_last", "_runs_max", "_zone")

    def __init__(
        self, interval: Interval, zone: Zone, first: int, last: int, runs_max: int | None = None
    ) -> None:
        self._interval = interval
        self._zone = zone
        self._first = first
        self._last = last
        self._runs_max = runs_max

    def next_after_end(self, ended: int, run_count: int = 0) -> int | None:
        """Give the due time that follows an end, in whole seconds from 1970 UTC, if any does.

        `run_count` is how many due times there were since the schedule was set.
        """
        if self._runs_max is not None and run_count >= self._runs_max:
            return None
        due = IntervalRule(self._interval, ended, self._zone).next_after(ended)
        return None if due is None or due > self._last else max(due, self._first)
