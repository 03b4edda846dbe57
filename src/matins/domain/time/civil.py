"""The calendar as tables: 400 Gregorian years are 4,800 months and a whole number of weeks.

Days are counted from 1970-01-01, months are 0 to 11, weekdays are 0 (Sunday) to 6.
"""

from __future__ import annotations

import calendar
from bisect import bisect_right
from datetime import date
from itertools import accumulate
from typing import Final

DAY_S: Final = 86_400
ERA_YEAR: Final = 2000
ERA_DAY: Final = (date(ERA_YEAR, 1, 1) - date(1970, 1, 1)).days
ERA_DAYS: Final = 146_097
ERA_MONTHS: Final = 4_800
ERA_S: Final = ERA_DAYS * DAY_S
FIRST_S: Final = (date.min - date(1970, 1, 1)).days * DAY_S
LAST_S: Final = ((date.max - date(1970, 1, 1)).days + 1) * DAY_S - 1

_FIRST_WEEKDAY = 6  # 2000-01-01 was a Saturday
_LENGTHS = tuple(
    calendar.monthrange(year, month)[1]
    for year in range(ERA_YEAR, ERA_YEAR + 400)
    for month in range(1, 13)
)

MONTH_START: Final = tuple(accumulate(_LENGTHS, initial=0))
"""The day on which each month of the era starts, counted from the era's first day."""

MONTH_KIND: Final = tuple(
    (start + _FIRST_WEEKDAY) % 7 * 4 + length - 28
    for start, length in zip(MONTH_START, _LENGTHS, strict=False)
)
"""Each month's shape, one of 28: weekday of its first day times 4, plus its length minus 28."""


def month_start(year: int, month: int) -> int:
    """Return the first day of a month."""
    era, index = divmod((year - ERA_YEAR) * 12 + month, ERA_MONTHS)
    return ERA_DAY + era * ERA_DAYS + MONTH_START[index]


def month_weekday(year: int, month: int) -> int:
    """Return the weekday of the first day of a month."""
    return MONTH_KIND[((year - ERA_YEAR) * 12 + month) % ERA_MONTHS] >> 2


def month_length(year: int, month: int) -> int:
    """Return the number of days of a month."""
    return _LENGTHS[((year - ERA_YEAR) * 12 + month) % ERA_MONTHS]


def find_month(day: int) -> tuple[int, int, int]:
    """Return the era, the month's index in it, and the day's index in that month."""
    era, day_of_era = divmod(day - ERA_DAY, ERA_DAYS)
    index = bisect_right(MONTH_START, day_of_era) - 1
    return era, index, day_of_era - MONTH_START[index]
