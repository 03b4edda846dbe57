"""The due times of a cron job that treats clock changes in a way of its own."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import Literal

from matins.domain.schedules.cron.pattern import Pattern
from matins.domain.schedules.cron.rules import LISTED_S, UNLISTED_S, far_next, far_previous
from matins.domain.time.civil import FIRST_S, LAST_S
from matins.domain.time.zones import Zone


class PolicyRule:
    """A cron job with any policy: in each segment of its zone, a range of wall times counts.

    Those that the gap before a segment skipped are due as it starts, others when they are shown.
    """

    __slots__ = ("_highs", "_lows", "_pattern", "_zone")

    def __init__(
        self,
        pattern: Pattern,
        zone: Zone,
        *,
        runs_after: bool,
        overlap: Literal["first", "second", "both"],
    ) -> None:
        self._pattern = pattern
        self._zone = zone
        self._lows = _lows(zone, runs_after=runs_after, only_first=overlap == "first")
        self._highs = _highs(zone, only_last=overlap == "second")

    def next_after(self, instant: int) -> int | None:
        """Return the first due time strictly after an instant."""
        if instant >= LISTED_S:
            return far_next(self, instant)
        starts, offsets, lows = self._zone.starts, self._zone.offsets, self._lows
        index = bisect_right(starts, instant) - 1
        searched = max(instant + 1 + offsets[index], lows[index])
        wall = self._pattern.next_from(searched)
        while wall is None or wall > self._highs[index]:
            index += 1
            if index == len(starts):
                return None
            # What lies between the wall times searched and found need not be searched again.
            if lows[index] < searched or (wall is not None and wall < lows[index]):
                searched = lows[index]
                wall = self._pattern.next_from(searched)
        return None if wall >= UNLISTED_S else max(wall - offsets[index], starts[index])

    def previous_before(self, instant: int) -> int | None:
        """Return the last due time strictly before an instant."""
        if instant >= LISTED_S:
            return far_previous(self, instant)
        starts, offsets, highs = self._zone.starts, self._zone.offsets, self._highs
        index = bisect_right(starts, instant - 1) - 1
        searched = min(instant - 1 + offsets[index], highs[index])
        wall = self._pattern.last_until(searched)
        while wall is None or wall < self._lows[index]:
            index -= 1
            if index < 0:
                return None
            if highs[index] > searched or (wall is not None and wall > highs[index]):
                searched = highs[index]
                wall = self._pattern.last_until(searched)
        return max(wall - offsets[index], starts[index])


@lru_cache(maxsize=4096)
def _lows(zone: Zone, *, runs_after: bool, only_first: bool) -> list[int]:
    """Return the first wall time that counts in each segment."""
    lows = [FIRST_S + zone.offsets[0]]
    for index in range(1, len(zone.starts)):
        shown, unseen = zone.starts[index] + zone.offsets[index], zone.highest[index] + 1
        if runs_after:
            lows.append(unseen if only_first or unseen < shown else shown)
        else:
            lows.append(max(unseen, shown) if only_first else shown)
    return lows


@lru_cache(maxsize=4096)
def _highs(zone: Zone, *, only_last: bool) -> list[int]:
    """Return the last wall time that counts in each segment."""
    ends = [start - 1 for start in zone.starts[1:]]
    highs = [end + offset for end, offset in zip(ends, zone.offsets, strict=False)]
    if only_last:
        shown = [start + offset for start, offset in zip(zone.starts, zone.offsets, strict=True)]
        lowest_after = list(accumulate(reversed(shown[1:]), min))[::-1]
        highs = [min(high, low - 1) for high, low in zip(highs, lowest_after, strict=True)]
    return [*highs, LAST_S]
