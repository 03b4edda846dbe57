"""The events of an iCalendar file, with what they say of recurring."""

from __future__ import annotations

from typing import Final

import msgspec

from matins.domain.calendars.ics.components import Component, Property
from matins.domain.calendars.ics.recurrence import Window
from matins.domain.calendars.ics.stamps import Period, Stamp, read_length, read_periods, read_stamp
from matins.domain.calendars.ics.time_zones import FileZones
from matins.domain.errors import ScheduleError
from matins.domain.schedules.civil import DAY_S
from matins.domain.schedules.zones import Zone, find_zone

_UTC: Final = find_zone("UTC")


class Start(msgspec.Struct, frozen=True):
    """When an occurrence starts: an instant, or a day, whatever the time on it."""

    at: int
    is_day: bool = False


class Event(msgspec.Struct, frozen=True):
    """One VEVENT: from `start` on for `length_s`, and again by its rules and at `more`.

    Rules go by wall times of `zone`. Days of all-day events are taken for days of UTC.
    `replaces` is the occurrence of the event with the same `uid` whose place it takes.
    """

    line: int
    uid: str
    label: str
    zone: Zone
    start: int
    length_s: int
    is_all_day: bool
    is_free: bool
    is_cancelled: bool
    rules: list[Property]
    more: list[tuple[int, int]]
    skipped: frozenset[Start]
    replaces: Start | None


def read_events(calendars: list[Component], floating: Zone, window: Window) -> list[Event]:
    """Read the events of a file's calendars. Raises ScheduleError with the line that is wrong.

    A time without a zone is `floating`'s. Zones that the file defines hold in the window.
    """
    found = []
    for calendar in calendars:
        definitions = [it for it in calendar.parts if it.name == "VTIMEZONE"]
        zones = FileZones(floating, definitions, window)
        found += [_read_event(it, zones) for it in calendar.parts if it.name == "VEVENT"]
    return found


def _read_event(part: Component, zones: FileZones) -> Event:
    prop = part.first("DTSTART")
    if prop is None:
        raise ScheduleError(f"line {part.line}: the VEVENT that begins here has no DTSTART")
    stamp = read_stamp(prop)
    zone = _UTC if stamp.is_utc or stamp.is_date else zones.find(prop)
    clock = _Clock(zones, zone, stamp.is_date)
    start = clock.instant(stamp, prop)
    length_s = _length(part, start, clock)
    return Event(
        part.line,
        part.text("UID"),
        " ".join(part.text("SUMMARY").split()),
        zone,
        start,
        length_s,
        stamp.is_date,
        part.text("TRANSP").upper() == "TRANSPARENT",
        part.text("STATUS").upper() == "CANCELLED",
        part.all("RRULE"),
        [
            clock.period(it, dates, length_s)
            for dates in part.all("RDATE")
            for it in read_periods(dates)
        ],
        frozenset(
            clock.occurrence(it, dates)
            for dates in part.all("EXDATE")
            for it, _ in read_periods(dates)
        ),
        _replaced(part, clock),
    )


class _Clock(msgspec.Struct, frozen=True):
    """Reads stamps of one event."""

    zones: FileZones
    zone: Zone
    is_all_day: bool

    def instant(self, stamp: Stamp, prop: Property) -> int:
        """Give the instant of a stamp, or the midnight of its date in an all-day event."""
        if self.is_all_day:
            return stamp.wall // DAY_S * DAY_S
        if stamp.is_utc:
            return stamp.wall
        zone = self.zone if stamp.is_date else self.zones.find(prop)
        return zone.first_reached(stamp.wall)

    def occurrence(self, stamp: Stamp, prop: Property) -> Start:
        """Give what a stamp says of the start of an occurrence."""
        if stamp.is_date and not self.is_all_day:
            return Start(stamp.wall // DAY_S, is_day=True)
        return Start(self.instant(stamp, prop))

    def period(self, period: Period, prop: Property, length_s: int) -> tuple[int, int]:
        """Give the start and the length of a period; `length_s` if it has none of its own."""
        stamp, end = period
        start = self.instant(stamp, prop)
        if isinstance(end, Stamp):
            return start, self.instant(end, prop) - start
        return start, length_s if end is None else end


def _length(part: Component, start: int, clock: _Clock) -> int:
    """Give the length of an event in seconds: at least a day if it is all-day."""
    length_s = 0
    end, duration = part.first("DTEND"), part.first("DURATION")
    if end is not None:
        length_s = clock.instant(read_stamp(end), end) - start
    elif duration is not None:
        length_s = read_length(duration)
    if length_s < 0:
        raise ScheduleError(f"line {part.line}: the VEVENT that begins here ends before it starts")
    return max(-(-length_s // DAY_S), 1) * DAY_S if clock.is_all_day else length_s


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
