"""Time zones as sorted integer tables, made once per zone from the `tzdata` package.

The tables come straight from the zone files and not through `zoneinfo`, whose `fold` is wrong for
some zones with slim files (America/Nuuk in October 2023), and which prefers the host's zone data.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left, bisect_right
from functools import cache, lru_cache
from importlib import import_module, resources
from typing import Final

from matins.domain.time.civil import DAY_S, ERA_S, FIRST_S, month_start
from matins.domain.time.zone_files import LAST_RULE_YEAR, read_transitions
from matins.domain.values.errors import ScheduleError

BEFORE_ALL: Final = 2 * FIRST_S
"""An instant before every other one."""
_LISTED_S: Final = month_start(LAST_RULE_YEAR - 10, 0) * DAY_S
"""From here on a zone does what it did 400 years (or a multiple of that) earlier."""


class Zone:
    """One zone's offsets, in seconds; segment `i` starts at `starts[i]` with `offsets[i]`.

    `highest[i]` is the latest wall time that any clock of the zone showed before segment `i`.
    It never falls, so that gap and overlap need no special case: a wall time is reached for the
    first time in the last segment whose `highest` lies before it. Segments are listed for some
    centuries; the methods answer up to the year 9999.
    """

    __slots__ = ("highest", "name", "offsets", "starts")

    def __init__(self, name: str, instants: list[int], offsets: list[int]) -> None:
        self.name = name
        self.starts = [BEFORE_ALL, *instants]
        self.offsets = offsets
        self.highest = [BEFORE_ALL]
        for end, offset in zip(instants, offsets, strict=False):
            self.highest.append(max(self.highest[-1], end - 1 + offset))

    def offset_at(self, instant: int) -> int:
        """Return the offset from UTC that holds at an instant."""
        return self.offsets[bisect_right(self.starts, instant - era_offset(instant)) - 1]

    def latest_wall(self, instant: int) -> int:
        """Return the latest wall time that clocks have shown up to and at an instant."""
        moved = era_offset(instant)
        index = bisect_right(self.starts, instant - moved) - 1
        return max(instant + self.offsets[index], self.highest[index] + moved)

    def first_reached(self, wall: int) -> int:
        """Return the first instant at which clocks show a wall time or have passed it.

        A time that occurs twice is met in its first pass, one that is skipped right after the gap.
        """
        moved = era_offset(wall)
        index = bisect_left(self.highest, wall - moved) - 1
        return max(self.starts[index] + moved, wall - self.offsets[index])


def era_offset(second: int) -> int:
    """Return how far an instant or wall time lies after the listed one that stands for it."""
    return 0 if second < _LISTED_S else ((second - _LISTED_S) // ERA_S + 1) * ERA_S


def data_version() -> str:
    """Return IANA's version of the zone data, such as `2026a`; a later one is the greater text."""
    version: str = import_module("tzdata").IANA_VERSION
    return version


@cache
def zone_names() -> frozenset[str]:
    """Return the names of all IANA zones, in their own spelling."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text("ascii").split())


def find_zone(name: str) -> Zone:
    """Return a zone by its IANA name, or raise ScheduleError with the nearest names."""
    if name not in zone_names():
        raise ScheduleError(_unknown(name[:64]))
    return _load(name)


@lru_cache(maxsize=1024)
def _load(name: str) -> Zone:
    # The name is one of the package's own list, so that it can't lead out of its folder.
    data = resources.files("tzdata.zoneinfo").joinpath(*name.split("/")).read_bytes()
    return Zone(name, *read_transitions(data))


@lru_cache(maxsize=256)
def _unknown(name: str) -> str:
    by_lower = {known.lower(): known for known in sorted(zone_names())}
    wanted = name.lower().replace(" ", "_")
    near = difflib.get_close_matches(wanted, by_lower, n=3, cutoff=0.7)
    near += [key for key in by_lower if wanted and key.endswith("/" + wanted)][:1]
    hint = " or ".join(by_lower[key] for key in dict.fromkeys(near)) or "such as Europe/Berlin"
    return f"{name!r} is not an IANA time zone; write {hint}"
