"""Words for single instants, and for the zone in which they are told."""

from __future__ import annotations

from collections.abc import Iterable

from matins.domain.schedules.zones import Zone
from matins.insight.explain.english import moment, wall_at


def zone_words(timezone: str) -> str:
    """Say in which zone times of day are meant."""
    return "UTC" if timezone == "UTC" else f"{timezone} time"


def say_instants(instants: Iterable[int], zone: Zone) -> str:
    """Say at which instants, in seconds from 1970 UTC, something is due: the first and the last."""
    ordered = sorted(set(instants))
    first, last = (f"on {moment(wall_at(instant, zone))}" for instant in (ordered[0], ordered[-1]))
    if len(ordered) == 1:
        return f"once {first}, {zone_words(zone.name)}"
    count = f"{len(ordered):,} listed instants"
    return f"at {count}, the first {first} and the last {last}, {zone_words(zone.name)}"
