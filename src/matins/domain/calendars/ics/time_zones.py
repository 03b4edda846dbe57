"""Finds the time zones that an iCalendar file names, by their name or by its own definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from matins.domain.calendars.ics.components import Component, Property
from matins.domain.calendars.ics.display_names import windows_name
from matins.domain.calendars.ics.recurrence import ExpansionBounds
from matins.domain.calendars.ics.stamps import read_offset, read_periods, read_stamp
from matins.domain.time.zones import Zone, find_zone, zone_names
from matins.domain.values.errors import ScheduleError

_KINDS: Final = ("STANDARD", "DAYLIGHT")


class FileZones:
    """The zones of one file.

    A name that IANA or Windows knows means what they say, whatever the file defines; Outlook and
    others define their own zones under names of their own. Where the file defines none, a name
    under which Windows shows a zone will do. A time without a zone is `floating`'s.
    """

    def __init__(
        self, floating: Zone, definitions: Sequence[Component], window: ExpansionBounds
    ) -> None:
        self.floating = floating
        self._definitions = {definition.text("TZID"): definition for definition in definitions}
        self._window = window
        self._found: dict[str, Zone] = {}

    def find(self, prop: Property) -> Zone:
        """Return the zone that a property names. Raises ScheduleError if nothing is known of it."""
        name = prop.parameters.get("TZID", "")
        if not name:
            return self.floating
        if name not in self._found:
            self._found[name] = self._look_up(name, prop.line)
        return self._found[name]

    def _look_up(self, name: str, line: int) -> Zone:
        definition = self._definitions.get(name)
        known = _known_name(name)
        if known is None and definition is not None:
            known = _known_name(definition.text("X-LIC-LOCATION"))
            if known is None:
                return _defined_zone(name, definition, self._window)
        known = known or WINDOWS_TO_OLSON.get(windows_name(name) or "")
        try:
            return find_zone(known or name)
        except ScheduleError as error:
            raise ScheduleError(f"line {line}: TZID {error}") from error


def _known_name(name: str) -> str | None:
    """Return the IANA name that a name stands for, as in `/example.org/Europe/Berlin`."""
    if name in zone_names():
        return name
    if name in WINDOWS_TO_OLSON:
        return WINDOWS_TO_OLSON[name]
    parts = name.strip("/").split("/") if name.startswith("/") else []
    tails = ("/".join(parts[begin:]) for begin in range(len(parts)))
    return next((tail for tail in tails if tail in zone_names()), None)


def _defined_zone(name: str, definition: Component, window: ExpansionBounds) -> Zone:
    """Make the zone that a VTIMEZONE defines: each of its parts has the onsets of one offset."""
    changes: list[tuple[int, int]] = []
    before: tuple[int, int] | None = None
    for part in definition.parts:
        if part.name in _KINDS:
            begun, after = (
                read_offset(_needed(part, "TZOFFSETFROM")),
                read_offset(_needed(part, "TZOFFSETTO")),
            )
            onsets = _onsets(part, begun, window)
            changes += [(onset, after) for onset in onsets]
            before = min(before or (onsets[0], begun), (onsets[0], begun))
    if before is None:
        raise ScheduleError(f"line {definition.line}: the VTIMEZONE {name!r} has no offset")
    changes.sort()
    return Zone(
        name, [instant for instant, _ in changes], [before[1], *(offset for _, offset in changes)]
    )


def _onsets(part: Component, offset: int, window: ExpansionBounds) -> list[int]:
    """Return the instants at which a part of a zone sets in; up to them its clocks have
    `offset`.
    """
    start = read_stamp(_needed(part, "DTSTART")).wall - offset
    onsets = {start}
    for rule in part.all("RRULE"):
        onsets.update(window.onsets(rule, start, Zone("", [], [offset])))
    for dates in part.all("RDATE"):
        onsets.update(stamp.wall - offset for stamp, _ in read_periods(dates))
    return sorted(onsets)


def _needed(part: Component, name: str) -> Property:
    prop = part.first(name)
    if prop is None:
        raise ScheduleError(f"line {part.line}: the {part.name} that begins here has no {name}")
    return prop
