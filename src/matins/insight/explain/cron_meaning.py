"""What a cron expression means, in numbers, so that words can be found for it.

The numbers are found by asking the compiled pattern, so that they are right for every dialect,
macro and `H`. Only the two day fields are looked at as they are written: which of `15`, `L` and
`5#2` an owner meant can't be told from days.
"""

from __future__ import annotations

import re
from calendar import isleap
from datetime import date
from typing import Final

import msgspec

from matins.domain.schedules.cron.days import Days
from matins.domain.schedules.cron.expression import Dialect, is_hashed, parse_cron
from matins.domain.schedules.cron.fields import (
    QUARTZ_FIELDS,
    UNIX_FIELDS,
    Field,
    members,
    parse_item,
    parse_items,
    parse_value,
)
from matins.domain.schedules.cron.pattern import Pattern
from matins.domain.time.civil import DAY_S, month_start
from matins.domain.time.instants import instant_of

_CYCLE: Final = range(2000, 2028)
"""Years that hold each shape of a year: its first weekday, and whether it is a leap year."""

_SPECIAL_DAY: Final = re.compile(r"L.*|.*W")


class DayField(msgspec.Struct, frozen=True):
    """One of the two day fields: its plain values, and its items with `L`, `W` or `#`.

    Values are days from 1, or weekdays from 0 (Sunday) whatever the dialect's own count.
    """

    text: str
    values: list[int]
    special: list[str]
    size: int

    @property
    def takes_all(self) -> bool:
        """Whether it leaves no day out."""
        return len(self.values) == self.size


class Meaning(msgspec.Struct, frozen=True):
    """The wall times of a cron expression, and its fields in upper case as they are written.

    Months count from 1; `months_written` has those too in which none of the days exists. `years` is
    None for all. A macro has no texts.
    """

    pattern: Pattern
    seconds: list[int]
    minutes: list[int]
    hours: list[int]
    months: list[int]
    months_written: list[int]
    years: tuple[int, ...] | None
    day: DayField
    weekday: DayField
    weekday_field: Field
    texts: list[str]
    is_hashed: bool

    @property
    def either_day(self) -> bool:
        """Whether both day fields are limited, and a day that matches one of them is enough."""
        return self.day.text[0] != "*" and self.weekday.text[0] != "*"

    def limits(self) -> tuple[DayField | None, DayField | None]:
        """Return the day fields that leave days out, when both are taken together."""
        day, weekday = self.day, self.weekday
        if self.either_day and (day.takes_all or weekday.takes_all):
            return None, None
        return None if day.takes_all else day, None if weekday.takes_all else weekday

    def weekday_of(self, item: str) -> int:
        """Return the weekday (0 is Sunday) of an item such as `5L` or `FRI#2`."""
        name = item.partition("#")[0].removesuffix("L")
        return (parse_value(self.weekday_field, name, item) - self.weekday_field.low) % 7


def read_meaning(expression: str, dialect: Dialect, seed: str) -> Meaning:
    """Read a cron expression for the job whose id is `seed`. Raises ScheduleError."""
    pattern = parse_cron(expression, dialect, seed)
    first = pattern.days.next(0)
    assert first is not None  # what can never come is refused
    hours = _hits(pattern, first * DAY_S, 3600, 24)
    minutes = _hits(pattern, first * DAY_S + hours[0] * 3600, 60, 60)
    seconds = _hits(pattern, first * DAY_S + hours[0] * 3600 + minutes[0] * 60, 1, 60)
    fields = QUARTZ_FIELDS if dialect == "quartz" else UNIX_FIELDS
    texts = expression.upper().split()
    if len(texts) == 1:
        texts, (day, weekday) = [], _macro_days(pattern.days)
    else:
        texts = texts if len(texts) > 5 else ["0", *texts]
        day, weekday = ("*" if text == "?" else text for text in (texts[3], texts[5]))
    months = _months(pattern.days)
    return Meaning(
        pattern,
        seconds,
        minutes,
        hours,
        months,
        members(parse_items(fields[4], texts[4], seed)) if texts else months,
        pattern.days.years,
        _month_days(day, fields[3], seed),
        _week_days(weekday, fields[5], seed),
        fields[5],
        texts,
        is_hashed(expression, dialect),
    )


def _hits(pattern: Pattern, start: int, size: int, count: int) -> list[int]:
    """Return the numbers of those spans of `size` seconds, from `start` on, that hold a match."""
    hits = []
    for number in range(count):
        low = start + number * size
        match = pattern.next_from(low)
        if match is not None and match < low + size:
            hits.append(number)
    return hits


def _months(days: Days) -> list[int]:
    """Return the months that ever hold an allowed day, looking at one year of each shape."""
    months: set[int] = set()
    shapes = {(date(year, 1, 1).weekday(), isleap(year)): year for year in days.years or _CYCLE}
    for year in shapes.values():
        month = 0
        while month < 12:
            day = days.next(month_start(year, month))
            if day is None or day >= month_start(year + 1, 0):
                break
            month = _date(day).month
            months.add(month)
        if len(months) == 12:
            break
    return sorted(months)


def _macro_days(days: Days) -> tuple[str, str]:
    """Return the two day fields of a macro, which limits one of them to one value, or none."""
    if days.every:
        return "*", "*"
    first = days.next(0)
    assert first is not None
    second = days.next(first + 1)
    if second == first + 1:
        return "*", "*"
    if second == first + 7:
        return "*", str(_date(first).isoweekday() % 7)
    return str(_date(first).day), "*"


def _date(day: int) -> date:
    return instant_of(day * DAY_S).date()


def _month_days(text: str, field: Field, seed: str) -> DayField:
    items = text.split(",")
    special = [item for item in items if _SPECIAL_DAY.fullmatch(item)]
    bits = 0
    for item in items:
        if item not in special:
            bits |= parse_item(field, item, seed)
    return DayField(text, members(bits), special, field.size)


def _week_days(text: str, field: Field, seed: str) -> DayField:
    if text == "L":  # quartz: the last day of each week
        return DayField(text, [6], [], field.size)
    items = text.split(",")
    special = [item for item in items if "#" in item or item.endswith("L")]
    bits = 0
    for item in items:
        if item not in special:
            bits |= parse_item(field, item, seed) >> field.low
    return DayField(text, members((bits | bits >> 7) & 0x7F), special, field.size)
