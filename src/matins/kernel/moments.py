"""Moments as people type them, read alike by every command."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from matins.domain.time.instants import epoch_s, instant_of, local_time, parse_instant
from matins.domain.time.local_times import parse_clear_instant
from matins.domain.time.zones import Zone
from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import InvalidInputError, ScheduleError
from matins.kernel.clock import HostClock

HELP = "An instant, 04:00, tomorrow, now, +2h, or 6h for 6h ago"
"""What an option may say that takes a moment."""

_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
_TIME = r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?"
_OF_A_DAY = re.compile(rf"(?:(yesterday|today|tomorrow)(?:[ T]{_TIME})?|{_TIME})", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_KNOWN = "write 2026-12-01T22:00, 04:00, tomorrow, tomorrow 04:00, now, +2h, or 6h for 6h ago"


def parse_moment(
    option: str,
    text: str,
    zone: Zone | None = None,
    *,
    now: datetime | None = None,
    base: datetime | None = None,
    is_clear: bool = False,
) -> datetime:
    """Read a moment. Raises InvalidInputError.

    Without an offset it is in the zone, or in this host's. Lengths of time count from `base`, or
    from now. One that must be clear is refused where the zone's clocks skip it or show it twice.
    """
    now, text = now or HostClock().now(), text.strip()
    try:
        return _read(
            text, zone, now, base or now, parse_clear_instant if is_clear else parse_instant
        )
    except (ValueError, OverflowError) as error:  # a ScheduleError is a ValueError, too
        is_written = _DATE.match(text) or _OF_A_DAY.fullmatch(text)
        is_misread = isinstance(error, ScheduleError) and is_written
        message = str(error) if is_misread else f"{text[:40]!r} is no moment; {_KNOWN}"
        raise InvalidInputError.at(option, message) from None


def parse_ahead(
    option: str, text: str, zone: Zone | None = None, *, now: datetime | None = None
) -> datetime:
    """Read when something is to be: as a moment that must be clear, but a length of time lies
    ahead. Raises InvalidInputError.
    """
    text = text.strip()
    is_length = _length(text) is not None
    return parse_moment(option, f"+{text}" if is_length else text, zone, now=now, is_clear=True)


def _read(
    text: str,
    zone: Zone | None,
    now: datetime,
    base: datetime,
    read: Callable[[str, Zone], int],
) -> datetime:
    if text == "now":
        return base
    if text[:1] == "+":
        return base + timedelta(seconds=parse_duration(text[1:]))
    if (length := _length(text.removeprefix("-").removesuffix(" ago"))) is not None:
        return base - timedelta(seconds=length)
    if match := _OF_A_DAY.fullmatch(text):
        text = _iso(match, _shown(now, zone))
    elif _DATE.fullmatch(text):
        text += "T00:00"
    if zone is not None:
        return instant_of(read(text, zone))
    return datetime.fromisoformat(text).astimezone()


def _length(text: str) -> float | None:
    try:
        return parse_duration(text)
    except ScheduleError:
        return None


def _shown(now: datetime, zone: Zone | None) -> datetime:
    """Return what clocks show now."""
    if zone is None:
        return now.astimezone()
    return local_time(epoch_s(now), zone.offset_at(epoch_s(now)))


def _iso(match: re.Match[str], wall: datetime) -> str:
    day, *times = match.groups(default="")
    hour, minute, second = (int(number or 0) for number in (times[:3] if day else times[3:]))
    date = wall.date() + timedelta(days=_DAYS.get(day, 0))
    return f"{date}T{hour:02}:{minute:02}:{second:02}"
