"""Reads the values of an iCalendar file's properties: dates, times, durations and offsets."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import msgspec

from matins.domain.calendars.conditions import day_number
from matins.domain.calendars.ics.components import Property
from matins.domain.calendars.ics.values import read_utc_offset, read_value
from matins.domain.time.civil import DAY_S
from matins.domain.time.instants import epoch_s
from matins.domain.time.zones import Zone
from matins.domain.values.errors import ScheduleError


class Stamp(msgspec.Struct, frozen=True):
    """A date, as its midnight, or a wall time, in seconds; of UTC if it says so."""

    wall: int
    is_date: bool = False
    is_utc: bool = False


class Length(msgspec.Struct, frozen=True):
    """How long something lasts: days by the calendar, then seconds of real time.

    RFC 5545, section 3.3.6: a duration in days and weeks is nominal, so that a day lasts 23 or 25
    hours over a clock change.
    """

    days: int
    seconds: int

    def end_of(self, start: int, zone: Zone) -> int:
        """Return the instant at which what starts at an instant ends in a zone."""
        if not self.days:
            return start + self.seconds
        wall = start + zone.offset_at(start) + self.days * DAY_S
        return zone.first_reached(wall) + self.seconds

    @property
    def most_s(self) -> int:
        """At most so many seconds of real time."""
        return self.days * DAY_S + self.seconds + (DAY_S if self.days else 0)


Period = tuple[Stamp, Stamp | Length | None]
"""When something begins, and if it is told, when it ends or how long it lasts."""


def read_stamp(prop: Property) -> Stamp:
    """Read a property with one date or time. Raises ScheduleError with its line."""
    return _stamp(_value(prop.value.strip(), prop), prop)


def read_periods(prop: Property) -> list[Period]:
    """Read a property with a list of dates, times or periods. Raises ScheduleError."""
    return [_period(text.strip(), prop) for text in prop.value.split(",") if text.strip()]


def read_length(prop: Property) -> Length:
    """Read a duration. Raises ScheduleError with its line."""
    return _length(prop.value.strip(), prop)


def read_offset(prop: Property) -> int:
    """Read an offset from UTC in seconds. Raises ScheduleError with its line."""
    try:
        offset = read_utc_offset(prop.value.strip())
    except ValueError as error:
        raise _unreadable(prop, prop.value, "an offset such as +0100") from error
    assert isinstance(offset, timedelta)
    return round(offset.total_seconds())


def _period(text: str, prop: Property) -> Period:
    begin, _, end = text.partition("/")
    start = _stamp(_value(begin, prop), prop)
    if not end:
        return start, None
    if end.lstrip("+-").upper().startswith("P"):
        return start, _length(end, prop)
    return start, _stamp(_value(end, prop), prop)


def _value(text: str, prop: Property) -> object:
    try:
        return read_value(text)
    except (ValueError, TypeError, OverflowError) as error:
        raise _unreadable(prop, text, "20261224 or 20261224T120000Z") from error


def _stamp(value: object, prop: Property) -> Stamp:
    if isinstance(value, datetime):
        is_utc = value.tzinfo is not None
        return Stamp(epoch_s(value if is_utc else value.replace(tzinfo=UTC)), is_utc=is_utc)
    if isinstance(value, date):
        return Stamp(day_number(value) * DAY_S, is_date=True)
    raise _unreadable(prop, prop.value, "a date or a time such as 20261224T120000Z")


def _length(text: str, prop: Property) -> Length:
    whole = _value(text, prop)
    if not isinstance(whole, timedelta):
        raise _unreadable(prop, prop.value, "a duration such as PT30M")
    if whole < timedelta():
        raise ScheduleError(
            f"line {prop.line}: {prop.name} has {text[:40]!r}, which ends before it starts"
        )
    _, _, time = text.upper().partition("T")
    exact = _value(f"PT{time}", prop) if time else timedelta()
    assert isinstance(exact, timedelta), "a duration whose time is none has been refused"
    return Length((whole - exact) // timedelta(days=1), round(exact.total_seconds()))


def _unreadable(prop: Property, text: str, right: str) -> ScheduleError:
    return ScheduleError(
        f"line {prop.line}: {prop.name} has {text[:40]!r}, which can't be read; write {right}"
    )
