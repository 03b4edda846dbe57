"""The events of an iCalendar file, with what they say of recurring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from matins.domain.calendars.ics.components import Component, Property
from matins.domain.calendars.ics.recurrence import ExpansionBounds
from matins.domain.calendars.ics.stamps import (
    Length,
    Period,
    Stamp,
    read_length,
    read_periods,
    read_stamp,
)
from matins.domain.calendars.ics.time_zones import FileZones
from matins.domain.time.civil import DAY_S
from matins.domain.time.zones import Zone, find_zone
from matins.domain.values.errors import ScheduleError

_UTC: Final = find_zone("UTC")


class Start(msgspec.Struct, frozen=True):
    """When an occurrence starts: an instant, or a day, whatever the time on it."""

    at: int
    is_day: bool = False


class CalendarEvent(msgspec.Struct, frozen=True):
    """One VEVENT: from `start` on for its length, and again by its rules and at `more`.

    Rules go by wall times of `zone`. Days of all-day events are taken for days of UTC.
    `replaces` is the occurrence of the event with the same `uid` whose place it takes; such an
    event is one instance, whatever rules it repeats. `sequence` numbers the revisions.
    """

    line: int
    uid: str
    sequence: int
    label: str
    zone: Zone
    start: int
    length: Length
    is_all_day: bool
    is_free: bool
    is_cancelled: bool
    rules: list[Property]
    more: list[tuple[int, Length]]
    skipped: frozenset[Start]
    replaces: Start | None


def read_events(
    calendars: list[Component], floating: Zone, window: ExpansionBounds
) -> list[CalendarEvent]:
    """Read the events of a file's calendars. Raises ScheduleError with the line that is wrong.

    A time without a zone is `floating`'s. Zones that the file defines hold in the window.
    """
    events = []
    for calendar in calendars:
        definitions = [part for part in calendar.parts if part.name == "VTIMEZONE"]
        zones = FileZones(floating, definitions, window)
        parts = [part for part in calendar.parts if part.name == "VEVENT"]
        all_day = _all_day_series(parts)
        events += [_read_event(part, zones, all_day) for part in parts]
    return _latest(events)


def _all_day_series(parts: list[Component]) -> dict[str, bool]:
    """Return for each UID whether its series, in the last revision, is of whole days."""
    series = [part for part in parts if part.first("RECURRENCE-ID") is None]
    kinds = {}
    for part in sorted(series, key=_sequence):
        kinds[part.text("UID")] = read_stamp(_start(part)).is_date
    return kinds


def _latest(events: list[CalendarEvent]) -> list[CalendarEvent]:
    """Leave out what a later revision (RFC 5545, section 3.8.7.4) of the same event replaces.

    Events that share a UID and a SEQUENCE are all kept: careless programs give one to many.
    """
    last: dict[tuple[str, Start | None], int] = {}
    for event in events:
        name = event.uid, event.replaces
        last[name] = max(event.sequence, last.get(name, 0))
    return [
        event
        for event in events
        if not event.uid or event.sequence >= last[event.uid, event.replaces]
    ]


def _read_event(part: Component, zones: FileZones, all_day: Mapping[str, bool]) -> CalendarEvent:
    prop = _start(part)
    stamp = read_stamp(prop)
    zone = _UTC if stamp.is_utc or stamp.is_date else zones.find(prop)
    clock = _Clock(zones, zone, stamp.is_date)
    start = clock.instant(stamp, prop)
    length = _length(part, start, clock)
    uid = part.text("UID")
    replaces = _replaced(part, _Clock(zones, zone, all_day.get(uid, stamp.is_date)))
    is_series = replaces is None
    return CalendarEvent(
        part.line,
        uid,
        _sequence(part),
        " ".join(part.text("SUMMARY").split()),
        zone,
        start,
        length,
        stamp.is_date,
        part.text("TRANSP").upper() == "TRANSPARENT",
        part.text("STATUS").upper() == "CANCELLED",
        part.all("RRULE") if is_series else [],
        _listed(part, clock, length) if is_series else [],
        frozenset(
            clock.occurrence(begin, dates)
            for dates in part.all("EXDATE")
            for begin, _ in read_periods(dates)
        ),
        replaces,
    )


def _listed(part: Component, clock: _Clock, length: Length) -> list[tuple[int, Length]]:
    return [
        clock.period(period, dates, length)
        for dates in part.all("RDATE")
        for period in read_periods(dates)
    ]


def _start(part: Component) -> Property:
    prop = part.first("DTSTART")
    if prop is None:
        raise ScheduleError(f"line {part.line}: the VEVENT that begins here has no DTSTART")
    return prop


def _sequence(part: Component) -> int:
    text = part.text("SEQUENCE")
    return int(text) if text.isdecimal() else 0


class _Clock(msgspec.Struct, frozen=True):
    """Reads stamps of one event."""

    zones: FileZones
    zone: Zone
    is_all_day: bool

    def instant(self, stamp: Stamp, prop: Property) -> int:
        """Return the instant of a stamp, or the midnight of its date in an all-day event."""
        if self.is_all_day:
            shift = self.zone.offset_at(stamp.wall) if stamp.is_utc else 0
            return (stamp.wall + shift) // DAY_S * DAY_S
        if stamp.is_utc:
            return stamp.wall
        zone = self.zone if stamp.is_date else self.zones.find(prop)
        return zone.first_reached(stamp.wall)

    def occurrence(self, stamp: Stamp, prop: Property) -> Start:
        """Return what a stamp says of the start of an occurrence."""
        if stamp.is_date and not self.is_all_day:
            return Start(stamp.wall // DAY_S, is_day=True)
        return Start(self.instant(stamp, prop))

    def period(self, period: Period, prop: Property, length: Length) -> tuple[int, Length]:
        """Return the start and the length of a period; `length` if it has none of its own."""
        stamp, end = period
        start = self.instant(stamp, prop)
        if isinstance(end, Stamp):
            return start, Length(0, self.instant(end, prop) - start)
        return start, end or length


def _length(part: Component, start: int, clock: _Clock) -> Length:
    """Return the length of an event: at least a day if it is all-day."""
    length = Length(0, 0)
    end, duration = part.first("DTEND"), part.first("DURATION")
    if end is not None:
        length = Length(0, clock.instant(read_stamp(end), end) - start)
    elif duration is not None:
        length = read_length(duration)
    if length.seconds < 0:
        raise ScheduleError(f"line {part.line}: the VEVENT that begins here ends before it starts")
    if clock.is_all_day:
        return Length(max(length.days - (-length.seconds // DAY_S), 1), 0)
    return length


def _replaced(part: Component, clock: _Clock) -> Start | None:
    prop = part.first("RECURRENCE-ID")
    if prop is None:
        return None
    if "RANGE" in prop.parameters:
        raise ScheduleError(
            f"line {prop.line}: RECURRENCE-ID has a RANGE; give this and all later occurrences an"
            " event of their own"
        )
    return clock.occurrence(read_stamp(prop), prop)
