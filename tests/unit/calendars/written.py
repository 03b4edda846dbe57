"""Calendars as tests write them."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from matins.cli.documents import read_document
from matins.domain.calendars.calendar import Calendar
from matins.domain.calendars.closures import Closures, compile_calendar
from matins.domain.schedules.instants import epoch_s, parse_instant
from matins.domain.schedules.zones import find_zone

DAY_S = 86_400


def calendar(text: str) -> Calendar:
    """Read a calendar in YAML, and check it; it is named `cal` unless it says otherwise."""
    fields = read_document(text).value
    assert isinstance(fields, dict)
    read = msgspec.convert({"name": "cal"} | fields, Calendar)
    assert read.problems() == []
    return read


def closures(text: str) -> Closures:
    return compile_calendar(calendar(text))


def at(text: str, zone: str = "UTC") -> int:
    """Give an instant in seconds; a local time is the zone's."""
    return parse_instant(text, find_zone(zone))


def day(text: str) -> int:
    """Give a date as days from 1970."""
    return epoch_s(datetime.fromisoformat(text).replace(tzinfo=UTC)) // DAY_S
