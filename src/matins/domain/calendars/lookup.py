"""The times that items of a calendar stand for, looked up by instant or by day."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from matins.domain.calendars.calendar import Item
from matins.domain.calendars.conditions import (
    ALL_WEEK,
    is_yearly,
    listed,
    parse_dates,
    parse_span,
    parse_times,
    parse_yearly,
    weekday_bits,
)
from matins.domain.time.civil import DAY_S, find_month
from matins.domain.time.zones import Zone

_INDEXED_DAYS: Final = 31
_DAYS_KEPT: Final = 4096
_EPOCH_WEEKDAY: Final = 4  # 1970-01-01 was a Thursday


def weekday_bit(day: int) -> int:
    """Return the weekday of a day (from 1970-01-01) as a bit, as conditions have it."""
    return 1 << (day + _EPOCH_WEEKDAY) % 7


class LabelledIntervals:
    """Disjoint labelled intervals in ascending order; where some overlap, the earliest begun holds.

    The end of an interval is not part of it.
    """

    __slots__ = ("_ends", "_labels", "_starts")

    def __init__(self, spans: Iterable[tuple[int, int, str]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._labels: list[str] = []
        for start, end, label in sorted(spans, key=lambda span: span[0]):
            free = max(start, self._ends[-1]) if self._ends else start
            if free < end:
                self._starts.append(free)
                self._ends.append(end)
                self._labels.append(label)

    def label_at(self, point: int) -> str | None:
        """Return the label of the interval that a point lies in; None outside all of them."""
        index = bisect_right(self._starts, point) - 1
        return self._labels[index] if index >= 0 and point < self._ends[index] else None

    def edges(self, first: int, last: int) -> list[int]:
        """Return the starts and ends of intervals from one point to another."""
        return [
            edge
            for edges in (self._starts, self._ends)
            for edge in edges[bisect_left(edges, first) : bisect_right(edges, last)]
        ]


class _Entry(msgspec.Struct, frozen=True):
    """One item without spans: on which days it holds, and from when to when on each.

    `index` is its place among the items. Without `ranges` and `slots` every day is meant, unless
    `is_dated`.
    """

    index: int
    label: str
    weekdays: int
    times: tuple[tuple[int, int], ...]
    slots: frozenset[int]
    ranges: tuple[tuple[int, int], ...]
    is_dated: bool

    def holds_on(self, day: int, weekday: int, slot: int) -> bool:
        """Return whether it holds on a day, whose weekday and slot of the year are given too."""
        if not self.weekdays & weekday:
            return False
        if not self.is_dated or slot in self.slots:
            return True
        return any(first <= day <= last for first, last in self.ranges)


class ItemLookup:
    """The union of items, with the label of who holds at each instant."""

    __slots__ = ("_by_day", "_days", "_rest", "_spans")

    def __init__(self, items: Sequence[Item], zone: Zone) -> None:
        self._days: dict[int, LabelledIntervals] = {}
        self._by_day: dict[int, list[_Entry]] = {}
        self._rest: list[_Entry] = []
        self._spans = LabelledIntervals(
            (*parse_span(text, zone), item.label or text)
            for item in items
            for text in listed(item.spans)
        )
        for index, item in enumerate(items):
            if item.spans is None:
                self._add(_entry(index, item))

    def label_at(self, instant: int, wall: int) -> str | None:
        """Return the label of who holds at an instant, at which clocks show `wall`; None if nobody.

        The label of an item that has none is what it says.
        """
        day, second = divmod(wall, DAY_S)
        label = self._intervals(day).label_at(second)
        return self._spans.label_at(instant) if label is None else label

    def edges(self, day: int) -> list[int]:
        """Return the seconds of a day at which its items begin and end to hold, spans left out."""
        return self._intervals(day).edges(0, DAY_S)

    def span_edges(self, first: int, last: int) -> list[int]:
        """Return the instants, from one to another, at which spans begin and end."""
        return self._spans.edges(first, last)

    def _add(self, entry: _Entry) -> None:
        """Index short ranges by each of their days; look at all else whenever a day is asked."""
        long = [span for span in entry.ranges if span[1] - span[0] >= _INDEXED_DAYS]
        if not entry.is_dated or entry.slots or long:
            self._rest.append(msgspec.structs.replace(entry, ranges=tuple(long)))
        for first, last in entry.ranges:
            if last - first < _INDEXED_DAYS:
                for day in range(first, last + 1):
                    self._by_day.setdefault(day, []).append(entry)

    def _intervals(self, day: int) -> LabelledIntervals:
        spans = self._days.get(day)
        if spans is None:
            if len(self._days) >= _DAYS_KEPT:
                self._days.clear()
            spans = self._days[day] = LabelledIntervals(self._held_on(day))
        return spans

    def _held_on(self, day: int) -> list[tuple[int, int, str]]:
        """Return when items hold on a day in seconds; those of the day before may last into it."""
        return [
            (max(start + begun, 0), min(end + begun, DAY_S), entry.label)
            for begun in (0, -DAY_S)
            for entry in self._entries_on(day + begun // DAY_S)
            for start, end in entry.times
        ]

    def _entries_on(self, day: int) -> list[_Entry]:
        _, month, day_of_month = find_month(day)
        weekday, slot = weekday_bit(day), month % 12 * 31 + day_of_month
        entries = [entry for entry in self._by_day.get(day, ()) if entry.weekdays & weekday]
        entries += [entry for entry in self._rest if entry.holds_on(day, weekday, slot)]
        return sorted(entries, key=lambda entry: entry.index)


def _entry(index: int, item: Item) -> _Entry:
    dates = listed(item.dates)
    slots = [parse_yearly(text) for text in dates if is_yearly(text)]
    weekdays = ALL_WEEK if item.weekdays is None else weekday_bits(listed(item.weekdays))
    whole_day = [] if item.times is not None else [(0, DAY_S)]
    return _Entry(
        index,
        item.label or _description(item),
        weekdays,
        tuple(whole_day + [parse_times(text) for text in listed(item.times)]),
        frozenset().union(*slots),
        tuple(parse_dates(text) for text in dates if not is_yearly(text)),
        item.dates is not None,
    )


def _description(item: Item) -> str:
    """Return what an item without a label stands for, in its own words."""
    conditions = [listed(texts) for texts in (item.dates, item.weekdays, item.times)]
    texts = [
        ", ".join(condition[:3]) + (", …" if len(condition) > 3 else "")
        for condition in conditions
        if condition
    ]
    return " ".join(texts)
