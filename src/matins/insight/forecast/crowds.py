"""Warns of a fire time at which many other jobs fire, and names a quiet minute nearby."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matins.domain.time.instants import instant_of
from matins.domain.time.zones import Zone
from matins.insight.forecast.canvas import MINUTE_S

CROWD_MIN: Final = 50
"""So many others are no crowd yet."""

TIMES_MIN: Final = 5
"""How many times as many as in the quiet minute make a crowd."""

NEAR: Final = 30
"""How many minutes away the quiet minute may lie."""


def crowd(since: int, minutes: Sequence[float], fire: int, zone: Zone, *, own: int = 0) -> str:
    """Give the warning for a fire time; empty if there is none.

    `minutes` are the fires of all jobs from the instant `since` on, both in whole seconds from 1970
    UTC, and `own` is how many of those at the fire time are the job's own. What lies outside has no
    warning. The quiet minute is told on the zone's clocks.
    """
    index = (fire - since) // MINUTE_S
    if not 0 <= index < len(minutes):
        return ""
    others = round(minutes[index]) - own
    near = range(max(0, index - NEAR), min(len(minutes), index + NEAR + 1))
    quiet = min(near, key=lambda at: (minutes[at], abs(at - index), at < index))
    fewest = round(minutes[quiet])
    if others <= CROWD_MIN or others <= TIMES_MIN * fewest:
        return ""
    instant = since + quiet * MINUTE_S
    wall = instant_of(instant + zone.offset_at(instant))
    return f"fires with {others} other jobs at this minute; {wall:%H:%M} has {fewest}"
