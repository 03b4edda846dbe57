"""Reads the text of an iCalendar file (RFC 5545) into components with their properties.

Lines are taken apart by the icalendar library. The whole file is not given to it: it keeps the time
zones of each file for all files that it reads afterwards, and it expands their rules without bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from matins.domain.calendars.ics.values import content_line
from matins.domain.values.errors import ScheduleError

_DEPTH_MAX: Final = 8
_OTHER_NAME: Final = "X-COMMENT"

_NAMED: Final = re.compile("[A-Za-z0-9-]*")
_DECISIVE: Final = frozenset(
    {"BEGIN", "END", "DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID"}
    | {"SEQUENCE", "STATUS", "TRANSP", "TZID", "TZOFFSETFROM", "TZOFFSETTO", "UID"}
)
_SPLIT: Final = re.compile(rb"(\r?\n[ \t])([\x80-\xbf]+)")


class Property(msgspec.Struct, frozen=True):
    """One line of a component, with the number of the line that it begins on."""

    line: int
    name: str
    value: str
    parameters: dict[str, str] = {}


class Component(msgspec.Struct, frozen=True):
    """One component, such as a VEVENT, with those that stand inside it."""

    line: int
    name: str
    properties: list[Property] = []
    parts: list[Component] = []

    def all(self, name: str) -> list[Property]:
        """Return all properties of a name."""
        return [prop for prop in self.properties if prop.name == name]

    def first(self, name: str) -> Property | None:
        """Return the first property of a name."""
        return next((prop for prop in self.properties if prop.name == name), None)

    def text(self, name: str) -> str:
        """Return the value of the first property of a name; empty if there is none."""
        prop = self.first(name)
        return "" if prop is None else prop.value.strip()


def whole_characters(data: bytes) -> bytes:
    """Return a file in which no fold of a line stands within a character's bytes.

    RFC 5545, section 3.1, folds by octets and lets a fold split a character of UTF-8. Lines keep
    their numbers.
    """
    return _SPLIT.sub(rb"\2\1", data)


def read_components(text: str) -> list[Component]:
    """Return the calendars of a file. Raises ScheduleError with the line that is wrong."""
    whole = Component(0, "")
    open_ones = [whole]
    for line, content in _unfolded(text):
        prop = _read_property(line, content, is_inside=len(open_ones) > 1)
        if prop is None:
            continue
        if prop.name == "BEGIN":
            _begin(open_ones, prop)
        elif prop.name == "END":
            _end(open_ones, prop)
        elif len(open_ones) > 1:
            if prop.value.strip():  # an empty one says nothing, whatever its name
                open_ones[-1].properties.append(prop)
        elif prop.name != _OTHER_NAME:
            raise ScheduleError(f"line {line}: {content[:40]!r} stands before BEGIN:VCALENDAR")
    if len(open_ones) > 1:
        last = open_ones[-1]
        raise ScheduleError(f"line {last.line}: the {last.name} that begins here has no end")
    if not whole.parts:
        raise ScheduleError("is no iCalendar file; it has no line BEGIN:VCALENDAR")
    return whole.parts


def _begin(open_ones: list[Component], prop: Property) -> None:
    name = prop.value.strip().upper()
    if len(open_ones) == 1 and name != "VCALENDAR":
        raise ScheduleError(f"line {prop.line}: {name[:40]!r} stands outside of a VCALENDAR")
    if len(open_ones) > _DEPTH_MAX:
        raise ScheduleError(f"line {prop.line}: {name[:40]!r} is nested too deep")
    component = Component(prop.line, name)
    open_ones[-1].parts.append(component)
    open_ones.append(component)


def _end(open_ones: list[Component], prop: Property) -> None:
    name = prop.value.strip().upper()
    if len(open_ones) == 1 or open_ones[-1].name != name:
        raise ScheduleError(f"line {prop.line}: END:{name[:40]} does not end what is open there")
    open_ones.pop()


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """Yield the content lines that are not empty; one may be folded over several lines."""
    begun, parts = 0, list[str]()
    for line, content in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        content = content.removesuffix("\r")  # noqa: PLW2901
        if content[:1] in (" ", "\t") and parts:
            parts.append(content[1:])
            continue
        if parts:
            yield begun, "".join(parts)
        begun, parts = line, [content] if content.strip() else []
    if parts:
        yield begun, "".join(parts)


def _read_property(line: int, content: str, *, is_inside: bool) -> Property | None:
    """Return the property of a line; None for an unreadable one that decides nothing."""
    try:
        name, parameters, value = content_line(content).parts()
    except ValueError as error:
        named = _NAMED.match(content)
        if is_inside and named is not None and named.group().upper() not in _DECISIVE:
            return None
        message = f"line {line}: {content[:40]!r} is no line of an iCalendar file"
        raise ScheduleError(message) from error
    texts = {
        key.upper(): text if isinstance(text, str) else ",".join(text)
        for key, text in parameters.items()
    }
    return Property(line, name.upper(), value, texts)
