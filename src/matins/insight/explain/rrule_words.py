"""Words for an RFC 5545 rule; parts that we find no honest words for are quoted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from matins.domain.schedules.rrule.parts import Frequency, Parts
from matins.domain.schedules.rrule.text import parse_recurrence
from matins.domain.time.civil import DAY_S
from matins.domain.time.instants import instant_of
from matins.domain.time.zones import find_zone
from matins.insight.explain.english import (
    FROM_MONDAY,
    MONTHS,
    ORDINALS,
    clock,
    counted,
    describe_instants,
    each,
    listed,
    moment,
    ordinal,
    ranges,
    wall_at,
    zone_words,
)

_UNITS: Final = ("year", "month", "week", "day", "hour", "minute", "second")
_FOLD: Final = re.compile(r"\r?\n[ \t]")
_START_ZONE: Final = re.compile(r'DTSTART[^:]*;TZID="?([^":;]+)|DTSTART[^:]*:\w+(Z)', re.IGNORECASE)
_QUOTED_MAX: Final = 200
_LIST_MAX: Final = 6


def describe_rrule(text: str, timezone: str, start: int) -> str:
    """Describe when a rule is due. Raises ScheduleError.

    A rule that names no zone is in `timezone`, one without a DTSTART starts at the instant `start`.
    """
    read = parse_recurrence(text, find_zone(timezone)).starting(start)
    name = rule_zone(text, timezone)
    zone = find_zone(name)
    if read.parts is None:
        phrases = [describe_instants(read.added, zone)]
    else:
        words = _describe_parts(read.parts, read.wall) or f"by the rule {_quoted(text)!r}"
        phrases = [words, f"from {moment(instant_of(read.wall))} on"]
        if read.parts.count is not None:
            phrases.append(f"{counted(read.parts.count, 'time')} in all")
        if read.until is not None:
            phrases.append(f"until {moment(wall_at(read.until, zone))}")
        if read.added:
            phrases.append(f"and at {counted(len(read.added), 'instant')} more")
        phrases.append(zone_words(name))
    return ", ".join([*phrases, "except what EXDATE lists"] if read.excluded else phrases)


def rule_zone(text: str, timezone: str) -> str:
    """Return the name of the zone whose clocks a rule follows; `timezone` if it names none."""
    named = _START_ZONE.search(_FOLD.sub("", text))
    return timezone if named is None else named[1] or "UTC"


def _quoted(text: str) -> str:
    return " ".join(_FOLD.sub("", text).split())[:_QUOTED_MAX]


def _describe_parts(parts: Parts, start: int) -> str:
    """Describe a rule's parts, the longest unit of time first; empty without honest words."""
    counts = [parts.weeks, parts.year_days, parts.months or parts.month_days]
    if sum(map(bool, counts)) > 1:
        return ""
    unit = _UNITS[parts.frequency]
    phrases = [each(counted(parts.interval, unit))]
    if parts.months:
        only = "only " if parts.frequency > Frequency.YEARLY else ""
        phrases.append(f"{only}in {listed(MONTHS[month - 1] for month in parts.months)}")
    phrases += _describe_days(parts, start)
    phrases += _describe_time(parts, start)
    if parts.positions:
        phrases.append(f"of these only {_places(parts.positions)} in each {unit}")
    counts_weeks = parts.weeks or (parts.frequency == Frequency.WEEKLY and parts.interval > 1)
    if parts.week_start and counts_weeks:
        phrases.append(f"with weeks from {FROM_MONDAY[parts.week_start]} on")
    return ", ".join(phrases)


def _describe_days(parts: Parts, start: int) -> list[str]:
    """Describe the days; what the rule leaves open is that of the wall time of its start."""
    only = "only " if parts.frequency >= Frequency.DAILY else ""
    phrases = []
    if parts.weeks:
        phrases.append(f"{only}in {_places(parts.weeks)} week of the year")
    if parts.year_days:
        phrases.append(f"{only}on {_places(parts.year_days)} day of the year")
    if parts.month_days:
        by_year = parts.frequency == Frequency.YEARLY and not parts.months
        of_month = "each month" if by_year else "the month"
        phrases.append(f"{only}on {_places(parts.month_days)} day of {of_month}")
    if parts.weekdays:
        limits = parts.month_days or parts.year_days
        words = _weekdays(parts, limits=bool(limits))
        phrases.append(f"if that is {words}" if limits else f"{only}on {words}")
    first = instant_of(start)
    if (phrases and not parts.weeks) or parts.weekdays or parts.frequency >= Frequency.DAILY:
        return phrases
    if parts.weeks or parts.frequency == Frequency.WEEKLY:
        return [*phrases, f"on {FROM_MONDAY[first.weekday()]}"]
    if parts.frequency == Frequency.MONTHLY or parts.months:
        return [f"on the {ordinal(first.day)} of the month"]
    return [f"on {first.day} {MONTHS[first.month - 1]}"]


def _weekdays(parts: Parts, *, limits: bool) -> str:
    plain = [day for number, day in parts.weekdays if not number]
    numbered = [(number, day) for number, day in parts.weekdays if number]
    words = ranges(plain, FROM_MONDAY)
    if words and parts.frequency < Frequency.WEEKLY and not (parts.weeks or limits):
        words[0] = f"each {words[0]}"
    words += [f"the {_place(number)} {FROM_MONDAY[day]}" for number, day in numbered]
    by_month = parts.frequency == Frequency.MONTHLY or parts.months
    return listed(words, "or" if limits else "and") + (
        f" of the {'month' if by_month else 'year'}" if numbered else ""
    )


def _places(numbers: Sequence[int]) -> str:
    """Name places, those counted from the end last: `the 1st, 15th and last`."""
    from_start = [ordinal(number) for number in numbers if number > 0]
    return f"the {listed([*from_start, *(_place(number) for number in numbers if number < 0)])}"


def _place(number: int) -> str:
    if number < 0:
        return "last" if number == -1 else f"{ordinal(-number)} last"
    return ORDINALS[number - 1] if number <= len(ORDINALS) else ordinal(number)


def _describe_time(parts: Parts, start: int) -> list[str]:
    """Describe the times of day; units shorter than the rule's, if left open, are the start's."""
    frequency, time_of_day = parts.frequency, start % DAY_S
    if frequency > Frequency.DAILY and not parts.is_limited:
        return []  # it counts in real time from its start
    own_s = {Frequency.HOURLY: 3600, Frequency.MINUTELY: 60, Frequency.SECONDLY: 1}
    shorter_s = own_s.get(frequency, DAY_S)
    hours = parts.hours or ([time_of_day // 3600] if shorter_s > 3600 else [])
    minutes = parts.minutes or ([time_of_day // 60 % 60] if shorter_s > 60 else [])
    seconds = parts.seconds or ([time_of_day % 60] if shorter_s > 1 else [])
    if hours and minutes and seconds and len(hours) * len(minutes) * len(seconds) <= _LIST_MAX:
        times = (h * 3600 + m * 60 + s for h in hours for m in minutes for s in seconds)
        return [f"at {listed(map(clock, times))}"]
    named = [("second", seconds), ("minute", minutes), ("hour", hours)]
    words = [
        f"{noun if len(values) == 1 else f'{noun}s'} {listed(map(str, values))}"
        for noun, values in named
        if values and not (noun == "second" and list(values) == [0])
    ]
    if words and words[0].startswith("hour"):
        return [f"in {words[0]}"]
    return [f"at {' of '.join(words)}"] if words else []
