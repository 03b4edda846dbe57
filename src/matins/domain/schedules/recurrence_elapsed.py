"""Recurrence rules in real time: FREQ=HOURLY and finer, with parts that limit or expand them.

Periods follow each other in elapsed time, whatever the clocks do; what the BYxxx parts say is
compared with the clocks. So a wall time that occurs twice can be due twice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import gcd
from typing import Final

from matins.domain.errors import ScheduleError
from matins.domain.schedules.civil import DAY_S, LAST_S
from matins.domain.schedules.recurrence_days import RecurrenceDays, YearDays, in_cycle
from matins.domain.schedules.recurrence_parts import Frequency, Parts
from matins.domain.schedules.recurrence_walls import (
    COUNT_MAX,
    DayWalls,
    chosen_indices,
    times_of_day,
    too_many,
)
from matins.domain.schedules.wall_clock import WallClock

UNIT_S: Final = {Frequency.HOURLY: 3600, Frequency.MINUTELY: 60, Frequency.SECONDLY: 1}
CYCLE_MAX: Final = 10_000
"""The most days after which the periods must fall on the same times of day again."""


class ElapsedRule:
    """Due at wall times within each n-th hour, minute or second of real time from the start."""

    __slots__ = ("_clock", "_cycle", "_origin", "_parts", "_start", "_unit", "_walls", "_years")

    def __init__(self, parts: Parts, years: YearDays, clock: WallClock, start: int) -> None:
        self._parts = parts
        self._years = years
        self._clock = clock
        self._start = start
        self._unit = UNIT_S[parts.frequency]
        self._origin = start - (start + clock.offset_at(start)) % self._unit
        self._cycle = parts.interval // gcd(parts.interval, DAY_S // self._unit)
        if self._cycle > CYCLE_MAX:
            raise ScheduleError(
                f"RRULE: the rule has INTERVAL={parts.interval}, which with "
                f"FREQ={parts.frequency.name} comes to the same time of day only after "
                f"{self._cycle} days; write one that does within {CYCLE_MAX}, or leave out BYxxx"
            )
        self._walls: dict[int, DayWalls] = {}

    def next_after(self, instant: int) -> int | None:
        """Give the first due time strictly after an instant."""
        at = max(instant + 1, self._start)
        while at <= LAST_S:
            _, end, offset = self._clock.segment_at(at)
            wall = self._walls_at(offset).next_from(at + offset, end + offset)
            if wall is not None:
                return wall - offset
            at = end
        return None

    def previous_before(self, instant: int) -> int | None:
        """Give the last due time strictly before an instant."""
        at = min(instant - 1, LAST_S)
        while at >= self._start:
            first, _, offset = self._clock.segment_at(at)
            low = max(first, self._start)
            wall = self._walls_at(offset).last_until(at + offset, low + offset)
            if wall is not None:
                return wall - offset
            at = first - 1
        return None

    def nth(self, number: int) -> int | None:
        """Give the n-th due time of all, the first is 1. Raises ScheduleError for a high one."""
        if number > COUNT_MAX:
            raise too_many(number, f"FREQ={self._parts.frequency.name} and BYxxx")
        due = self.next_after(self._start - 1)
        for _ in range(number - 1):
            if due is None:
                break
            due = self.next_after(due)
        return due

    def _walls_at(self, offset: int) -> DayWalls:
        """Give the wall times that are due while an offset holds."""
        walls = self._walls.get(offset)
        if walls is None:
            walls = self._walls[offset] = self._make_walls(offset)
        return walls

    def _make_walls(self, offset: int) -> DayWalls:
        """Find out on which days of the cycle there is anything due.

        Block 0 is the period of the start, as an hour (or minute, or second) of the clock at this
        offset; block b is kept if b is a multiple of INTERVAL. In units of blocks a day is as long
        as a day has hours, so that those of a day come again after the cycle.
        """
        interval, unit = self._parts.interval, self._unit
        per_day, shift = DAY_S // unit, self._origin + offset
        times = self._times(offset)
        shared = gcd(interval, per_day)
        inverse = pow(per_day // shared, -1, self._cycle) if self._cycle > 1 else 0
        blocks = {(time - shift) // unit for time in times}
        kept = {-block // shared * inverse % self._cycle for block in blocks if block % shared == 0}
        bits = sum(1 << number for number in kept)
        known: dict[int, Sequence[int]] = {}

        def times_on(day: int) -> Sequence[int]:
            number = day % self._cycle
            found = known.get(number)
            if found is None:
                found = known[number] = _kept(
                    times, number * per_day * unit - shift, unit, interval
                )
            return found

        # The first day may be the one before, where another offset holds.
        first = self._start // DAY_S - 1
        return DayWalls(
            RecurrenceDays(self._years, in_cycle(0, self._cycle, bits), first), times_on
        )

    def _times(self, offset: int) -> Sequence[int]:
        """Give the seconds of a day that the parts allow, where the start fills in what they don't.

        It is taken as it would be shown at this offset: half past, where clocks moved by 30 min.
        BYSETPOS chooses within the hour, minute or second of the clock.
        """
        parts, unit, shown = self._parts, self._unit, (self._start + offset) % DAY_S
        hours: Sequence[int] = parts.hours or range(24)
        minutes: Sequence[int] = parts.minutes or (range(60) if unit < 3600 else [shown // 60 % 60])
        seconds: Sequence[int] = parts.seconds or (range(60) if unit == 1 else [shown % 60])
        outer = times_of_day(hours, minutes if unit < 3600 else [0], seconds if unit == 1 else [0])
        inner = times_of_day([0], minutes if unit == 3600 else [0], seconds if unit > 1 else [0])
        inner = tuple(inner[index] for index in chosen_indices(parts.positions, len(inner)))
        return tuple(start + time for start in outer for time in inner)


def _kept(times: Sequence[int], elapsed: int, unit: int, interval: int) -> Sequence[int]:
    """Give the times of a day whose block is kept; `elapsed` is from block 0 to the day's start."""
    if interval == 1:
        return times
    low, high = elapsed // unit, (elapsed + DAY_S - 1) // unit
    first = low + -low % interval
    if len(times) * interval < 4 * DAY_S // unit:
        return [time for time in times if (elapsed + time) // unit % interval == 0]
    found: list[int] = []
    for block in range(first, high + 1, interval):
        start = bisect_left(times, block * unit - elapsed)
        found += times[start : bisect_left(times, (block + 1) * unit - elapsed, start)]
    return found
