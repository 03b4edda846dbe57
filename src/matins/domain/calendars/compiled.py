"""A compiled calendar: when it is closed and why, and which days are business days."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from matins.domain.calendars.calendar import Calendar
from matins.domain.calendars.conditions import listed, weekday_bits
from matins.domain.calendars.lookup import ItemLookup, weekday_bit
from matins.domain.time.civil import DAY_S
from matins.domain.time.zones import Zone, find_zone

_DAYS_KEPT: Final = 4096


class CompiledCalendar:
    """What a calendar closes. Instants are seconds from 1970 UTC, days those of its own zone."""

    __slots__ = ("_business", "_exclude", "_only", "_outside", "_weekend", "name", "zone")

    def __init__(self, calendar: Calendar) -> None:
        self.name = calendar.name
        self.zone: Zone = find_zone(calendar.timezone)
        self._exclude = ItemLookup(calendar.exclude, self.zone)
        self._only = ItemLookup(calendar.only, self.zone) if calendar.only else None
        single = calendar.only[0].label if len(calendar.only) == 1 else ""
        self._outside = f"outside {single or calendar.name}"
        self._weekend = weekday_bits(listed(calendar.weekend))
        self._business: dict[int, bool] = {}

    def closed(self, instant: int) -> str | None:
        """Return why it is closed at an instant; None when it is open."""
        wall = instant + self.zone.offset_at(instant)
        label = self._exclude.label_at(instant, wall)
        if label is None and self._only and self._only.label_at(instant, wall) is None:
            return self._outside
        return label

    def is_business_day(self, day: int) -> bool:
        """Return whether a day (from 1970-01-01) is no weekend and has a moment that is open."""
        is_business = self._business.get(day)
        if is_business is None:
            if len(self._business) >= _DAYS_KEPT:
                self._business.clear()
            is_weekend = self._weekend & weekday_bit(day)
            is_business = self._business[day] = not is_weekend and self._opens_on(day)
        return is_business

    def _opens_on(self, day: int) -> bool:
        """Look at all instants of a day at which it may change between open and closed."""
        first, last = (day - 1) * DAY_S, (day + 2) * DAY_S  # offsets are shorter than a day
        starts = self.zone.starts
        segments = range(bisect_right(starts, first) - 1, bisect_right(starts, last))
        sets = [lookup for lookup in (self._exclude, self._only) if lookup is not None]
        instants = {starts[segment] for segment in segments}
        instants.update(edge for lookup in sets for edge in lookup.span_edges(first, last))
        seconds = {0}.union(*(lookup.edges(day) for lookup in sets))
        for segment in segments:
            offset = self.zone.offsets[segment]
            instants.update(day * DAY_S + second - offset for second in seconds)
        return any(
            (instant + self.zone.offset_at(instant)) // DAY_S == day
            and self.closed(instant) is None
            for instant in instants
        )


def compile_calendar(calendar: Calendar) -> CompiledCalendar:
    """Compile a calendar that is valid and resolved."""
    assert all(item.is_resolved for item in [*calendar.exclude, *calendar.only])
    return CompiledCalendar(calendar)
