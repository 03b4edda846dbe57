"""Words for an RFC 5545 rule; one that has parts we find no words for is quoted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from matins.domain.explaining.english import (
    MONTHS,
    ORDINALS,
    WEEKDAYS,
    clock,
    counted,
    each,
    listed,
    moment,
    ordinal,
)

_UNITS: Final = {
    "YEARLY": "year",
    "MONTHLY": "month",
    "WEEKLY": "week",
    "DAILY": "day",
    "HOURLY": "hour",
    "MINUTELY": "minute",
    "SECONDLY": "second",
}
_DAYS: Final = dict(zip(("SU", "MO", "TU", "WE", "TH", "FR", "SA"), WEEKDAYS, strict=True))
_SAID: Final = {"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYSETPOS", "BYMONTH", "BYWEEKNO"} | {
    f"BY{unit}" for unit in ("YEARDAY", "MONTHDAY", "DAY", "HOUR", "MINUTE", "SECOND")
}
_BY_DAY: Final = re.compile(r"([+-]?\d{1,2})?(SU|MO|TU|WE|TH|FR|SA)", re.ASCII)
_QUOTED_MAX: Final = 200
_TIMES_MAX: Final = 6


class _Text(msgspec.Struct, frozen=True):
    """What is written: parts, start, and how many instants are added and left out."""

    parts: dict[str, str]
    start: datetime | None
    zone: str | None
    added: int
    left_out: int


def say_rrule(text: str, timezone: str) -> str:
    """Say when a rule is due; `timezone` holds for a rule that names none."""
    try:
        read = _read(text)
        said = [*_say_rule(read), *_say_ends(read)]
    except (ValueError, LookupError):
        return f"by the rule {' '.join(text.split())[:_QUOTED_MAX]!r}, {zone_words(timezone)}"
    return f"{', '.join(said)}, {zone_words(read.zone or timezone)}"


def zone_words(timezone: str) -> str:
    """Say in which zone times of day are meant."""
    return "UTC" if timezone == "UTC" else f"{timezone} time"


def _read(text: str) -> _Text:
    """Read the lines; raises ValueError for what we have no words for."""
    parts: dict[str, str] = {}
    start, zone = None, None
    counts = {"RDATE": 0, "EXDATE": 0}
    for line in re.sub(r"\r?\n[ \t]", "", text).split():
        head, colon, value = line.partition(":")
        if not colon:
            head, value = "RRULE", line
        name, *params = head.split(";")
        if name.upper() == "DTSTART":
            start, zone = _moment(value), _zone(params, value)
        elif name.upper() == "RRULE" and not parts:
            parts = dict(part.split("=", 1) for part in value.upper().split(";") if part)
        else:
            counts[name.upper()] += value.count(",") + 1
    if not parts.keys() <= _SAID:
        raise ValueError("a part without words")
    return _Text(parts, start, zone, counts["RDATE"], counts["EXDATE"])


def _moment(text: str) -> datetime:
    plain = text.upper().removesuffix("Z")
    form = "%Y%m%dT%H%M%S" if "T" in plain else "%Y%m%d"
    return datetime.strptime(plain, form).replace(tzinfo=UTC)


def _zone(params: Sequence[str], value: str) -> str | None:
    named = [param[5:] for param in params if param.upper().startswith("TZID=")]
    return named[0] if named else "UTC" if value.upper().endswith("Z") else None


def _numbers(parts: dict[str, str], name: str) -> list[int]:
    return sorted({int(number) for number in parts[name].split(",")}) if name in parts else []


def _say_rule(read: _Text) -> list[str]:
    """Say what the rule's parts mean, from the longest unit of time to the shortest."""
    parts, start = read.parts, read.start
    if not parts:
        return [] if start is None else [f"once on {moment(start)}"]
    unit = _UNITS[parts["FREQ"]]
    said = [each(counted(int(parts.get("INTERVAL", "1")), unit))]
    if "BYMONTH" in parts:
        said.append(f"in {listed(MONTHS[number - 1] for number in _numbers(parts, 'BYMONTH'))}")
    if "BYWEEKNO" in parts:
        said.append(f"in {_from_both_ends(_numbers(parts, 'BYWEEKNO'), 'week')} of the year")
    said += _say_days(parts, unit, start)
    said += _say_time(parts, unit, start)
    if "BYSETPOS" in parts:
        only = _from_both_ends(_numbers(parts, "BYSETPOS"), "")
        said.append(f"of these only {only} in each {unit}")
    if "WKST" in parts and parts["WKST"] != "MO" and {"BYWEEKNO", "INTERVAL"} & parts.keys():
        said.append(f"weeks beginning on {_DAYS[parts['WKST']]}")
    return said


