"""BYSETPOS: some of the wall times of each period of a recurrence rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import lcm
from typing import Final

from matins.domain.schedules.rrule.days import (
    END_DAY,
    RecurrenceDays,
    YearDays,
    year_of,
    year_start,
)
from matins.domain.schedules.rrule.parts import Frequency, Parts
from matins.domain.schedules.rrule.wall_rule import WallTimes
from matins.domain.time.civil import (
    DAY_S,
    ERA_DAYS,
    ERA_MONTHS,
    ERA_YEAR,
    find_month,
    month_length,
)
from matins.domain.time.wall_clock import WallClock

_PER_ERA: Final = {
    Frequency.YEARLY: 400,
    Frequency.MONTHLY: ERA_MONTHS,
    Frequency.WEEKLY: ERA_DAYS // 7,
    Frequency.DAILY: ERA_DAYS,
}
_SAMPLE: Final = (2000, 2028)
"""These years have each shape of year, and so of month."""


def chosen_indices(positions: Sequence[int], size: int) -> Sequence[int]:
    """Return what BYSETPOS chooses from a list of a size, in order: all of it without BYSETPOS."""
    if not positions:
        return range(size)
    indices = {at - 1 if at > 0 else size + at for at in positions}
    return sorted(index for index in indices if 0 <= index < size)


class ChosenWallSequence:
    """The wall times that BYSETPOS chooses out of each period."""

    __slots__ = ("_clock", "_days", "_known", "_never", "_parts", "_reach", "_times")

    def __init__(
        self,
        parts: Parts,
        years: YearDays,
        days: RecurrenceDays,
        times: Sequence[int],
        clock: WallClock,
    ) -> None:
        self._parts = parts
        self._days = days
        self._times = times
        self._clock = clock
        self._known: dict[int, list[int]] = {}
        # Periods come again after the era: if none has been found by then, none ever will.
        per_era = _PER_ERA[parts.frequency]
        self._reach = lcm(per_era, parts.interval) // per_era * ERA_DAYS
        nearest = min(map(abs, parts.positions))
        self._never = nearest > 1 and nearest > self._most(years)

    def next_from(self, wall: int) -> int | None:
        """Return the first wall time from `wall` on."""
        dues = (due for chosen in self._periods_from(wall) for due in chosen if due >= wall)
        return next(dues, None)

    def last_until(self, wall: int) -> int | None:
        """Return the last wall time up to and including `wall`."""
        day: int | None = wall // DAY_S
        low = wall // DAY_S - self._reach
        while day is not None and not self._never:
            first, end = self._period(day)
            for chosen in reversed(self._chosen(first, end)):
                if chosen <= wall:
                    return chosen
            day = self._days.previous(first - 1, low)
        return None

    def nth_from(self, wall: int, number: int) -> int | None:
        """Return the n-th wall time from one on; they are counted one by one."""
        for period in self._periods_from(wall):
            chosen = period if period[0] >= wall else [due for due in period if due >= wall]
            if number <= len(chosen):
                return chosen[number - 1]
            number -= len(chosen)
        return None

    def _periods_from(self, wall: int) -> Iterator[list[int]]:
        """Return what is chosen in each period that is not over before `wall`, if there is any."""
        day: int | None = wall // DAY_S
        last = -END_DAY if self._never else wall // DAY_S + self._reach
        while day is not None and day <= last:
            first, end = self._period(day)
            chosen = self._chosen(first, end)
            if chosen:
                yield chosen
                last = end + self._reach
            day = self._days.next(end)

    def _most(self, years: YearDays) -> int:
        """Return the size of the largest period that there can be."""
        if self._parts.frequency == Frequency.DAILY:
            return len(self._times)
        if self._parts.frequency == Frequency.WEEKLY:
            return len(self._times) * (len(self._parts.weekdays) or 1)
        days = RecurrenceDays(years, None, 0)
        most, day = 0, year_start(_SAMPLE[0])
        while day < year_start(_SAMPLE[1]):
            first, day = self._period(day)
            most = max(most, days.between(first, day).bit_count())
        return most * len(self._times)

    def _chosen(self, first: int, end: int) -> list[int]:
        """Return the chosen wall times of a period, in order."""
        bits = self._days.between(first, end)
        if not bits:
            return []
        low, gaps = first * DAY_S, self._clock.gaps(first * DAY_S, end * DAY_S)
        if gaps:
            return [
                low + second for second in self._choose(bits, [(g - low, e - low) for g, e in gaps])
            ]
        known = self._known.get(bits)
        if known is None:
            known = self._known[bits] = self._choose(bits, [])
        return [low + second for second in known]

    def _choose(self, bits: int, holes: list[tuple[int, int]]) -> list[int]:
        """Choose out of a period's days: seconds from its start, as the holes are."""
        span = WallTimes(0, bits, self._times, holes)
        return [span[index] for index in chosen_indices(self._parts.positions, span.size)]

    def _period(self, day: int) -> tuple[int, int]:
        """Return the first day of a day's period, and the day after its last one."""
        match self._parts.frequency:
            case Frequency.YEARLY:
                year = year_of(day)
                return year_start(year), year_start(year + 1)
            case Frequency.MONTHLY:
                era, index, skipped = find_month(day)
                length = month_length(ERA_YEAR + era * 400 + index // 12, index % 12)
                return day - skipped, day - skipped + length
            case Frequency.WEEKLY:
                first = day - (day + 3 - self._parts.week_start) % 7
                return first, first + 7
            case _:
                return day, day + 1
