"""The due times of cron jobs that do at clock changes what is usual."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final

from matins.domain.schedules.cron.pattern import Pattern
from matins.domain.schedules.rules import Rule
from matins.domain.time.civil import DAY_S, ERA_S, FIRST_S, LAST_S, month_start
from matins.domain.time.zone_files import LAST_RULE_YEAR
from matins.domain.time.zones import Zone

# From 2100 on calendar and zone rules repeat every 400 years: the last single changes that zones
# list are in 2087. No pattern pauses for more than 40 years, so that what is asked of before 2540
# is answered within the zone's listed transitions, and what is asked of from 2140 on after 2100.
_REPEATING_S: Final = month_start(2100, 0) * DAY_S
LISTED_S: Final = month_start(LAST_RULE_YEAR - 60, 0) * DAY_S
UNLISTED_S: Final = month_start(LAST_RULE_YEAR + 1, 0) * DAY_S
"""No wall time that is found this far away is due: a gap skips each one that matches."""


class _ZonedPattern:
    """Wall times, and the clocks that show them."""

    __slots__ = ("_pattern", "_zone")

    def __init__(self, pattern: Pattern, zone: Zone) -> None:
        self._pattern = pattern
        self._zone = zone


class FixedRule(_ZonedPattern):
    """A cron job at fixed times of day: each wall time counts once, when it is first reached."""

    __slots__ = ()

    def next_after(self, instant: int) -> int | None:
        """Return the first due time strictly after an instant."""
        if instant >= LISTED_S:
            return far_next(self, instant)
        zone = self._zone
        index = bisect_right(zone.starts, instant) - 1
        # Conditions, for max() would cost a tenth of the whole call.
        shown, highest = instant + zone.offsets[index], zone.highest[index]
        shown = shown if shown > highest else highest  # noqa: FURB136
        wall = self._pattern.next_from(shown + 1)
        if wall is None:
            return None
        index = bisect_left(zone.highest, wall) - 1
        due, start = wall - zone.offsets[index], zone.starts[index]
        return due if due > start else start  # noqa: FURB136

    def previous_before(self, instant: int) -> int | None:
        """Return the last due time strictly before an instant."""
        if instant >= LISTED_S:
            return far_previous(self, instant)
        wall = self._pattern.last_until(self._zone.latest_wall(instant - 1))
        due = None if wall is None else self._zone.first_reached(wall)
        return None if due is None or due < FIRST_S else due


class WildcardRule(_ZonedPattern):
    """A cron job with `*` in hour or minute: it follows real time, and both passes are due."""

    __slots__ = ()

    def next_after(self, instant: int) -> int | None:
        """Return the first due time strictly after an instant."""
        if instant >= LISTED_S:
            return far_next(self, instant)
        starts, offsets = self._zone.starts, self._zone.offsets
        index = bisect_right(starts, instant) - 1
        searched = instant + 1 + offsets[index]
        wall = self._pattern.next_from(searched)
        last = len(starts) - 1
        while index < last and (wall is None or wall - offsets[index] >= starts[index + 1]):
            # The clock jumps before the wall time comes: back over what was searched, past it,
            # or to somewhere between, where the search need not be repeated.
            index += 1
            shown = starts[index] + offsets[index]
            if shown < searched or (wall is not None and wall < shown):
                searched = shown
                wall = self._pattern.next_from(shown)
        return None if wall is None or wall >= UNLISTED_S else wall - offsets[index]

    def previous_before(self, instant: int) -> int | None:
        """Return the last due time strictly before an instant."""
        if instant >= LISTED_S:
            return far_previous(self, instant)
        starts, offsets = self._zone.starts, self._zone.offsets
        index = bisect_right(starts, instant - 1) - 1
        searched = instant - 1 + offsets[index]
        wall = self._pattern.last_until(searched)
        while index and (wall is None or wall - offsets[index] < starts[index]):
            index -= 1
            shown = starts[index + 1] - 1 + offsets[index]
            if shown > searched or (wall is not None and wall > shown):
                searched = shown
                wall = self._pattern.last_until(shown)
        due = None if wall is None else wall - offsets[index]
        return None if due is None or due < FIRST_S else due


def _listed(instant: int) -> tuple[int, int]:
    """Return the same point of the 400 years that the zone lists, and how far it was moved."""
    moved = ((instant - LISTED_S) // ERA_S + 1) * ERA_S
    return instant - moved, moved


def far_next(rule: Rule, instant: int) -> int | None:
    """Return a rule's `next_after` for an instant from LISTED_S on."""
    instant, moved = _listed(instant)
    due = rule.next_after(instant)
    return None if due is None or due + moved > LAST_S else due + moved


def far_previous(rule: Rule, instant: int) -> int | None:
    """Return a rule's `previous_before` for an instant from LISTED_S on."""
    instant, moved = _listed(instant)
    due = rule.previous_before(instant)
    if due is None or due < _REPEATING_S:
        return rule.previous_before(LISTED_S - 1)
    return due + moved
