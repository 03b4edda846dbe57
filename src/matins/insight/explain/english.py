"""Numbers, dates, instants and lengths of time as English words; clocks have 24 hours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from matins.domain.time.civil import DAY_S, FIRST_S, LAST_S
from matins.domain.time.instants import instant_of
from matins.domain.time.zones import Zone

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
FROM_MONDAY: Final = (*WEEKDAYS[1:], WEEKDAYS[0])
ORDINALS: Final = ("first", "second", "third", "fourth", "fifth")

_UNITS: Final = (("day", DAY_S), ("hour", 3600), ("minute", 60), ("second", 1))


def listed(words: Iterable[str], last: str = "and") -> str:
    """Join words: `a`, `a and b`, `a, b and c`."""
    all_words = list(words)
    if len(all_words) < 2:
        return "".join(all_words)
    return f"{', '.join(all_words[:-1])} {last} {all_words[-1]}"


def ordinal(number: int) -> str:
    """Return a number's place in an order: `1st`, `12th`, `23rd`."""
    if number % 100 in {11, 12, 13}:
        return f"{number}th"
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}).get(number % 10, 'th')}"


def counted(count: int, noun: str) -> str:
    """Return a number of things: `1 minute`, `15 minutes`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def length(seconds: int, *, real_time: bool = False) -> str:
    """Return a length of time: 5400 is `1 hour and 30 minutes`. Real time has no days."""
    parts = []
    left = seconds
    for unit, size in _UNITS[1:] if real_time else _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(counted(count, unit))
    return listed(parts) or "0 seconds"


def clock(second_of_day: int) -> str:
    """Return a time of day: `02:30`, with its seconds if it has any: `02:30:15`."""
    minute, second = divmod(second_of_day, 60)
    text = f"{minute // 60:02}:{minute % 60:02}"
    return f"{text}:{second:02}" if second else text


def each(span: str) -> str:
    """Return how often: `every minute`, `every 2 hours`, for a length of time."""
    single = span.startswith("1 ") and " " not in span[2:]
    return f"every {span[2:] if single else span}"


def wall_at(instant: int, zone: Zone) -> datetime:
    """Return what clocks in a zone show at an instant, within the years 1 to 9999."""
    wall = max(FIRST_S, min(instant + zone.offset_at(instant), LAST_S))
    return instant_of(wall)


def date_of(wall: datetime) -> str:
    """Return a date: `29 March 2026`."""
    return f"{wall.day} {MONTHS[wall.month - 1]} {wall.year}"


def moment(wall: datetime) -> str:
    """Return a date and a time of day: `Tue 2026-12-01 at 09:00`."""
    weekday = WEEKDAYS[wall.isoweekday() % 7][:3]
    time = clock(wall.hour * 3600 + wall.minute * 60 + wall.second)
    return f"{weekday} {wall.year:04}-{wall.month:02}-{wall.day:02} at {time}"


def spans(values: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and last of each run of neighbours in sorted values."""
    runs: list[tuple[int, int]] = []
    for value in values:
        if runs and runs[-1][1] == value - 1:
            runs[-1] = (runs[-1][0], value)
        else:
            runs.append((value, value))
    return runs


def step_of(values: Sequence[int]) -> int | None:
    """Return the distance from each of three or more sorted values to the next, if it is one."""
    if len(values) < 3:
        return None
    step = values[1] - values[0]
    return step if list(values) == list(range(values[0], values[-1] + 1, step)) else None


def ranges(values: Sequence[int], names: Sequence[str]) -> list[str]:
    """Name sorted values, three or more neighbours as a range: `Monday to Friday`."""
    words: list[str] = []
    for first, last in spans(values):
        if last - first > 1:
            words.append(f"{names[first]} to {names[last]}")
        else:
            words += [names[value] for value in range(first, last + 1)]
    return words


def zone_words(timezone: str) -> str:
    """Name the zone in which times of day are meant."""
    return "UTC" if timezone == "UTC" else f"{timezone} time"


def describe_instants(instants: Iterable[int], zone: Zone) -> str:
    """Describe instants, in seconds from 1970 UTC, by the first and the last."""
    ordered = sorted(set(instants))
    first, last = (f"on {moment(wall_at(instant, zone))}" for instant in (ordered[0], ordered[-1]))
    if len(ordered) == 1:
        return f"once {first}, {zone_words(zone.name)}"
    count = f"{len(ordered):,} listed instants"
    return f"at {count}, the first {first} and the last {last}, {zone_words(zone.name)}"
