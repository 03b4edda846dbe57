"""Where a cron expression or a recurrence rule means other than what many who write it expect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from matins.domain.schedules.rrule.parts import Frequency
from matins.domain.schedules.rrule.text import parse_recurrence
from matins.domain.time.civil import DAY_S
from matins.domain.time.instants import instant_of
from matins.domain.time.zones import find_zone
from matins.insight.explain.cron_meaning import DayField, Meaning
from matins.insight.explain.cron_words import describe_month_days, describe_weekdays
from matins.insight.explain.english import MONTHS, WEEKDAYS, counted, date_of, listed, ordinal

_FEBRUARY: Final = 2
_WORKDAY: Final = re.compile(r"0*(\d+)W", re.ASCII)
_RULE_DAYS: Final = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")
_LACKING: Final = {29: {2}, 30: {2}, 31: {2, 4, 6, 9, 11}}
_FEW_DAYS: Final = 7


def cron_pitfalls(meaning: Meaning, today: int) -> Iterator[str]:
    """Return the warnings about an expression; `today` is a day counted from 1970-01-01."""
    yield from _either_day(meaning)
    yield from _short_months(meaning, today)
    yield from _steps(meaning)


def _either_day(meaning: Meaning) -> Iterator[str]:
    if not meaning.either_day:
        return
    day, weekday = meaning.limits()
    if day and weekday:
        days = (
            f"due on {describe_weekdays(meaning, weekday)} and also on {describe_month_days(day)}"
        )
        rule = _rule_of_both(meaning, day, weekday)
        hint = f"; to need both, write an rrule with {rule}" if rule else ""
        yield f"either day field is enough: {days}{hint}"
    elif meaning.day.takes_all != meaning.weekday.takes_all:
        whole, other = meaning.day, meaning.weekday
        names = "day-of-month", "day-of-week"
        if meaning.weekday.takes_all:
            whole, other, names = other, whole, names[::-1]
        yield (
            f"due every day: {names[0]} {whole.text} takes in every day, and either day field is"
            f" enough, so that {names[1]} {other.text} limits nothing; write * for {names[0]}"
        )


def _rule_of_both(meaning: Meaning, day: DayField, weekday: DayField) -> str:
    """Return both day fields as parts of an RFC 5545 rule, which needs both; empty for `W`."""
    if any("W" in item for item in day.special):
        return ""
    days = [str(value) for value in day.values]
    days += [str(-1 - int(item.partition("-")[2] or 0)) for item in day.special]
    weekdays = [_RULE_DAYS[value] for value in weekday.values]
    for item in weekday.special:
        number = item.partition("#")[2] or "-1"
        weekdays.append(f"{number}{_RULE_DAYS[meaning.weekday_of(item)]}")
    months = meaning.months_written
    by_month = "" if len(months) == 12 else f";BYMONTH={','.join(map(str, months))}"
    return f"FREQ=MONTHLY;BYDAY={','.join(weekdays)};BYMONTHDAY={','.join(days)}{by_month}"


def _short_months(meaning: Meaning, today: int) -> Iterator[str]:
    """Warn of months that lack some of the days."""
    day, weekday = meaning.limits()
    months = meaning.months_written
    if day and months == [_FEBRUARY] and not meaning.either_day:
        if day.values == [29] and not day.special:
            coming = meaning.pattern.days.next(today)
            hint = "" if coming is None else f": next on {date_of(instant_of(coming * DAY_S))}"
            yield f"only in leap years{hint}"
            return
        if day.values == list(range(1, 29)) and not day.special:
            yield "never on a leap day: the 29th of February is left out"
    if day:
        yield from _missing_days(day, months)
    if weekday:
        fifth = [
            WEEKDAYS[meaning.weekday_of(text)] for text in weekday.special if text.endswith("#5")
        ]
        if fifth:
            yield f"not in every month: some have no fifth {listed(fifth, 'or')}"


def _missing_days(day: DayField, months: Sequence[int]) -> Iterator[str]:
    if any(item.startswith("L") for item in day.special):
        return
    workdays = [int(match[1]) for item in day.special if (match := _WORKDAY.fullmatch(item))]
    lacking = _lacking_months([*day.values, *workdays], months)
    if lacking:
        hint = "LW for the last weekday" if workdays else "L for the last day"
        yield f"not in every month: {lacking}; write {hint}"


def _steps(meaning: Meaning) -> Iterator[str]:
    """Warn where a step does not divide its field, so that the last gap is another."""
    if not meaning.texts:
        return
    second, minute, hour, day, month, weekday, *_ = meaning.texts
    checked = [
        (month, meaning.months_written, 12, ("month", "year")),
        (weekday, meaning.weekday.values, 7, ("day", "week")),
        (hour, meaning.hours, 24, ("hour", "day")),
    ]
    if len(meaning.hours) > 1:
        checked.append((minute, meaning.minutes, 60, ("minute", "hour")))
    if len(meaning.minutes) > 1:
        checked.append((second, meaning.seconds, 60, ("second", "minute")))
    if _has_step(day) and 1 < len(meaning.day.values) < 31:
        first = ordinal(meaning.day.values[0])
        yield f"{day} in day-of-month begins anew each month, on the {first}"
    for text, values, size, (unit, whole) in checked:
        if _has_step(text) and (last := _short_gap(text, values, size)):
            gap = f"the last gap is {counted(last, unit)}"
            yield f"{text} {unit}s begins anew each {whole}: {gap}"


def _short_gap(text: str, values: Sequence[int], size: int) -> int | None:
    """Return the gap at the end of a round if it is shorter than the step."""
    step = int(text.partition("/")[2])
    gaps = [after - before for before, after in pairwise([*values, values[0] + size])]
    return next((gap for gap in gaps if gap < step), None)


def _has_step(text: str) -> bool:
    """Return whether a field is one step to its end, and no list or range."""
    base, slash, _ = text.partition("/")
    return bool(slash) and "," not in text and "-" not in base


def rrule_pitfalls(text: str, timezone: str, start: int) -> Iterator[str]:
    """Return the warnings about a rule; the arguments are those of `describe_rrule`."""
    read = parse_recurrence(text, find_zone(timezone)).starting(start)
    parts, first = read.parts, instant_of(read.wall)
    if parts is None or parts.frequency > Frequency.MONTHLY:
        return
    days, months = parts.month_days, parts.months or tuple(range(1, 13))
    if not days and not (parts.weekdays or parts.weeks or parts.year_days):
        days = (first.day,)
        if parts.frequency == Frequency.YEARLY and not parts.months:
            months = (first.month,)
    lacking = "" if any(day < 0 for day in days) else _lacking_months(days, months)
    if lacking:
        yield f"not each time: {lacking}; write BYMONTHDAY=-1 for the last day"


def _lacking_months(days: Iterable[int], months: Sequence[int]) -> str:
    """Return which of some months (from 1) lack which of a few days; empty if none lacks any."""
    asked = sorted(set(days))
    if len(asked) > _FEW_DAYS:
        return ""  # whoever asks for every second day means no end of a month
    phrases = []
    for day in asked:
        lacking = [month for month in months if month in _LACKING.get(day, ())]
        names = listed(MONTHS[month - 1] for month in lacking)
        if lacking and day == 29:
            phrases.append(f"{names} has a 29th in leap years only")
        elif lacking:
            phrases.append(f"{names} {'has' if len(lacking) == 1 else 'have'} no {ordinal(day)}")
    return listed(phrases)
