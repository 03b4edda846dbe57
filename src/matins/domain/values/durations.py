"""Durations as owners write them: `90s`, `15m`, `1h30m`, `500ms`, or ISO 8601 such as `PT15M`."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from functools import lru_cache

from matins.domain.values.errors import ScheduleError

_UNITS_S = {"w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_UNITS_US = [round(length * 1_000_000) for length in _UNITS_S.values()]
# Days and weeks have no fractions: they are calendar days in a schedule, which has no half ones.
_WHOLE = r"(\d{1,15})"
_POINT = r"(\d{1,15}(?:\.\d{1,15})?)"
_COMMA = r"(\d{1,15}(?:[.,]\d{1,15})?)"
_SHORT = re.compile(
    rf"(?:{_WHOLE}w)?(?:{_WHOLE}d)?(?:{_POINT}h)?(?:{_POINT}m)?(?:{_POINT}s)?(?:{_POINT}ms)?",
    re.ASCII,
)
_ISO = re.compile(
    rf"P(?:{_WHOLE}W)?(?:{_WHOLE}D)?(?:T(?=\d)(?:{_COMMA}H)?(?:{_COMMA}M)?(?:{_COMMA}S)?)?",
    re.ASCII | re.IGNORECASE,
)
_LIMIT_S = 100 * 366 * 86400.0
_HINT = "write it as 90s, 15m, 1h30m or in ISO 8601 such as PT15M"


@lru_cache(maxsize=4096)
def parse_duration(text: str) -> float:
    """Read a duration, and return its length in seconds, never negative.

    Hours and what is shorter may have fractions, to the microsecond: `1.5h` is `90m`. Raises
    ScheduleError for anything else, for negative lengths and for more than 100 years.
    """
    if text.startswith("-"):
        raise ScheduleError(f"{text[:40]!r} is negative; a duration is zero or more: {_HINT}")
    match = _SHORT.fullmatch(text) or _ISO.fullmatch(text)
    parts = match.groups(default="") if match else ()
    if not any(parts):
        raise ScheduleError(f"{text[:40]!r} is not a duration; {_HINT}")
    scale = zip(parts, _UNITS_US, strict=False)
    length_us = sum(Fraction(part.replace(",", ".")) * unit for part, unit in scale if part)
    if length_us != int(length_us):
        raise ScheduleError(f"{text[:40]!r} is finer than a microsecond; {_HINT}")
    seconds = int(length_us) / 1_000_000
    if seconds > _LIMIT_S:
        raise ScheduleError(f"{text[:40]!r} is longer than 100 years")
    return seconds


@lru_cache(maxsize=4096)
def parse_whole_seconds(text: str) -> int:
    """Read a duration without a fraction of a second. Raises ScheduleError."""
    length = parse_duration(text)
    if length != int(length):
        raise ScheduleError(f"{text[:40]!r} has a fraction of a second; write whole seconds")
    return int(length)


def format_duration(seconds: float) -> str:
    """Write seconds the short way, largest unit first: 5400 is `1h30m`, 0 is `0s`."""
    left = round(timedelta(seconds=seconds).total_seconds() * 1000)
    text = ""
    for unit, length in _UNITS_S.items():
        count, left = divmod(left, round(length * 1000))
        if count:
            text += f"{count}{unit}"
    return text or "0s"
