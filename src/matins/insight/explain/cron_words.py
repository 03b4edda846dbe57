"""A cron expression in words.

Words are found for what the compiled expression allows, and only where they can't be misread: a
step that does not divide its field is never "every 7 minutes".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from matins.domain.schedules.cron.expression import Dialect
from matins.insight.explain.cron_meaning import DayField, Meaning, read_meaning
from matins.insight.explain.english import (
    FROM_MONDAY,
    MONTHS,
    ORDINALS,
    WEEKDAYS,
    clock,
    counted,
    each,
    listed,
    ordinal,
    ranges,
    spans,
    step_of,
)

_LIST_MAX: Final = 6
_LAST_DAY: Final = re.compile(r"L(?:-0*(\d+))?(W?)")
_WORKDAY: Final = "weekday (Monday to Friday, same month)"


def describe_cron(expression: str, dialect: Dialect, seed: str) -> str:
    """Describe when a cron expression is due for the job with the id `seed` (empty: no id yet).

    Raises ScheduleError.
    """
    meaning = read_meaning(expression, dialect, seed)
    if meaning.is_hashed and not seed:
        return _describe_unknown(meaning, expression)
    time = _describe_time(meaning)
    days = describe_days(meaning)
    if not days and time.startswith("at ") and len(meaning.hours) < 24:
        days = "every day"
    text = _joined(time, days, _describe_months(meaning), _describe_years(meaning))
    return f"{text} (chosen from the job's id)" if meaning.is_hashed else text


def _describe_unknown(meaning: Meaning, expression: str) -> str:
    """Describe what holds for every job id."""
    chosen = "chosen from the job's id"
    if not meaning.texts:
        return f"{expression.strip().lower()}, at a time {chosen}"
    second, minute, hour, day, month, weekday, *_ = meaning.texts
    time = " ".join(([] if second == "0" else [second]) + [minute, hour])
    time = f"at a time {chosen} ({time})" if "H" in time else _describe_time(meaning)
    days = " ".join((day, weekday.replace("THU", "T")))
    days = f"on a day {chosen} ({day} {weekday})" if "H" in days else describe_days(meaning)
    months = f"in a month {chosen} ({month})" if "H" in month else _describe_months(meaning)
    return _joined(time, days, months, _describe_years(meaning))


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _describe_time(meaning: Meaning) -> str:
    """Describe the times of day: as a list, as a rhythm, or field by field."""
    seconds, minutes, hours = meaning.seconds, meaning.minutes, meaning.hours
    if len(seconds) * len(minutes) * len(hours) <= _LIST_MAX:
        return "at " + listed(
            clock(hour * 3600 + minute * 60 + second)
            for hour in hours
            for minute in minutes
            for second in seconds
        )
    if rhythm := _rhythm(seconds, minutes, hours):
        return rhythm
    of_time = f"{_field(minutes, 60, 'minute')} of {_field(hours, 24, 'hour')}"
    return f"at {of_time}" if seconds == [0] else f"at {_field(seconds, 60, 'second')} of {of_time}"


def _rhythm(seconds: Sequence[int], minutes: Sequence[int], hours: Sequence[int]) -> str:
    """Describe times that come in a steady rhythm; empty where that could be misread."""
    is_span = len(spans(hours)) == 1
    within = "" if len(hours) == 24 else f", between {hours[0]:02}:00 and {hours[-1]:02}:59"
    if seconds != [0]:
        step = _whole_step(seconds, 60) if is_span and len(minutes) == 60 else None
        return f"{each(counted(step, 'second'))}{within}" if step else ""
    if len(minutes) == 1 and (step := _whole_step(hours, 24)):
        return _each_hours(minutes[0], step)
    by_minute = _minutes_of_hour(minutes, hours) if is_span else ""
    return f"{by_minute}{within}" if by_minute and "between" not in by_minute else by_minute


def _each_hours(minute: int, step: int) -> str:
    hours = each(counted(step, "hour"))
    if minute == 0:
        return hours
    past = f"at {counted(minute, 'minute')} past the hour"
    return past if step == 1 else f"{past}, {hours}"


def _minutes_of_hour(minutes: Sequence[int], hours: Sequence[int]) -> str:
    """Describe the minutes of some hours in a row."""
    if len(minutes) > 1 and (step := _whole_step(minutes, 60)):
        return each(counted(step, "minute"))
    if len(minutes) > 1 and len(spans(minutes)) == 1:
        if len(hours) == 1:
            first, last = (clock(hours[0] * 3600 + at * 60) for at in (minutes[0], minutes[-1]))
            return f"every minute between {first} and {last}"
        return f"minutes {minutes[0]} to {minutes[-1]} past the hour"
    if len(minutes) <= _LIST_MAX and len(hours) > 1:
        noun = "minute" if list(minutes) == [1] else "minutes"
        return f"at {listed(map(str, minutes))} {noun} past the hour"
    return ""


def _whole_step(values: Sequence[int], size: int) -> int | None:
    """Return n if the values are each n-th of a field, from 0 on, and n divides the field."""
    step, rest = divmod(size, len(values))
    return step if not rest and list(values) == list(range(0, size, step)) else None


def _field(values: Sequence[int], size: int, noun: str) -> str:
    """Describe which values of a field are meant: `minutes 5 and 10`, `each hour`."""
    if len(values) == size:
        return f"each {noun}"
    if len(values) == 1:
        return f"{noun} {values[0]}"
    step = step_of(values)
    if step and step > 1 and len(values) > 4:
        return f"each {noun} from {values[0]} to {values[-1]} in steps of {step}"
    return f"{noun}s {listed(ranges(values, [str(number) for number in range(size)]))}"


def describe_days(meaning: Meaning) -> str:
    """Describe on which days of a month the job is due; empty when no day is left out."""
    day, weekday = meaning.limits()
    by_day = f"on {describe_month_days(day)}" if day else ""
    by_weekday = f"on {describe_weekdays(meaning, weekday)}" if weekday else ""
    if not by_day or not by_weekday:
        return by_day or by_weekday
    if meaning.either_day:
        return f"{by_day} or {by_weekday} (either is enough)"
    return f"{by_day} and {by_weekday} (both must hold)"


def describe_month_days(day: DayField) -> str:
    """Describe which days of the month a field allows."""
    step = step_of(day.values)
    if step and step > 1 and len(day.values) > 4:
        first, last = ordinal(day.values[0]), ordinal(day.values[-1])
        plain = [f"every {ordinal(step)} day from the {first} to the {last}"]
    else:
        plain = ranges(day.values, [ordinal(number) for number in range(32)])
        plain[:1] = [f"the {first}" for first in plain[:1]]
    return listed([*plain, *map(_special_day, day.special)]) + " of the month"


def describe_weekdays(meaning: Meaning, weekday: DayField) -> str:
    """Describe which weekdays a field allows, with the week from Monday on."""
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


def _describe_months(meaning: Meaning) -> str:
    months = [month - 1 for month in meaning.months]
    return "" if len(months) == 12 else f"only in {listed(ranges(months, MONTHS))}"


def _describe_years(meaning: Meaning) -> str:
    years = meaning.years
    if years is None:
        return ""
    step = step_of(years)
    if step and step > 1:
        return f"every {step} years from {years[0]} to {years[-1]}"
    words = (f"{first}" if first == last else f"{first} to {last}" for first, last in spans(years))
    return f"only in {listed(words)}"
