"""Reads the conditions of a calendar's items: dates, weekdays, times of day and spans.

Each reader raises ScheduleError with what would be right. Days are counted from 1970-01-01,
weekdays are bits from 1 (Sunday) to 64 (Saturday), times are seconds from a day's midnight.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from typing import Final

from matins.domain.time.civil import DAY_S
from matins.domain.time.instants import parse_instant
from matins.domain.time.zones import Zone
from matins.domain.values.errors import ScheduleError

ALL_WEEK: Final = 0b1111111
YEAR_SLOTS: Final = 12 * 31
"""Days of a year are slots: 31 for each month."""

_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_YEARLY: Final = re.compile(r"(\d\d)-(\d\d)", re.ASCII)
_CLOCK: Final = re.compile(r"(\d\d):(\d\d)", re.ASCII)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_LEAP_YEAR: Final = 2000

_DATES_HINT: Final = (
    "write 2026-12-25 or 2026-12-24/2026-12-31, or for every year 12-25 or 12-24/01-01"
)
_WEEKDAYS_HINT: Final = "write one of mon, tue, wed, thu, fri, sat, sun or a range such as mon-fri"
_TIMES_HINT: Final = "write it as 12:00-13:00, or 22:00-06:00 to end on the next day"
_SPANS_HINT: Final = "write it as 2026-12-24T12:00/2026-12-24T18:00"


def listed(value: str | list[str] | None) -> list[str]:
    """Return the texts of a condition, which may be one text or a list; none if it is not set."""
    return [value] if isinstance(value, str) else value or []


def day_number(day: date) -> int:
    """Return a date as days from 1970-01-01."""
    return day.toordinal() - _EPOCH_DAY


def is_yearly(text: str) -> bool:
    """Return whether dates have no year."""
    return _YEARLY.match(text) is not None and _DATE.match(text) is None


def parse_dates(text: str) -> tuple[int, int]:
    """Read a date or a range of dates with years: its first and its last day."""
    first, last = (_parse_date(end, text) for end in _ends(text))
    if last < first:
        raise ScheduleError(f"{text[:40]!r} ends before it begins; {_DATES_HINT}")
    return first, last


def parse_yearly(text: str) -> frozenset[int]:
    """Read a date or a range of dates of every year as slots; a range may go past new year."""
    first, last = (_parse_slot(end, text) for end in _ends(text))
    if first <= last:
        return frozenset(range(first, last + 1))
    return frozenset([*range(first, YEAR_SLOTS), *range(last + 1)])


def parse_weekdays(text: str) -> int:
    """Read a weekday or a range of them, which may go past the week's end, as bits."""
    first, dash, last = text.lower().partition("-")
    if first not in _WEEKDAYS or (dash and last not in _WEEKDAYS):
        raise ScheduleError(f"{text[:40]!r} is not a weekday; {_WEEKDAYS_HINT}")
    begin = _WEEKDAYS.index(first)
    length = (_WEEKDAYS.index(last) - begin) % 7 + 1 if dash else 1
    return sum(1 << (begin + number) % 7 for number in range(length))


def weekday_bits(texts: Iterable[str]) -> int:
    """Read several weekdays or ranges of them, as bits."""
    bits = 0
    for text in texts:
        bits |= parse_weekdays(text)
    return bits


def parse_times(text: str) -> tuple[int, int]:
    """Read a range of times, end exclusive; the end is past 86,400 when it is on the next day."""
    first, _, last = text.partition("-")
    start, end = _parse_clock(first, text), _parse_clock(last, text)
    if start in (end, DAY_S):
        raise ScheduleError(f"{text[:40]!r} has no length; a whole day is 00:00-24:00")
    return start, end if end > start else end + DAY_S


def parse_span(text: str, zone: Zone) -> tuple[int, int]:
    """Read a span as its first instant and the instant after its last; local times are `zone`'s."""
    first, slash, last = text.partition("/")
    if not slash:
        raise ScheduleError(f"{text[:40]!r} is not a span; {_SPANS_HINT}")
    start, end = parse_instant(first, zone), parse_instant(last, zone)
    if end <= start:
        raise ScheduleError(f"{text[:60]!r} ends before it has begun; {_SPANS_HINT}")
    return start, end


def _ends(text: str) -> tuple[str, str]:
    first, slash, last = text.partition("/")
    return first, last if slash else first


def _parse_date(part: str, text: str) -> int:
    if not _DATE.fullmatch(part):
        raise ScheduleError(f"{text[:40]!r} is not a date or a range of dates; {_DATES_HINT}")
    try:
        return day_number(date.fromisoformat(part))
    except ValueError:
        raise ScheduleError(f"{part!r} does not exist; {_DATES_HINT}") from None


def _parse_slot(part: str, text: str) -> int:
    match = _YEARLY.fullmatch(part)
    if match is None:
        raise ScheduleError(f"{text[:40]!r} is not a date or a range of dates; {_DATES_HINT}")
    month, day = int(match[1]), int(match[2])
    try:
        date(_LEAP_YEAR, month, day)
    except ValueError:
        raise ScheduleError(f"{part!r} does not exist; {_DATES_HINT}") from None
    return (month - 1) * 31 + day - 1


def _parse_clock(part: str, text: str) -> int:
    match = _CLOCK.fullmatch(part)
    if match is None:
        raise ScheduleError(f"{text[:40]!r} is not a range of times; {_TIMES_HINT}")
    second = int(match[1]) * 3600 + int(match[2]) * 60
    if second > DAY_S or int(match[2]) > 59:
        raise ScheduleError(f"{part!r} is not a time of day from 00:00 to 24:00; {_TIMES_HINT}")
    return second
