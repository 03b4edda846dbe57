"""Durations as owners write them: `90s`, `15m`, `1h30m`, `500ms`, or ISO 8601 such as `PT15M`."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import lru_cache

from matins.domain.errors import ScheduleError

_UNITS_S = {"w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PARTS = (
    r"(?:(\d{1,9})w)?(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?"
)
_SHORT = re.compile(_PARTS, re.ASCII)
_ISO = re.compile(
    r"P(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,6})?)S)?)?",
    re.ASCII,
)
_LIMIT_S = 100 * 366 * 86400.0
_HINT = "write it as 90s, 15m, 1h30m or in ISO 8601 such as PT15M"


@lru_cache(maxsize=4096)
def parse_duration(text: str) -> float:
    """Read a duration and give its length in seconds, never negative.

    Raises ScheduleError for anything else, for negative lengths and for more than 100 years.
    """
    if text.startswith("-"):
        raise ScheduleError(f"{text[:40]!r} is negative; a duration is zero or more: {_HINT}")
    match = _SHORT.fullmatch(text) or _ISO.fullmatch(text)
    parts = match.groups(default="") if match else ()
    if not any(parts):
        raise ScheduleError(f"{text[:40]!r} is not a duration; {_HINT}")
    scale = zip(parts, _UNITS_S.values(), strict=False)
    seconds = sum(float(part) * unit for part, unit in scale if part)
    if seconds > _LIMIT_S:
        raise ScheduleError(f"{text[:40]!r} is longer than 100 years")
    return seconds


def format_duration(seconds: float) -> str:
    """Write seconds the short way, largest unit first: 5400 is `1h30m`, 0 is `0s`."""
    left = round(timedelta(seconds=seconds).total_seconds() * 1000)
    text = ""
    for unit, length in _UNITS_S.items():
        count, left = divmod(left, round(length * 1000))
        if count:
            text += f"{count}{unit}"
    return text or "0s"
