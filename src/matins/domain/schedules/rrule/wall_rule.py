"""Recurrence rules in wall time: FREQ=DAILY and coarser.

A wall time that clocks skip is left out before BYSETPOS and COUNT see it, as RFC 5545, 3.3.10
demands; one that occurs twice is met in its first pass.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from datetime import MAXYEAR
from functools import lru_cache
from typing import Protocol

from matins.domain.schedules.rrule.days import END_DAY, RecurrenceDays, year_of, year_start
from matins.domain.time.civil import DAY_S, LAST_S
from matins.domain.time.wall_clock import WallClock


def times_of_day(
    hours: Sequence[int], minutes: Sequence[int], seconds: Sequence[int]
) -> Sequence[int]:
    """Return the seconds of a day at these sorted hours, minutes and seconds."""
    in_hour = [minute * 60 + second for minute in minutes for second in seconds]
    return [hour * 3600 + second for hour in hours for second in in_hour]


class WallSequence(Protocol):
    """Wall times in order, and the n-th of them from one on, which is 1."""

    def next_from(self, wall: int) -> int | None: ...
    def last_until(self, wall: int) -> int | None: ...
    def nth_from(self, wall: int, number: int) -> int | None: ...


class WallRule:
    """Due at wall times, each when it is first shown, from an instant on."""

    __slots__ = ("_clock", "_start", "_walls")

    def __init__(self, walls: WallSequence, clock: WallClock, start: int) -> None:
        self._walls = walls
        self._clock = clock
        self._start = start

    def next_after(self, instant: int) -> int | None:
        """Return the first due time strictly after an instant."""
        clock = self._clock
        shown = clock.latest_wall(max(min(instant, LAST_S), self._start - 1))
        wall = self._walls.next_from(shown + 1)
        while wall is not None:
            due = clock.first_pass(wall)
            if due is not None:
                return due if due <= LAST_S else None
            wall = self._walls.next_from(clock.gap_at(wall)[1])
        return None

    def previous_before(self, instant: int) -> int | None:
        """Return the last due time strictly before an instant."""
        clock = self._clock
        wall = self._walls.last_until(clock.latest_wall(min(instant - 1, LAST_S)))
        while wall is not None:
            due = clock.first_pass(wall)
            if due is not None:
                return due if due >= self._start else None
            wall = self._walls.last_until(clock.gap_at(wall)[0] - 1)
        return None

    def nth(self, number: int) -> int | None:
        """Return the n-th due time of all, the first is 1."""
        shown = self._clock.latest_wall(self._start - 1)
        wall = self._walls.nth_from(shown + 1, number)
        due = None if wall is None else self._clock.first_pass(wall)
        return None if due is None or due > LAST_S else due


class DayWallSequence:
    """Wall times at seconds of some days, which may differ from day to day."""

    __slots__ = ("_days", "_times_on")

    def __init__(self, days: RecurrenceDays, times_on: Callable[[int], Sequence[int]]) -> None:
        self._days = days
        self._times_on = times_on

    def next_from(self, wall: int, end: int = END_DAY * DAY_S) -> int | None:
        """Return the first wall time from `wall` on, and before `end`."""
        day, second = divmod(wall, DAY_S)
        end_day = (end - 1) // DAY_S + 1
        found = self._days.next(day, end_day)
        if found == day:
            times = self._times_on(day)
            index = bisect_left(times, second)
            if index < len(times):
                due = day * DAY_S + times[index]
                return due if due < end else None
            found = self._days.next(day + 1, end_day)
        if found is None:
            return None
        due = found * DAY_S + self._times_on(found)[0]
        return due if due < end else None

    def last_until(self, wall: int, low: int = -END_DAY * DAY_S) -> int | None:
        """Return the last wall time up to and including `wall`, and not before `low`."""
        day, second = divmod(wall, DAY_S)
        low_day = low // DAY_S
        found = self._days.previous(day, low_day)
        if found == day:
            times = self._times_on(day)
            index = bisect_right(times, second)
            if index:
                due = day * DAY_S + times[index - 1]
                return due if due >= low else None
            found = self._days.previous(day - 1, low_day)
        if found is None:
            return None
        due = found * DAY_S + self._times_on(found)[-1]
        return due if due >= low else None

    def nth_before(self, wall: int, number: int, end: int) -> tuple[int | None, int]:
        """Return the n-th wall time from one on, if it comes before `end`, and how many are
        left.
        """
        next_wall = self.next_from(wall, end)
        while next_wall is not None:
            day, second = divmod(next_wall, DAY_S)
            times = self._times_on(day)
            index = bisect_left(times, second)
            count = bisect_left(times, end - day * DAY_S, index) - index
            if number <= count:
                return day * DAY_S + times[index + number - 1], 0
            number -= count
            next_wall = self.next_from((day + 1) * DAY_S, end)
        return None, number


class WallTimes:
    """The wall times at the same seconds of some days, without those that lie in holes.

    A hole is the first and the end of wall times that don't count; holes are in order and apart.
    """

    __slots__ = ("_bits", "_first", "_holes", "_times", "size")

    def __init__(
        self, first: int, bits: int, times: Sequence[int], holes: list[tuple[int, int]]
    ) -> None:
        self._first = first
        self._bits = bits
        self._times = times
        self._holes = [(self._rank(low), self._rank(high)) for low, high in holes]
        self.size = bits.bit_count() * len(times) - sum(high - low for low, high in self._holes)

    def __getitem__(self, index: int) -> int:
        """Return the wall time with an index from 0 to size - 1."""
        for low, high in self._holes:
            if index >= low:
                index += high - low
        day, time = divmod(index, len(self._times))
        return (self._first + _members(self._bits)[day]) * DAY_S + self._times[time]

    def _rank(self, wall: int) -> int:
        """Return how many wall times come before one, holes not regarded."""
        day, second = divmod(wall - self._first * DAY_S, DAY_S)
        rank = (self._bits & (1 << day) - 1).bit_count() * len(self._times)
        return rank + bisect_left(self._times, second) if self._bits >> day & 1 else rank


@lru_cache(maxsize=1024)
def _members(bits: int) -> list[int]:
    return [bit for bit in range(bits.bit_length()) if bits >> bit & 1]


class DailyWallSequence(DayWallSequence):
    """Wall times at the same seconds of each of a rule's days."""

    __slots__ = ("_clock", "_times")

    def __init__(self, days: RecurrenceDays, times: Sequence[int], clock: WallClock) -> None:
        super().__init__(days, lambda _day: times)
        self._times = times
        self._clock = clock

    def nth_from(self, wall: int, number: int) -> int | None:
        """Return the n-th wall time from one on, counting whole years at once."""
        for year in range(year_of(wall // DAY_S), MAXYEAR + 1):
            start = year_start(year)
            mask = self._days.mask(year, start)
            if not mask:
                continue
            first = start * DAY_S
            holes = self._clock.gaps(max(wall, first), year_start(year + 1) * DAY_S)
            if wall > first:
                holes.insert(0, (first, wall))
            span = WallTimes(start, mask, self._times, holes)
            if number <= span.size:
                return span[number - 1]
            number -= span.size
        return None
