"""Reads the values of an iCalendar file's properties: dates, times, durations and offsets."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import msgspec

from matins.domain.calendars.conditions import day_number
from matins.domain.calendars.ics.components import Property
from matins.domain.calendars.ics.values import read_utc_offset, read_value
from matins.domain.errors import ScheduleError
from matins.domain.schedules.civil import DAY_S
from matins.domain.schedules.instants import epoch_s


class Stamp(msgspec.Struct, frozen=True):
    """A date, as its midnight, or a wall time, in seconds; of UTC if it says so."""

    wall: int
    is_date: bool = False
    is_utc: bool = False


Period = tuple[Stamp, Stamp | int | None]
"""When something begins, and if it is told, when it ends or how many seconds it lasts."""


def read_stamp(found: Property) -> Stamp:
    """Read a property with one date or time. Raises ScheduleError with its line."""
    return _stamp(_value(found.value.strip(), found), found)


def read_periods(found: Property) -> list[Period]:
    """Read a property with a list of dates, times or periods. Raises ScheduleError."""
    return [_period(text.strip(), found) for text in found.value.split(",") if text.strip()]


def read_length(found: Property) -> int:
    """Read a duration in seconds. Raises ScheduleError with its line."""
    return _length(_value(found.value.strip(), found), found)


def read_offset(found: Property) -> int:
    """Read an offset from UTC in seconds. Raises ScheduleError with its line."""
    try:
        offset = read_utc_offset(found.value.strip())
    except ValueError as error:
        raise _unreadable(found, found.value, "an offset such as +0100") from error
    assert isinstance(offset, timedelta)
    return round(offset.total_seconds())


def _period(text: str, found: Property) -> Period:
    value = _value(text, found)
    if not isinstance(value, tuple):
        return _stamp(value, found), None
    start, end = value
    if isinstance(end, timedelta):
        return _stamp(start, found), _length(end, found)
    return _stamp(start, found), _stamp(end, found)


def _value(text: str, found: Property) -> object:
    try:
        return read_value(text)
    except (ValueError, TypeError, OverflowError) as error:
        raise _unreadable(found, text, "20261224 or 20261224T120000Z") from error


def _stamp(value: object, found: Property) -> Stamp:
    if isinstance(value, datetime):
        is_utc = value.tzinfo is not None
        return Stamp(epoch_s(value if is_utc else value.replace(tzinfo=UTC)), is_utc=is_utc)
    if isinstance(value, date):
        return Stamp(day_number(value) * DAY_S, is_date=True)
    raise _unreadable(found, found.value, "a date or a time such as 20261224T120000Z")


def _length(value: object, found: Property) -> int:
    if not isinstance(value, timedelta):
        raise _unreadable(found, found.value, "a duration such as PT30M")
    return round(value.total_seconds())


def _unreadable(found: Property, text: str, right: str) -> ScheduleError:
    return ScheduleError(
        f"line {found.line}: {found.name} has {text[:40]!r}, which can't be read; write {right}"
    )
