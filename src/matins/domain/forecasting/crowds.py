"""Warns of a due time at which many other jobs are due, and names a quiet minute nearby."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from matins.domain.forecasting.canvas import MINUTE_S, Curve
from matins.domain.schedules.instants import instant_of
from matins.domain.schedules.zones import Zone

CROWD_MIN: Final = 50
"""So many others are no crowd yet."""

TIMES_MIN: Final = 5
"""How many times as many as in the quiet minute make a crowd."""

NEAR: Final = 30
"""How many minutes away the quiet minute may lie."""


def crowd(curve: Curve, due: int, zone: Zone, *, own: int = 0) -> str:
    """Give the warning for a due time, in whole seconds from 1970 UTC; empty if there is none.

    `own`: how many of that minute's fires are the job's own. A due time outside of the curve, which
    tells of all jobs, has no warning. The quiet minute is told on the zone's clocks.
    """
    index = (due - curve.since) // MINUTE_S
    if not 0 <= index < len(curve.minutes):
        return ""
    others = round(curve.minutes[index]) - own
    near = range(max(0, index - NEAR), min(len(curve.minutes), index + NEAR + 1))
    quiet = min(near, key=lambda at: (curve.minutes[at], abs(at - index)))
    fewest = round(curve.minutes[quiet])
    if others <= CROWD_MIN or others <= TIMES_MIN * fewest:
        return ""
    instant = curve.since + quiet * MINUTE_S
    wall = instant_of(instant) + timedelta(seconds=zone.offset_at(instant))
    return f"fires with {others} other jobs at this minute; {wall:%H:%M} has {fewest}"
