"""How many jobs of one team and pool there are under one load."""

from __future__ import annotations

from matins.insight.forecast.loads import AtLoad, EveryLoad, PhasedLoad, SharedLoad

Cell = tuple[str, str]
"""A team and a pool."""


class SharedTally:
    """Counts the jobs of a cell under a load whose jobs are all alike."""

    __slots__ = ("cell", "count", "load")

    def __init__(self, cell: Cell, load: SharedLoad) -> None:
        self.cell = cell
        self.load = load
        self.count = 0


class PhasedTally:
    """Counts the jobs of a cell under a load by their phases.

    A step has no due times before its anchor: those that have not begun are in `later` as well, by
    anchor.
    """

    __slots__ = ("cell", "count", "later", "load", "phases")

    def __init__(self, cell: Cell, load: PhasedLoad) -> None:
        self.cell = cell
        self.load = load
        self.count = 0
        self.phases: dict[int, int] = {}
        self.later: dict[int, int] = {}

    def count_phase(self, anchor: int, change: int, since: int) -> None:
        """Count a job's phase, more or less. Nobody asks for what was before `since`."""
        _count(self.phases, self.load.phase(anchor), change)
        if anchor in self.later or (change > 0 and self._begins_later(anchor, since)):
            _count(self.later, anchor, change)

    def settle(self, since: int) -> bool:
        """Forget who has begun by then; tells whether anybody has not."""
        self.later = {at: n for at, n in self.later.items() if self._begins_later(at, since)}
        return bool(self.later)

    def _begins_later(self, anchor: int, since: int) -> bool:
        """Tell whether due times before an anchor could reach `since`, as there are none."""
        return isinstance(self.load, EveryLoad) and anchor >= since - self.load.jitter_s


Tally = SharedTally | PhasedTally


def tally(cell: Cell, load: SharedLoad | PhasedLoad) -> Tally:
    """Make a tally of no jobs."""
    if isinstance(load, EveryLoad | AtLoad):
        return PhasedTally(cell, load)
    return SharedTally(cell, load)


def _count(counts: dict[int, int], key: int, change: int) -> None:
    found = counts.get(key, 0) + change
    if found:
        counts[key] = found
    else:
        del counts[key]
