"""Turns an iCalendar file into items of a calendar: the days and spans of its events."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Final

import msgspec

from matins.domain.calendars.calendar import LABEL_MAX, Item
from matins.domain.calendars.conditions import day_number
from matins.domain.calendars.ics.components import read_components
from matins.domain.calendars.ics.events import CalendarEvent, Start, read_events
from matins.domain.calendars.ics.recurrence import ExpansionBounds
from matins.domain.time.civil import DAY_S, FIRST_S, LAST_S
from matins.domain.time.instants import instant_of
from matins.domain.time.zones import Zone
from matins.domain.values.errors import ScheduleError

OCCURRENCES_MAX: Final = 5_000

_SLACK_S: Final = 2 * DAY_S  # a wall time and its instant lie less than that apart


class _Occurrence(msgspec.Struct, frozen=True, order=True):
    """One time at which an event takes place; days of all-day events are days of UTC."""

    start: int
    end: int
    is_all_day: bool
    label: str


def import_items(item: Item, zone: Zone, first_year: int, last_year: int) -> list[Item]:
    """Return what an item's iCalendar file excludes in some years, in items without a file.

    Events that recur are listed one by one. Cancelled events count for nothing, and so do those
    that are marked as free, unless the item includes them. Times without a zone are `zone`'s.
    Raises ScheduleError with the line that is wrong, or if there is too much of it.
    """
    first = day_number(date(first_year, 1, 1)) * DAY_S
    last = day_number(date(last_year, 12, 31)) * DAY_S + DAY_S - 1
    window = ExpansionBounds(first - _SLACK_S, last + _SLACK_S)
    events = read_events(read_components(item.icalendar or ""), zone, window)
    within = []
    for occurrence in _all_occurrences(_counting(events, item), window):
        shift = 0 if occurrence.is_all_day else zone.offset_at(occurrence.start)
        if first < occurrence.end + shift and occurrence.start + shift <= last:
            within.append(occurrence)
            if len(within) > OCCURRENCES_MAX:
                raise ScheduleError(
                    f"has more than {OCCURRENCES_MAX} occurrences from {first_year} to {last_year};"
                    " import fewer events"
                )
    return _items(sorted(set(within)), item.label)


def _counting(events: list[CalendarEvent], item: Item) -> list[CalendarEvent]:
    """Return the events, with those as cancelled that are free and not to be included."""
    kept = [event for event in events if not event.is_cancelled]
    if item.include_free or not kept:
        return events
    if all(event.is_free for event in kept):
        raise ScheduleError(
            f"has {len(kept)} events, all of them marked as free (TRANSP:TRANSPARENT); write"
            " include_free: true, or import it with --include-free, to take them"
        )
    return [
        msgspec.structs.replace(event, is_cancelled=event.is_cancelled or event.is_free)
        for event in events
    ]


def _all_occurrences(events: list[CalendarEvent], window: ExpansionBounds) -> Iterator[_Occurrence]:
    replaced: dict[str, set[Start]] = {}
    for event in events:
        if event.replaces is not None:
            replaced.setdefault(event.uid, set()).add(event.replaces)
    for event in events:
        if not event.is_cancelled:
            gone = replaced.get(event.uid, set()) if event.replaces is None else set()
            yield from _occurrences(event, gone | event.skipped, window)


def _occurrences(
    event: CalendarEvent, gone: set[Start], window: ExpansionBounds
) -> Iterator[_Occurrence]:
    """Yield the occurrences of one event; `gone` are starts that are left out or replaced."""
    starts = {event.start: event.length}
    for rule in event.rules:
        for onset in window.starts(rule, event.start, event.zone, event.length.most_s):
            starts.setdefault(onset, event.length)
    starts.update(event.more)
    for start, length in starts.items():
        day = (start + event.zone.offset_at(start)) // DAY_S
        end = min(length.end_of(start, event.zone), LAST_S)
        if start < end and not {Start(start), Start(day, is_day=True)} & gone:
            yield _Occurrence(max(start, FIRST_S), end, event.is_all_day, event.label)


def _items(occurrences: list[_Occurrence], label: str) -> list[Item]:
    """Put the occurrences of one label into one item for days and one for spans."""
    days: dict[str, list[str]] = {}
    spans: dict[str, list[str]] = {}
    for occurrence in occurrences:
        name = label or occurrence.label[:LABEL_MAX]
        if occurrence.is_all_day:
            days.setdefault(name, []).append(_shown_days(occurrence))
        else:
            spans.setdefault(name, []).append(
                f"{_shown(occurrence.start)}/{_shown(occurrence.end)}"
            )
    items = [Item(dates=texts, label=name) for name, texts in days.items()]
    items += [Item(spans=texts, label=name) for name, texts in spans.items()]
    return items or [Item(dates=[], label=label)]


def _shown_days(occurrence: _Occurrence) -> str:
    first, last = (instant_of(wall).date() for wall in (occurrence.start, occurrence.end - 1))
    return first.isoformat() if first == last else f"{first}/{last}"


def _shown(instant: int) -> str:
    return f"{instant_of(instant).replace(tzinfo=None).isoformat()}Z"
