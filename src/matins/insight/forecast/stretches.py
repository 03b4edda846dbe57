"""A window of time in a zone: whole local hours that pass as on any other day, and the rest.

Around a change of clocks local times are skipped or come twice, and what is due then is found only
by walking. Everywhere else an hour is like the next one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final

import msgspec

from matins.domain.time.civil import DAY_S
from matins.domain.time.zones import Zone
from matins.insight.forecast.dials import HOUR_S

_CHANGE_MAX_S: Final = 2 * DAY_S  # no change of clocks is longer


class Plain(msgspec.Struct, frozen=True):
    """Whole local hours from `start` to `end`, in each of which clocks are `offset` from UTC."""

    start: int
    end: int
    offset: int


class Stretches(msgspec.Struct, frozen=True):
    """A window as its plain hours, and as pairs of start and end for all that lies between."""

    plain: list[Plain]
    odd: list[tuple[int, int]]


def stretches(zone: Zone, start: int, end: int) -> Stretches:
    """Divide the time from `start` to `end`; at either end the last hour may reach beyond it."""
    plain, odd = list[Plain](), list[tuple[int, int]]()
    at = start
    for change_start, change_end in [*_changes(zone, start, end), (end, end)]:
        offset = zone.offset_at(at)
        low = _hour(at, offset) if at == start else -_hour(-at, -offset)
        high = (
            -_hour(-change_start, -offset) if change_start == end else _hour(change_start, offset)
        )
        if low < high:
            if at < low:
                odd.append((at, low))
            plain.append(Plain(low, high, offset))
            at = high
        if at < change_end:
            odd.append((at, change_end))
            at = change_end
    return Stretches(plain, odd)


def _changes(zone: Zone, start: int, end: int) -> list[tuple[int, int]]:
    """Give from when to when each change of clocks makes a difference to what is due."""
    found = list[tuple[int, int]]()
    first = max(1, bisect_left(zone.starts, start - _CHANGE_MAX_S))
    for index in range(first, bisect_right(zone.starts, end + _CHANGE_MAX_S)):
        at, offset = zone.starts[index], zone.offsets[index]
        length = abs(offset - zone.offsets[index - 1])
        low, high = at - length, max(at + length, zone.highest[index] - offset) + 1
        if found:
            low = max(low, found[-1][1])
        low, high = max(low, start), min(high, end)
        if low < high:
            found.append((low, high))
    return found


def _hour(instant: int, offset: int) -> int:
    """Give the start of an instant's local hour."""
    return instant - (instant + offset) % HOUR_S
