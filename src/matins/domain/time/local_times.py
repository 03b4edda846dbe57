"""Local times of which it must be clear which instant is meant: somebody decides by them."""

from __future__ import annotations

from datetime import UTC, datetime

from matins.domain.time.instants import epoch_s, instant_of, is_local, local_time, parse_instant
from matins.domain.time.wall_clock import WallClock
from matins.domain.time.zones import Zone
from matins.domain.values.errors import ScheduleError


def parse_clear_instant(text: str, zone: Zone) -> int:
    """Read an instant, in seconds from 1970 UTC; a local time must be shown once by the zone's
    clocks. Raises ScheduleError, which says what can be written instead.
    """
    read = parse_instant(text, zone)
    if not is_local(text):
        return read
    wall, clock = epoch_s(datetime.fromisoformat(text).replace(tzinfo=UTC)), WallClock(zone)
    passes = clock.passes(wall)
    if not passes:
        _, end = clock.gap_at(wall)
        message = f"clocks in {zone.name} skip {_shown(wall)}; the first after it is {_shown(end)}"
        raise ScheduleError(message)
    if len(passes) > 1:
        both = " or ".join(_with_offset(instant, zone) for instant in passes)
        raise ScheduleError(f"clocks in {zone.name} show {_shown(wall)} twice; write {both}")
    return read


def _shown(wall: int) -> str:
    return f"{instant_of(wall):%Y-%m-%d %H:%M:%S}"


def _with_offset(instant: int, zone: Zone) -> str:
    return local_time(instant, zone.offset_at(instant)).isoformat(sep=" ")
