"""Calendars as tests write them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from matins.domain.calendars.calendar import Calendar, Item
from matins.domain.calendars.compiled import CompiledCalendar, compile_calendar
from matins.domain.calendars.resolving import resolve
from matins.domain.time.instants import epoch_s, parse_instant
from matins.domain.time.zones import find_zone
from matins.kernel.documents import read_document

DAY_S = 86_400


def calendar(text: str) -> Calendar:
    """Read a calendar in YAML, and check it; it is named `cal` unless it says otherwise."""
    fields = read_document(text).value
    assert isinstance(fields, dict)
    read = msgspec.convert({"name": "cal"} | fields, Calendar)
    assert read.problems() == []
    return read


def closures(text: str) -> CompiledCalendar:
    return compile_calendar(calendar(text))


def at(text: str, zone: str = "UTC") -> int:
    """Return an instant in seconds; a local time is the zone's."""
    return parse_instant(text, find_zone(zone))


def day(text: str) -> int:
    """Return a date as days from 1970."""
    return epoch_s(datetime.fromisoformat(text).replace(tzinfo=UTC)) // DAY_S


def ics(*events: Sequence[str], zones: Sequence[str] = ()) -> str:
    """Return an iCalendar file of events; without zones the first one's first line is line 4."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", *zones]
    for event in events:
        lines += ["BEGIN:VEVENT", *event, "SUMMARY:x", "END:VEVENT"]
    return "\r\n".join([*lines, "END:VCALENDAR", ""])


def items(text: str) -> list[Item]:
    """Return what an iCalendar file stands for in 2026 and 2027, in Berlin."""
    item = Item(icalendar=text)
    return resolve(Calendar("cal", timezone="Europe/Berlin", exclude=[item]), 2026, 2027).exclude


def dates_of(text: str) -> list[str]:
    """Return the days of a file that has nothing else."""
    (found,) = items(text)
    assert isinstance(found.dates, list)
    return found.dates


def span_of(text: str) -> str:
    """Return the span of a file that has one."""
    (found,) = items(text)
    assert isinstance(found.spans, list)
    (span,) = found.spans
    return span
