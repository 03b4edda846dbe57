"""Reads compiled zone data: RFC 9636 (TZif), with the POSIX rule in its footer."""

from __future__ import annotations

import re
import struct
from typing import Final

from matins.domain.time.civil import DAY_S, month_length, month_start, month_weekday

LAST_RULE_YEAR: Final = 2600
"""Transitions are listed up to this year; after that the Gregorian cycle repeats."""

_HEADER = struct.Struct(">4s c 15x 6l")
_NAME = r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]+>)"
_OFFSET = r"([+-]?\d+(?::\d+){0,2})"
_FOOTER = re.compile(rf"{_NAME}{_OFFSET}(?:{_NAME}{_OFFSET}?,([^,]+),([^,]+))?", re.ASCII)
_MONTH_RULE = re.compile(r"M(\d+)\.(\d)\.(\d)", re.ASCII)


def read_transitions(data: bytes) -> tuple[list[int], list[int]]:
    """Return the instants at which the offset changes, and the offsets, in seconds.

    There is one more offset than there are instants: the first holds before all of them.
    """
    instants, offsets, footer = _read_listed(data)
    if footer:
        _extend(instants, offsets, footer)
    changed = [i for i in range(len(instants)) if offsets[i] != offsets[i + 1]]
    return [instants[i] for i in changed], offsets[:1] + [offsets[i + 1] for i in changed]


def _read_listed(data: bytes) -> tuple[list[int], list[int], str]:
    """Read the 64-bit part of the file."""
    _, _, utc, std, leap, times, types, chars = _HEADER.unpack_from(data)
    at = _HEADER.size + times * 5 + types * 6 + chars + leap * 8 + std + utc
    _, _, utc, std, leap, times, types, chars = _HEADER.unpack_from(data, at)
    at += _HEADER.size
    instants = list(struct.unpack_from(f">{times}q", data, at))
    at += times * 8
    indices = data[at : at + times]
    at += times
    by_type = [struct.unpack_from(">l", data, at + 6 * i)[0] for i in range(types)]
    at += types * 6 + chars + leap * 12 + std + utc
    return instants, [by_type[0], *(by_type[i] for i in indices)], data[at:].decode().strip()


def _extend(instants: list[int], offsets: list[int], footer: str) -> None:
    """Append what the footer's rule says about the years after the listed transitions."""
    match = _FOOTER.fullmatch(footer)
    assert match, f"the zone rule {footer!r} has a form that RFC 9636 does not know"
    standard, daylight, starts, ends = match.groups()
    standard_s = -_seconds(standard)
    if not starts:
        return
    daylight_s = -_seconds(daylight) if daylight else standard_s + 3600
    last = instants[-1] if instants else month_start(1970, 0) * DAY_S
    first_year = 1970 + last // (365 * DAY_S) - 2
    coming = sorted(
        (wall - offset_before, offset_after)
        for rule, offset_before, offset_after in (
            (starts, standard_s, daylight_s),
            (ends, daylight_s, standard_s),
        )
        for wall in _wall_times(rule, first_year)
    )
    instants += [instant for instant, _ in coming if instant > last]
    offsets += [offset for instant, offset in coming if instant > last]


def _wall_times(rule: str, first_year: int) -> list[int]:
    """Return the local second of the rule's change in each year."""
    date, _, clock = rule.partition("/")
    second = _seconds(clock or "2")
    years = range(first_year, LAST_RULE_YEAR + 1)
    if match := _MONTH_RULE.fullmatch(date):
        month, week, weekday = map(int, match.groups())
        days = [_weekday_of_month(year, month - 1, week, weekday) for year in years]
    elif date.startswith("J"):  # 29 February is never counted
        days = [month_start(year, 0) + _julian(year, int(date[1:])) for year in years]
    else:
        days = [month_start(year, 0) + int(date) for year in years]
    return [day * DAY_S + second for day in days]


def _weekday_of_month(year: int, month: int, week: int, weekday: int) -> int:
    """Return the day that is the n-th such weekday of a month, where the fifth is the last."""
    day = (weekday - month_weekday(year, month)) % 7 + 7 * (week - 1)
    return month_start(year, month) + (day if day < month_length(year, month) else day - 7)


def _julian(year: int, number: int) -> int:
    return number - 1 + (number >= 60 and month_length(year, 1) == 29)


def _seconds(text: str) -> int:
    """Read `[+-]hh[:mm[:ss]]`."""
    parts = [int(part) for part in text.lstrip("+-").split(":")] + [0, 0]
    length = parts[0] * 3600 + parts[1] * 60 + parts[2]
    return -length if text.startswith("-") else length
