"""A zone's clocks as recurrence rules need them: what was shown when, and what never."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache

from matins.domain.time.civil import DAY_S, LAST_S
from matins.domain.time.zones import Zone, era_offset


class WallClock:
    """The clocks of one zone up to the year 9999; wall times are in local seconds from 1970."""

    __slots__ = ("_zone",)

    def __init__(self, zone: Zone) -> None:
        self._zone = zone

    def offset_at(self, instant: int) -> int:
        """Return the offset from UTC that holds at an instant."""
        return self._zone.offset_at(instant)

    def latest_wall(self, instant: int) -> int:
        """Return the latest wall time that clocks have shown up to and at an instant."""
        return self._zone.latest_wall(instant)

    def first_pass(self, wall: int) -> int | None:
        """Return the first instant at which clocks show a wall time; None if they skip it."""
        moved, zone = era_offset(wall), self._zone
        index = bisect_left(zone.highest, wall - moved) - 1
        instant = wall - moved - zone.offsets[index]
        return instant + moved if instant >= zone.starts[index] else None

    def passes(self, wall: int) -> list[int]:
        """Return the instants at which clocks show a wall time: none if they skip it, two where
        they are put back over it.
        """
        offsets = self.offsets_between(wall - DAY_S, wall + DAY_S)
        return sorted(
            wall - offset for offset in offsets if self.offset_at(wall - offset) == offset
        )

    def first_from(self, wall: int) -> int:
        """Return the first instant at which clocks show a wall time or have passed it."""
        return self._zone.first_reached(wall)

    def instant_of(self, wall: int) -> int:
        """Read a date-time as RFC 5545, 3.3.5 does.

        One that occurs twice is the first of both, one that is skipped has the offset from before.
        """
        moved, zone = era_offset(wall), self._zone
        index = bisect_left(zone.highest, wall - moved) - 1
        instant = wall - zone.offsets[index]
        return instant if instant - moved >= zone.starts[index] else wall - zone.offsets[index - 1]

    def gap_at(self, wall: int) -> tuple[int, int]:
        """Return the first and the end of the skipped wall times that a skipped one is among."""
        moved, zone = era_offset(wall), self._zone
        index = bisect_left(zone.highest, wall - moved) - 1
        shown = zone.starts[index] + zone.offsets[index]
        return zone.highest[index] + 1 + moved, shown + moved

    def gaps(self, low: int, high: int) -> list[tuple[int, int]]:
        """Return the skipped wall times from `low` to before `high`: first and end of each gap."""
        moved, zone = era_offset(low), self._zone
        gaps: list[tuple[int, int]] = []
        index = bisect_left(zone.highest, low - moved) - 1
        while index < len(zone.starts) and zone.highest[index] + 1 < high - moved:
            first = max(zone.highest[index] + 1 + moved, low)
            end = min(zone.starts[index] + zone.offsets[index] + moved, high)
            if first < end:
                gaps.append((first, end))
            index += 1
        return gaps

    def offsets_between(self, first: int, last: int) -> list[int]:
        """Return the offsets that hold at any time from one instant to another."""
        starts = self._zone.starts
        low = bisect_right(starts, first - era_offset(first)) - 1
        high = len(starts) if era_offset(last) else bisect_right(starts, last)
        return _distinct(self._zone, low, high)

    def segment_at(self, instant: int) -> tuple[int, int, int]:
        """Return the first instant and the end of a time with one offset, and that offset.

        Time ends with the year 9999 of UTC.
        """
        moved, starts = era_offset(instant), self._zone.starts
        index = bisect_right(starts, instant - moved)
        end = LAST_S + 1
        if index < len(starts):
            end = min(end, starts[index] + moved)
        return starts[index - 1] + moved, end, self._zone.offsets[index - 1]


@lru_cache(maxsize=4096)
def _distinct(zone: Zone, low: int, high: int) -> list[int]:
    return list(dict.fromkeys(zone.offsets[low:high]))
