"""How many jobs of one team and pool there are under one load."""

from __future__ import annotations

from matins.domain.forecasting.loads import AtLoad, EveryLoad, PhasedLoad, SharedLoad

Cell = tuple[str, str]
"""A team and a pool."""


class SharedTally:
    """Counts the jobs of a cell under a load whose jobs are all alike."""

    __slots__ = ("cell", "count", "load")

    def __init__(self, cell: Cell, load: SharedLoad) -> None:
        self.cell = cell
        self.load = load
        self.count = 0

    def add(self, anchor: int) -> None:
        """Count a job more."""
        del anchor
        self.count += 1

    def remove(self, anchor: int) -> None:
        """Count a job less."""
        del anchor
        self.count -= 1


class PhasedTally:
    """Counts the jobs of a cell under a load by their phases.

    A step has no due times before its anchor: those whose anchor lies at `since` or after it are in
    `later` as well, by anchor.
    """

    __slots__ = ("cell", "count", "later", "load", "phases", "since")

    def __init__(self, cell: Cell, load: PhasedLoad, since: int) -> None:
        self.cell = cell
        self.load = load
        self.count = 0
        self.phases: dict[int, int] = {}
        self.later: dict[int, int] = {}
        self.since = since

    def add(self, anchor: int) -> None:
        """Count a job more."""
        self.count += 1
        _count(self.phases, self.load.phase(anchor), 1)
        if isinstance(self.load, EveryLoad) and anchor >= self.since - self.load.jitter_s:
            _count(self.later, anchor, 1)

    def remove(self, anchor: int) -> None:
        """Count a job less, which was added with the same anchor."""
        self.count -= 1
        _count(self.phases, self.load.phase(anchor), -1)
        if anchor in self.later:
            _count(self.later, anchor, -1)

    def settle(self, since: int) -> None:
        """Forget who began late: nobody will ask for what was before `since` any more."""
        self.since = since
        first = since - self.load.jitter_s
        self.later = {anchor: n for anchor, n in self.later.items() if anchor >= first}


Tally = SharedTally | PhasedTally


def tally(cell: Cell, load: SharedLoad | PhasedLoad, since: int) -> Tally:
    """Make a tally of no jobs."""
    if isinstance(load, EveryLoad | AtLoad):
        return PhasedTally(cell, load, since)
    return SharedTally(cell, load)


def _count(counts: dict[int, int], key: int, change: int) -> None:
    found = counts.get(key, 0) + change
    if found:
        counts[key] = found
    else:
        del counts[key]