def _say_days(parts: dict[str, str], unit: str, start: datetime | None) -> list[str]:
    """Say the days; those that the rule leaves open are the start's."""
    said = []
    if {"BYMONTHDAY", "BYYEARDAY"} <= parts.keys():
        raise ValueError("two counts of days without words")
    if "BYMONTHDAY" in parts:
        month = "each month" if unit == "year" and "BYMONTH" not in parts else "the month"
        said.append(f"on {_from_both_ends(_numbers(parts, 'BYMONTHDAY'), 'day')} of {month}")
    if "BYYEARDAY" in parts:
        said.append(f"on {_from_both_ends(_numbers(parts, 'BYYEARDAY'), 'day')} of the year")
    if "BYDAY" in parts:
        said.append(_say_weekdays(parts, unit, limits=bool(said)))
    if said or start is None or "BYWEEKNO" in parts:
        return said
    if unit == "week":
        return [f"on {WEEKDAYS[start.isoweekday() % 7]}"]
    if unit == "month" or (unit == "year" and "BYMONTH" in parts):
        return [f"on the {ordinal(start.day)} of the month"]
    return [f"on {start.day} {MONTHS[start.month - 1]}"] if unit == "year" else []


def _say_weekdays(parts: dict[str, str], unit: str, *, limits: bool) -> str:
    """Say the weekdays, which limit the days if any are named already."""
    matches = [_BY_DAY.fullmatch(item) for item in parts["BYDAY"].split(",")]
    words = [_say_weekday(match[1], match[2]) for match in matches if match]
    if len(words) < len(matches):
        raise ValueError("a weekday without words")
    said = f"if that is {listed(words, 'or')}" if limits else f"on {listed(words)}"
    if not any(match and match[1] for match in matches):
        return said
    return f"{said} of the {'month' if unit == 'month' or 'BYMONTH' in parts else 'year'}"


def _say_weekday(number: str | None, day: str) -> str:
    if number is None:
        return _DAYS[day]
    place = int(number)
    if place > len(ORDINALS):
        return f"the {ordinal(place)} {_DAYS[day]}"
    if place > 0:
        return f"the {ORDINALS[place - 1]} {_DAYS[day]}"
    return f"the last {_DAYS[day]}" if place == -1 else f"the {ordinal(-place)} last {_DAYS[day]}"


def _from_both_ends(numbers: Sequence[int], noun: str) -> str:
    """Name places counted from the start and, where they are negative, from the end."""
    words = []
    for number in [
        *(n for n in numbers if n > 0),
        *sorted((n for n in numbers if n < 0), reverse=True),
    ]:
        if number > 0:
            words.append(f"{ordinal(number)}")
        else:
            words.append("last" if number == -1 else f"{ordinal(-number)} last")
    return f"the {listed(words)}{' ' if noun else ''}{noun}"


def _say_time(parts: dict[str, str], unit: str, start: datetime | None) -> list[str]:
    """Say the times of day; units shorter than the rule's, if left open, are the start's."""
    given = {name: _numbers(parts, f"BY{name.upper()}") for name in ("hour", "minute", "second")}
    order = ["second", "minute", "hour", "day"]
    finest = order.index(unit) if unit in order else 3
    if start is not None:
        open_units = {"second": start.second, "minute": start.minute, "hour": start.hour}
        for name in order[:finest]:
            given[name] = given[name] or [open_units[name]]
    hours, minutes, seconds = given.values()
    if hours and minutes and seconds and len(hours) * len(minutes) * len(seconds) <= _TIMES_MAX:
        times = (h * 3600 + m * 60 + s for h in hours for m in minutes for s in seconds)
        return [f"at {listed(map(clock, times))}"]
    if seconds == [0] and (minutes or finest):
        del given["second"]
    named = [
        f"{name if len(values) == 1 else name + 's'} {listed(map(str, values))}"
        for name, values in reversed(given.items())
        if values
    ]
    if not named:
        return []
    return [f"{'in' if named[-1].startswith('hour') else 'at'} {' of '.join(named)}"]


def _say_ends(read: _Text) -> list[str]:
    """Say where the rule starts and ends, and what is added or left out."""
    said, parts = [], read.parts
    if "COUNT" in parts:
        said.append(f"{counted(int(parts['COUNT']), 'time')} in all")
    if parts and read.start is not None:
        said.append(f"from {moment(read.start)} on")
    if "UNTIL" in parts:
        until = parts["UNTIL"]
        said.append(f"until {moment(_moment(until))}{' UTC' if until.endswith('Z') else ''}")
    if read.added:
        said.append(f"and at {counted(read.added, 'instant')} more")
    if read.left_out:
        said.append(f"except at {counted(read.left_out, 'instant')}")
    return said
