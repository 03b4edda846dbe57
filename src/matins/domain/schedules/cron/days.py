"""Which days a schedule allows, month by month.

Each rule of cron's two day fields depends on nothing but the month's length and the weekday on
which it starts: 28 shapes of month. A shape's days are worked out once, as a mask of bits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from matins.domain.time.civil import (
    ERA_DAY,
    ERA_DAYS,
    ERA_MONTHS,
    ERA_YEAR,
    MONTH_KIND,
    MONTH_START,
    month_start,
)

DayRule = Callable[[int, int], int]
"""Gives the days that it allows, as bits (bit 0 is the 1st), in a month that starts on a weekday
(0 is Sunday) and has a length."""

ALL_DAYS: Final = (1 << 31) - 1
_LENGTHS = ((31,), (28, 29), (31,), (30,), (31,), (30,), (31,), (31,), (30,), (31,), (30,), (31,))
_SHAPES = tuple(
    tuple((first, length) for length in lengths for first in range(7)) for lengths in _LENGTHS
)
_EACH_WEEK = sum(1 << 7 * week for week in range(6))
_UNKNOWN = (-1,) * 28


def plain_days(bits: int) -> DayRule:
    """Allow the days of the month whose bits are set."""
    return lambda _first, _length: bits


def last_day(back: int) -> DayRule:
    """Allow the day so many days before the last one (`L`, `L-3`)."""
    return lambda _first, length: 1 << length - 1 - back if back < length else 0


def nearest_workday(day: int) -> DayRule:
    """Allow the Monday to Friday nearest to a day, within its month (`15W`)."""
    return lambda first, length: _nearest(day - 1, first, length)


def nearest_workday_to_last(back: int) -> DayRule:
    """Allow the Monday to Friday nearest to a day counted from the end (`LW`, `L-2W`)."""
    return lambda first, length: _nearest(length - 1 - back, first, length)


def _nearest(day: int, first: int, length: int) -> int:
    if not 0 <= day < length:
        return 0
    weekday = (first + day) % 7
    if weekday == 6:
        day += -1 if day else 2
    elif weekday == 0:
        day += 1 if day + 1 < length else -2
    return 1 << day


def weekdays(bits: int) -> DayRule:
    """Allow the weekdays whose bits are set (bit 0 is Sunday)."""
    from_sunday = bits * _EACH_WEEK
    return lambda first, _length: from_sunday >> first


def nth_weekday(weekday: int, number: int) -> DayRule:
    """Allow the n-th such weekday of the month (`1#2`), if there is one."""
    return lambda first, _length: 1 << (weekday - first) % 7 + 7 * (number - 1)


def last_weekday(weekday: int) -> DayRule:
    """Allow the last such weekday of the month (`5L`)."""

    def rule(first: int, length: int) -> int:
        day = length - 1
        return 1 << day - (first + day - weekday) % 7

    return rule


def any_of(rules: list[DayRule]) -> DayRule:
    """Allow what at least one of the rules allows."""
    if len(rules) == 1:
        return rules[0]

    def rule(first: int, length: int) -> int:
        days = 0
        for day_rule in rules:
            days |= day_rule(first, length)
        return days

    return rule


def all_of(left: DayRule, right: DayRule) -> DayRule:
    """Allow what both rules allow."""
    return lambda first, length: left(first, length) & right(first, length)


class Days:
    """The days that a rule allows in some months (bit 0 is January) and years (None: all)."""

    __slots__ = ("_back", "_forward", "_found", "_masks", "_months", "_rule", "every", "years")

    def __init__(self, rule: DayRule | None, months: int, years: tuple[int, ...] | None) -> None:
        self.every = rule is None and months == 0xFFF and years is None
        self.years = years
        self._rule = rule or plain_days(ALL_DAYS)
        self._months = months
        self._masks = list(_UNKNOWN)
        self._found: int | None = None  # the last day found: dense schedules ask for it again
        self._forward, self._back = _month_jumps(months)

    def can_come(self) -> bool:
        """Return whether there is such a day at all."""
        if self.every:
            return True
        if self.years is not None:
            return self.next(month_start(self.years[0], 0)) is not None
        months, rule = self._months, self._rule
        for month, shapes in enumerate(_SHAPES):
            if months >> month & 1:
                for first, length in shapes:
                    if rule(first, length) & ALL_DAYS >> 31 - length:
                        return True
        return False

    def next(self, day: int) -> int | None:
        """Return the first allowed day from `day` on."""
        if day == self._found:
            return day
        era, day_of_era = divmod(day - ERA_DAY, ERA_DAYS)
        index = bisect_right(MONTH_START, day_of_era) - 1
        if not self._forward[index % 12] and (self.years is None or self._has_year(era, index)):
            mask = self._mask(MONTH_KIND[index]) >> day_of_era - MONTH_START[index]
            if mask:
                self._found = chosen = day + (mask & -mask).bit_length() - 1
                return chosen
        return self._next_month(era, index + 1)

    def _next_month(self, era: int, index: int) -> int | None:
        forward, masks = self._forward, self._masks
        for _ in range(ERA_MONTHS):
            if self.years is not None and not self._has_year(era, index):
                year = ERA_YEAR + era * 400 + index // 12
                coming = bisect_left(self.years, year)
                if coming == len(self.years):
                    return None
                era, index = 0, (self.years[coming] - ERA_YEAR) * 12
            index += forward[index % 12]
            if index >= ERA_MONTHS or index < 0:
                over, index = divmod(index, ERA_MONTHS)
                era += over
            kind = MONTH_KIND[index]
            mask = masks[kind]
            if mask < 0:
                mask = self._mask(kind)
            if mask and (self.years is None or self._has_year(era, index)):
                start = ERA_DAY + era * ERA_DAYS + MONTH_START[index]
                return start + (mask & -mask).bit_length() - 1
            index += 1
        return None

    def previous(self, day: int) -> int | None:
        """Return the last allowed day up to and including `day`."""
        era, day_of_era = divmod(day - ERA_DAY, ERA_DAYS)
        index = bisect_right(MONTH_START, day_of_era) - 1
        if not self._back[index % 12] and (self.years is None or self._has_year(era, index)):
            start = MONTH_START[index]
            mask = self._mask(MONTH_KIND[index]) & (2 << day_of_era - start) - 1
            if mask:
                return day - day_of_era + start + mask.bit_length() - 1
        return self._previous_month(era, index - 1)

    def _previous_month(self, era: int, index: int) -> int | None:
        for _ in range(ERA_MONTHS):
            if self.years is not None and not self._has_year(era, index):
                year = ERA_YEAR + era * 400 + index // 12
                coming = bisect_left(self.years, year) - 1
                if coming < 0:
                    return None
                era, index = 0, (self.years[coming] - ERA_YEAR) * 12 + 11
            index -= self._back[index % 12]
            if index < 0:
                over, index = divmod(index, ERA_MONTHS)
                era += over
            mask = self._mask(MONTH_KIND[index])
            if mask and (self.years is None or self._has_year(era, index)):
                start = ERA_DAY + era * ERA_DAYS + MONTH_START[index]
                return start + mask.bit_length() - 1
            index -= 1
        return None

    def _mask(self, kind: int) -> int:
        mask = self._masks[kind]
        if mask < 0:
            length = (kind & 3) + 28
            mask = self._masks[kind] = self._rule(kind >> 2, length) & ALL_DAYS >> 31 - length
        return mask

    def _has_year(self, era: int, index: int) -> bool:
        assert self.years is not None
        year = ERA_YEAR + era * 400 + index // 12
        at = bisect_left(self.years, year)
        return at < len(self.years) and self.years[at] == year


@lru_cache(maxsize=4096)
def _month_jumps(months: int) -> tuple[list[int], list[int]]:
    """Return how many months lie between each month and the next and previous allowed ones."""
    forward, back = [0] * 12, [0] * 12
    for month in range(23, -1, -1):
        forward[month % 12] = 0 if months >> month % 12 & 1 else forward[(month + 1) % 12] + 1
    for month in range(24):
        back[month % 12] = 0 if months >> month % 12 & 1 else back[(month - 1) % 12] + 1
    return forward, back
