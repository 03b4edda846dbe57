"""Which days a recurrence rule allows, year by year, as bits (bit 0 is 1 January).

Months, days of the month and weekdays are worked out by python-dateutil, once for each of the 14
shapes that a year can have. What it does not get right is done here: a list of weekdays with and
without numbers, and the week numbers around New Year. Days are counted from 1970-01-01.
"""

from __future__ import annotations

from calendar import isleap
from collections.abc import Callable
from datetime import MAXYEAR, date
from functools import lru_cache
from typing import Final

from dateutil.rrule import YEARLY, rrule, weekday

from matins.domain.schedules.rrule.parts import Frequency, Parts

_EPOCH: Final = date(1970, 1, 1).toordinal()
_FIRST_DAY: Final = 1 - _EPOCH
END_DAY: Final = date.max.toordinal() + 1 - _EPOCH
"""The day after the last one of year 9999."""

_YEAR_DAYS: Final = 366
_EVERY_WEEKDAY: Final = tuple((0, number) for number in range(7))
_EVERY_MONTH: Final = tuple(range(1, 13))
_SAMPLES: Final = {(date(year, 1, 1).weekday(), isleap(year)): year for year in range(2000, 2028)}

Gate = Callable[[int, int], int]
"""Gives the days (as bits) that INTERVAL keeps in a year, which starts on the given day."""


class YearDays:
    """The days that the BYxxx parts allow, with what they leave open taken from the first day."""

    __slots__ = ("_masks", "_month_days", "_months", "_parts", "_weekdays")

    def __init__(self, parts: Parts, first: date) -> None:
        self._parts = parts
        self._months, self._month_days, self._weekdays = _filled(parts, first)
        self._masks: dict[int, int] = {}

    def mask(self, year: int) -> int:
        """Return the allowed days of a year."""
        # 400 years are a whole number of weeks: after them everything comes again.
        mask = self._masks.get(year % 400)
        if mask is None:
            mask = self._masks[year % 400] = self._work_out(year)
        return mask

    def _work_out(self, year: int) -> int:
        length, parts = 365 + isleap(year), self._parts
        mask = (1 << length) - 1
        if parts.year_days:
            mask &= _numbered_days(length, parts.year_days)
        if parts.weeks:
            mask &= _week_days(year, parts.weeks, parts.week_start)
        if self._months or self._month_days or self._weekdays:
            sample = _SAMPLES[date(year, 1, 1).weekday(), isleap(year)]
            mask &= _shape_days(sample, self._months, self._month_days, self._weekdays)
        return mask


