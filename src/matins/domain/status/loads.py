"""What lies on the system now, by pool and team, and the engines on which it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

COUNT_MAX: Final = 5_000
"""Of no state more runs than this are looked at, so that a look costs little in any backlog."""

Room = Literal["running", "queued", "waiting"]


class Load(NamedTuple):
    """How many runs of a team, meant for a pool, are in a state."""

    room: Room
    team: str
    pool: str
    runs: int


class LoadLine(NamedTuple):
    """How many runs one team or pool has in each state."""

    name: str
    running: int = 0
    queued: int = 0
    waiting: int = 0


class Engine(NamedTuple):
    """PostgreSQL as it runs: its version, how large the database is, and its connections."""

    version: str
    size: int
    connections: int
    connections_max: int


def by_name(loads: Iterable[Load], field: Literal["team", "pool"]) -> list[LoadLine]:
    """Return the loads of each team or pool, those with the most runs first."""
    counts: dict[str, Counter[str]] = {}
    for load in loads:
        counts.setdefault(getattr(load, field), Counter())[load.room] += load.runs
    order = sorted(counts, key=lambda name: (-counts[name].total(), name))
    return [LoadLine(name, **counts[name]) for name in order]


def is_cut(loads: Sequence[Load]) -> bool:
    """Return whether there may be more runs than were looked at."""
    rooms: Counter[str] = Counter()
    for load in loads:
        rooms[load.room] += load.runs
    return any(count >= COUNT_MAX for count in rooms.values())
