"""A range of time in a zone: whole local hours that pass as on any other day, and the rest.

Around a change of clocks local times are skipped or come twice, and what is due then is found only
by enumerating. Everywhere else an hour is like the next one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

import msgspec

from matins.domain.time.civil import DAY_S
from matins.domain.time.zones import Zone
from matins.insight.forecast.groups import HOUR_S

_CHANGE_MAX_S: Final = 2 * DAY_S  # no change of clocks is longer


class Steady(msgspec.Struct, frozen=True):
    """Whole local hours from `start` to `end`, in each of which clocks are `offset` from UTC."""

    start: int
    end: int
    offset: int


class ZoneIntervals(msgspec.Struct, frozen=True):
    """A range as its steady hours, and as pairs of start and end for all that lies between."""

    steady: list[Steady]
    changing: list[tuple[int, int]]


def zone_intervals(zone: Zone, start: int, end: int) -> ZoneIntervals:
    """Divide the time from `start` to `end`; at either end the last hour may reach beyond it."""
    steady, changing = list[Steady](), list[tuple[int, int]]()
    at = _hour_of(start, zone.offset_at(start))
    for low, high in _changes(zone, start, end):
        if low >= end:
            break
        if at < low:
            steady.append(Steady(at, low, zone.offset_at(at)))
        if at < high:
            changing.append((max(at, low), high))
            at = high
    if at < end:
        offset = zone.offset_at(at)
        steady.append(Steady(at, -_hour_of(-end, -offset), offset))
    return ZoneIntervals(steady, changing)


def _changes(zone: Zone, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Return from when to when each change of clocks makes a difference to what is due, in whole
    hours by the clocks before and after it.
    """
    first = max(1, bisect_left(zone.starts, start - _CHANGE_MAX_S))
    for index in range(first, bisect_right(zone.starts, end + _CHANGE_MAX_S)):
        at, before, offset = zone.starts[index], zone.offsets[index - 1], zone.offsets[index]
        length = abs(offset - before)
        high = max(at + length, zone.highest[index] - offset) + 1
        yield _hour_of(at - length, before), -_hour_of(-high, -offset)


def _hour_of(instant: int, offset: int) -> int:
    """Return the start of an instant's local hour."""
    return instant - (instant + offset) % HOUR_S