def _filled(
    parts: Parts, first: date
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Return months, days of the month and weekdays, completed from the rule's first day."""
    months, month_days, weekdays = parts.months, parts.month_days, parts.weekdays
    if parts.frequency == Frequency.MONTHLY and any(ordinal for ordinal, _ in weekdays):
        months = months or _EVERY_MONTH  # so that dateutil counts weekdays by month
    if month_days or weekdays or parts.year_days:
        return months, month_days, weekdays
    if parts.weeks or parts.frequency == Frequency.WEEKLY:
        return months, (), ((0, first.weekday()),)
    if parts.frequency == Frequency.YEARLY:
        return months or (first.month,), (first.day,), ()
    return months, (first.day,) if parts.frequency == Frequency.MONTHLY else (), ()


@lru_cache(maxsize=4096)
def _numbered_days(length: int, numbers: tuple[int, ...]) -> int:
    bits = {number - 1 if number > 0 else length + number for number in numbers}
    return sum(1 << bit for bit in bits if bit >= 0)


@lru_cache(maxsize=4096)
def _shape_days(
    year: int,
    months: tuple[int, ...],
    month_days: tuple[int, ...],
    weekdays: tuple[tuple[int, int], ...],
) -> int:
    """Return the days of a year in these months, on these days of the month and weekdays."""
    mask = 0
    numbered = [weekday(day, ordinal) for ordinal, day in weekdays if ordinal]
    plain = [weekday(day) for ordinal, day in weekdays or _EVERY_WEEKDAY if not ordinal]
    for chosen in (numbered, plain):
        if chosen:
            days = rrule(
                YEARLY,
                dtstart=date(year, 1, 1),
                interval=MAXYEAR,  # this year only
                bymonth=months or None,
                bymonthday=month_days or None,
                byweekday=chosen,
            )
            mask |= sum(1 << day.timetuple().tm_yday - 1 for day in days)
    return mask


def _week_days(year: int, numbers: tuple[int, ...], week_start: int) -> int:
    """Return the days of a calendar year that lie in weeks with these numbers, of any year."""
    mask, first = 0, year_start(year)
    for owner in (year - 1, year, year + 1):
        start = _first_week(owner, week_start)
        count = (_first_week(owner + 1, week_start) - start) // 7
        for number in numbers:
            index = number - 1 if number > 0 else count + number
            if 0 <= index < count:
                day = start + 7 * index - first
                mask |= 0x7F << day if day >= 0 else 0x7F >> -day
    return mask


def _first_week(year: int, week_start: int) -> int:
    """Return the first day of week 1: the first week with four days or more in the year."""
    first = year_start(year)
    start = first - (first + 3 - week_start) % 7
    return start if first - start <= 3 else start + 7


def year_start(year: int) -> int:
    """Return the first day of a year, also of one before 1 or after 9999."""
    before = year - 1
    return before * 365 + before // 4 - before // 100 + before // 400 + 1 - _EPOCH


def year_of(day: int) -> int:
    """Return the year of a day; one before year 1 or after 9999 counts as theirs."""
    return date.fromordinal(min(max(day, _FIRST_DAY), END_DAY - 1) + _EPOCH).year


def every_year(first: int, interval: int) -> Gate:
    """Keep each n-th year, counted from the rule's first one."""
    return lambda year, _start: -1 if (year - first) % interval == 0 else 0


def every_month(first: int, interval: int) -> Gate:
    """Keep each n-th month; `first` is the rule's first one, as 12 times its year plus 0 to 11."""

    def gate(year: int, start: int) -> int:
        kept = 0
        for month in range((first - year * 12) % interval, 12, interval):
            low = date(year, month + 1, 1).toordinal() - _EPOCH - start
            high = date(year, month + 2, 1).toordinal() - _EPOCH - start if month < 11 else 366
            kept |= (1 << high) - (1 << low)
        return kept

    return gate


def in_cycle(first: int, length: int, bits: int) -> Gate:
    """Keep the days whose bits are set in a cycle of so many days; one cycle starts on `first`."""
    repeated = bits
    if length < _YEAR_DAYS:  # make it as long as any part of a year can ask for
        times = _YEAR_DAYS // length + 2
        repeated *= ((1 << length * times) - 1) // ((1 << length) - 1)

    def gate(_year: int, start: int) -> int:
        phase = (start - first) % length
        kept = repeated >> phase
        if length >= _YEAR_DAYS > length - phase:
            kept |= bits << length - phase
        return kept

    return gate


class RecurrenceDays:
    """The days of a rule from its first one on, after INTERVAL."""

    __slots__ = ("_first", "_gate", "_years")

    def __init__(self, years: YearDays, gate: Gate | None, first: int) -> None:
        self._years = years
        self._gate = gate
        self._first = max(first, _FIRST_DAY)

    def mask(self, year: int, start: int) -> int:
        """Return the days of a year, which starts on the given day."""
        mask = self._years.mask(year)
        return mask & self._gate(year, start) if self._gate and mask else mask

    def next(self, day: int, end: int = END_DAY) -> int | None:
        """Return the first day from `day` on and before `end`."""
        day, end = max(day, self._first), min(end, END_DAY)
        if day >= end:
            return None
        year = year_of(day)
        start = year_start(year)
        mask = self.mask(year, start) >> day - start << day - start
        while not mask:
            start += 365 + isleap(year)
            year += 1
            if start >= end:
                return None
            mask = self.mask(year, start)
        next_day = start + (mask & -mask).bit_length() - 1
        return next_day if next_day < end else None

    def previous(self, day: int, low: int) -> int | None:
        """Return the last day up to and including `day`, and not before `low`."""
        day, low = min(day, END_DAY - 1), max(low, self._first)
        if day < low:
            return None
        year = year_of(day)
        start = year_start(year)
        mask = self.mask(year, start) & (2 << day - start) - 1
        while not mask:
            year -= 1
            if start <= low:
                return None
            start -= 365 + isleap(year)
            mask = self.mask(year, start)
        last_day = start + mask.bit_length() - 1
        return last_day if last_day >= low else None

    def between(self, first: int, end: int) -> int:
        """Return the days of a period, bit 0 is its first one; those before the rule's first
        too.
        """
        year = year_of(first)
        start, bits = year_start(year), 0
        while start < min(end, END_DAY):
            mask = self.mask(year, start)
            bits |= mask >> first - start if start < first else mask << start - first
            start += 365 + isleap(year)
            year += 1
        return bits & (1 << end - first) - 1
