"""Recurrence rules in real time: FREQ=HOURLY and finer, with parts that limit or expand them.

Periods follow each other in elapsed time, whatever the clocks do; what the BYxxx parts say is
compared with the clocks. So a wall time that occurs twice can be due twice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from matins.domain.schedules.rrule.days import END_DAY, RecurrenceDays, YearDays, in_cycle
from matins.domain.schedules.rrule.parts import UNIT_S, Parts
from matins.domain.schedules.rrule.positions import chosen_indices
from matins.domain.schedules.rrule.wall_rule import DayWallSequence, times_of_day
from matins.domain.schedules.rrule.work import cycle_length
from matins.domain.time.civil import DAY_S, LAST_S
from matins.domain.time.wall_clock import WallClock


class ElapsedRule:
    """Due at wall times within each n-th hour, minute or second of real time from the start."""

    __slots__ = ("_clock", "_origin", "_parts", "_start", "_unit", "_walls", "_years")

    def __init__(self, parts: Parts, years: YearDays, clock: WallClock, start: int) -> None:
        self._parts = parts
        self._years = years
        self._clock = clock
        self._start = start
        self._unit = UNIT_S[parts.frequency]
        self._origin = start - (start + clock.offset_at(start)) % self._unit
        self._walls: dict[int, DayWallSequence] = {}

    def next_after(self, instant: int) -> int | None:
        """Return the first due time strictly after an instant."""
        at: int | None = max(instant + 1, self._start)
        while at is not None and at <= LAST_S:
            _, end, offset = self._clock.segment_at(at)
            wall = self._walls_at(offset).next_from(at + offset, end + offset)
            if wall is not None:
                return wall - offset
            at = self._leap(end)
        return None

    def previous_before(self, instant: int) -> int | None:
        """Return the last due time strictly before an instant."""
        at: int | None = min(instant - 1, LAST_S)
        while at is not None and at >= self._start:
            first, _, offset = self._clock.segment_at(at)
            low = max(first, self._start)
            wall = self._walls_at(offset).last_until(at + offset, low + offset)
            if wall is not None:
                return wall - offset
            at = self._leap_back(first - 1)
        return None

    def nth(self, number: int) -> int | None:
        """Return the n-th due time of all, the first is 1; they are counted one by one."""
        at: int | None = self._start
        while at is not None and at <= LAST_S:
            _, end, offset = self._clock.segment_at(at)
            wall, number = self._walls_at(offset).nth_before(at + offset, number, end + offset)
            if wall is not None:
                return wall - offset
            at = self._leap(end)
        return None

    def _leap(self, at: int) -> int | None:
        """Return an instant before which nothing is due from `at` on, whatever offset holds."""
        offsets = self._clock.offsets_between(at, LAST_S) if at <= LAST_S else []
        walls = [(self._walls_at(offset).next_from(at + offset), offset) for offset in offsets]
        return min((wall - offset for wall, offset in walls if wall is not None), default=None)

    def _leap_back(self, at: int) -> int | None:
        """Return an instant after which nothing is due up to `at`, whatever offset holds."""
        offsets = self._clock.offsets_between(self._start, at) if at >= self._start else []
        walls = [(self._walls_at(offset).last_until(at + offset), offset) for offset in offsets]
        return max((wall - offset for wall, offset in walls if wall is not None), default=None)

    def _walls_at(self, offset: int) -> DayWallSequence:
        """Return the wall times that are due while an offset holds."""
        walls = self._walls.get(offset)
        if walls is None:
            interval, origin = self._parts.interval, self._origin + offset
            cycle = DayCycle(self._times(offset), self._unit, interval, origin)
            # The start may lie a day earlier by the clock of another offset.
            first = self._start // DAY_S - 1
            gate = in_cycle(0, cycle.length, cycle.days())
            days = RecurrenceDays(self._years, gate, first)
            if days.next(first) is None:  # and so that nobody searches again:
                days = RecurrenceDays(self._years, gate, END_DAY)
            walls = self._walls[offset] = DayWallSequence(days, cycle.times_on)
        return walls

    def _times(self, offset: int) -> Sequence[int]:
        """Return the seconds of a day that the parts allow; the start fills in what they don't.

        It is taken as it would be shown at this offset: half past, where clocks moved by 30 min.
        BYSETPOS chooses within the hour, minute or second of the clock.
        """
        parts, unit, shown = self._parts, self._unit, (self._start + offset) % DAY_S
        if unit == 1 and not (parts.hours or parts.minutes or parts.seconds or parts.positions):
            return range(DAY_S)
        hours: Sequence[int] = parts.hours or range(24)
        minutes: Sequence[int] = parts.minutes or (range(60) if unit < 3600 else [shown // 60 % 60])
        seconds: Sequence[int] = parts.seconds or (range(60) if unit == 1 else [shown % 60])
        outer = times_of_day(hours, minutes if unit < 3600 else [0], seconds if unit == 1 else [0])
        inner = times_of_day([0], minutes if unit == 3600 else [0], seconds if unit > 1 else [0])
        chosen = [inner[index] for index in chosen_indices(parts.positions, len(inner))]
        return outer if chosen == [0] else [start + time for start in outer for time in chosen]


class DayCycle:
    """The times of a day that lie in each n-th block of time; days come again after a cycle.

    A block is as long as a unit; `origin` is the wall time at which block 0 starts.
    """

    __slots__ = ("_elapsed", "_interval", "_known", "_times", "_unit", "length")

    def __init__(self, times: Sequence[int], unit: int, interval: int, origin: int) -> None:
        self._times = times
        self._unit = unit
        self._interval = interval
        # From the start of a kept block to the day 0, which is 1970-01-01.
        self._elapsed = -origin % (unit * interval)
        self.length = cycle_length(interval, unit)
        self._known: dict[int, Sequence[int]] = {}

    def days(self) -> int:
        """Return the days of the cycle that have any times, as bits."""
        if self.length == 1:
            return int(bool(self.times_on(0)))
        elapsed, unit, interval = self._elapsed, self._unit, self._interval
        if len(self._times) == DAY_S >= interval * unit:
            return (1 << self.length) - 1
        # On day d, a block b of day 0 has become b + d * per_day: solve for a multiple of INTERVAL.
        per_day, shared = DAY_S // unit, interval // self.length
        inverse = pow(per_day // shared, -1, self.length)
        blocks = {(time + elapsed) // unit % interval for time in self._times}
        steps = {block // shared for block in blocks if block % shared == 0}
        kept = {-step * inverse % self.length for step in steps}
        return int("".join("01"[number in kept] for number in reversed(range(self.length))), 2)

    def times_on(self, day: int) -> Sequence[int]:
        """Return the times of a day, in order."""
        number = day % self.length
        times = self._known.get(number)
        if times is None:
            elapsed = (self._elapsed + number * DAY_S) % (self._unit * self._interval)
            times = self._known[number] = self._kept(elapsed)
        return times

    def _kept(self, elapsed: int) -> Sequence[int]:
        """Return the times of a day that starts so long after a kept block did."""
        times, unit, interval = self._times, self._unit, self._interval
        if interval == 1:
            return times
        if isinstance(times, range):
            return times[-elapsed % interval :: interval]
        if len(times) * interval < 4 * DAY_S // unit:
            return [time for time in times if (elapsed + time) // unit % interval == 0]
        kept: list[int] = []
        first = elapsed // unit
        for block in range(first + -first % interval, (elapsed + DAY_S - 1) // unit + 1, interval):
            start = bisect_left(times, block * unit - elapsed)
            kept += times[start : bisect_left(times, (block + 1) * unit - elapsed, start)]
        return kept
