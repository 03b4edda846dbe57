"""Words for the two day fields of a cron expression, and for how they go together."""

from __future__ import annotations

import re
from typing import Final

from matins.insight.explain.english import (
    FROM_MONDAY,
    ORDINALS,
    WEEKDAYS,
    counted,
    listed,
    ordinal,
    ranges,
    step_of,
)
from matins.insight.explain.meaning import DayField, Meaning

_LAST_DAY: Final = re.compile(r"L(?:-0*(\d+))?(W?)")
_WORKDAY: Final = "weekday (Monday to Friday, same month)"


def say_days(meaning: Meaning) -> str:
    """Say on which days of a month the job is due; empty when no day is left out."""
    day, weekday = meaning.limits()
    by_day = f"on {say_month_days(day)}" if day else ""
    by_weekday = f"on {say_weekdays(meaning, weekday)}" if weekday else ""
    if not by_day or not by_weekday:
        return by_day or by_weekday
    if meaning.either_day:
        return f"{by_day} or {by_weekday} (either is enough)"
    return f"{by_day} and {by_weekday} (both must hold)"


def say_month_days(day: DayField) -> str:
    """Say which days of the month a field allows."""
    step = step_of(day.values)
    if step and step > 1 and len(day.values) > 4:
        first, last = ordinal(day.values[0]), ordinal(day.values[-1])
        plain = [f"every {ordinal(step)} day from the {first} to the {last}"]
    else:
        plain = ranges(day.values, [ordinal(number) for number in range(32)])
        plain[:1] = [f"the {first}" for first in plain[:1]]
    return listed([*plain, *map(_special_day, day.special)]) + " of the month"


def say_weekdays(meaning: Meaning, weekday: DayField) -> str:
    """Say which weekdays a field allows, with the week from Monday on."""
    from_monday = sorted((value - 1) % 7 for value in weekday.values)
    plain = ranges(from_monday, FROM_MONDAY)
    special = [_special_weekday(meaning, item) for item in weekday.special]
    return listed([*plain, *special]) + (" of the month" if special else "")


def _special_day(item: str) -> str:
    match = _LAST_DAY.fullmatch(item)
    if match is None:
        return f"the {_WORKDAY} nearest the {ordinal(int(item[:-1]))}"
    back = int(match[1] or 0)
    if not back:
        return f"the last {_WORKDAY}" if match[2] else "the last day"
    before = f"{counted(back, 'day')} before the last day"
    return f"the {_WORKDAY} nearest the day {before}" if match[2] else f"the day {before}"


def _special_weekday(meaning: Meaning, item: str) -> str:
    name = WEEKDAYS[meaning.weekday_of(item)]
    _, mark, number = item.partition("#")
    return f"the {ORDINALS[int(number) - 1]} {name}" if mark else f"the last {name}"
