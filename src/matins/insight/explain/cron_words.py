"""Words for a cron expression: those of cron-descriptor where they are true, else our own.

The library is given a plain expression, made anew from what the compiled one allows, and only in
the shapes of which it speaks clearly. It takes no part in the two day fields, whose rules it
doesn't know, and none in lists of hours within which more than one minute is due.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from cron_descriptor import (  # type: ignore[import-untyped] # typed inside, but not marked so
    DescriptionTypeEnum,
    ExpressionDescriptor,
    Options,
)

from matins.domain.schedules.cron import Dialect
from matins.insight.explain.day_words import say_days
from matins.insight.explain.english import clock, listed, ranges, spans, step_of
from matins.insight.explain.meaning import Meaning, read_meaning

_LIST_MAX: Final = 6
_SAID_MAX: Final = 1024


def say_cron(expression: str, dialect: Dialect, seed: str) -> str:
    """Say when a cron expression is due, for the job whose id is `seed` (empty: not known yet).

    Raises ScheduleError.
    """
    meaning = read_meaning(expression, dialect, seed)
    if meaning.is_hashed and not seed:
        return _say_unknown(meaning, expression)
    time = _say_time(meaning)
    days = say_days(meaning)
    if not days and time.startswith("at ") and len(meaning.hours) < 24:
        days = "every day"
    said = _joined(time, days, _say_months(meaning), _say_years(meaning))
    return f"{said} (chosen from the job's id)" if meaning.is_hashed else said


def _say_unknown(meaning: Meaning, expression: str) -> str:
    """Say what holds for every job id."""
    chosen = "chosen from the job's id"
    if not meaning.texts:
        return f"{expression.strip().lower()}, at a time {chosen}"
    second, minute, hour, day, month, weekday, *_ = meaning.texts
    time = " ".join(([] if second == "0" else [second]) + [minute, hour])
    time = f"at a time {chosen} ({time})" if "H" in time else _say_time(meaning)
    days = " ".join((day, weekday.replace("THU", "T")))
    days = f"on a day {chosen} ({day} {weekday})" if "H" in days else say_days(meaning)
    months = f"in a month {chosen} ({month})" if "H" in month else _say_months(meaning)
    return _joined(time, days, months, _say_years(meaning))


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _say_time(meaning: Meaning) -> str:
    """Say the times of day, in one of three ways: as a list, by the library, field by field."""
    seconds, minutes, hours = meaning.seconds, meaning.minutes, meaning.hours
    if len(seconds) * len(minutes) * len(hours) <= _LIST_MAX:
        return "at " + listed(
            clock(hour * 3600 + minute * 60 + second)
            for hour in hours
            for minute in minutes
            for second in seconds
        )
    if _is_clear(seconds, minutes, hours):
        parts = (seconds, 60), (minutes, 60), (hours, 24)
        return _described_time(" ".join(_canonical(*part) for part in parts))
    of_time = f"{_field(minutes, 60, 'minute')} of {_field(hours, 24, 'hour')}"
    return f"at {of_time}" if seconds == [0] else f"at {_field(seconds, 60, 'second')} of {of_time}"


def _is_clear(seconds: Sequence[int], minutes: Sequence[int], hours: Sequence[int]) -> bool:
    """Tell whether the library says the truth about times of day, so that nobody misreads it."""
    by_minute, by_hour = _shape(minutes, 60), _shape(hours, 24)
    if seconds != [0]:
        steady = _shape(seconds, 60) in {"all", "step"} and by_minute == "all"
        return steady and by_hour in {"all", "one", "range"}
    if by_minute == "one":
        return minutes != [1] and by_hour in {"all", "range", "step"}  # "at 1 minutes past"
    if by_minute == "list" and len(minutes) > _LIST_MAX:
        return False
    return by_hour in {"all", "range"} or (by_hour == "one" and by_minute != "list")


def _shape(values: Sequence[int], size: int) -> str:
    if len(values) == size:
        return "all"
    if len(values) == 1:
        return "one"
    if len(spans(values)) == 1:
        return "range"
    step = values[1] - values[0]
    return "step" if list(values) == list(range(0, size, step)) and size % step == 0 else "list"


def _canonical(values: Sequence[int], size: int) -> str:
    """Write a field the plainest way."""
    shape = _shape(values, size)
    if shape == "all":
        return "*"
    if shape == "step":
        return f"*/{values[1]}"
    return f"{values[0]}-{values[-1]}" if shape == "range" else ",".join(map(str, values))


def _field(values: Sequence[int], size: int, noun: str) -> str:
    """Say which values of a field are meant: `minutes 5 and 10`, `each hour`."""
    if len(values) == size:
        return f"each {noun}"
    if len(values) == 1:
        return f"{noun} {values[0]}"
    step = step_of(values)
    if step and step > 1 and len(values) > 4:
        return f"each {noun} from {values[0]} to {values[-1]} in steps of {step}"
    return f"{noun}s {listed(ranges(values, [str(number) for number in range(size)]))}"


def _say_months(meaning: Meaning) -> str:
    months = meaning.months
    if len(months) == 12:
        return ""
    one_span = len(months) > 2 and len(spans(months)) == 1
    text = f"{months[0]}-{months[-1]}" if one_span else ",".join(map(str, months))
    return _described_months(text)


def _say_years(meaning: Meaning) -> str:
    years = meaning.years
    if years is None:
        return ""
    step = step_of(years)
    if step and step > 1:
        return f"every {step} years from {years[0]} to {years[-1]}"
    words = (f"{first}" if first == last else f"{first} to {last}" for first, last in spans(years))
    return f"only in {listed(words)}"


@lru_cache(maxsize=_SAID_MAX)
def _described_time(fields: str) -> str:
    said = str(_library(f"{fields} * * * *").get_description())
    return said[:1].lower() + said[1:]


@lru_cache(maxsize=_SAID_MAX)
def _described_months(months: str) -> str:
    library = _library(f"0 0 0 * {months} * *")
    return str(library.get_description(DescriptionTypeEnum.MONTH)).removeprefix(", ")


def _library(expression: str) -> ExpressionDescriptor:
    # Without a locale it would ask the process for its own, and warn where there is none.
    options = Options(locale_code="en_US", use_24hour_time_format=True)
    return ExpressionDescriptor(expression, options)
