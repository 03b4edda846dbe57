"""Where the queue of each pool can begin: what lies before is dequeued, and not walked again.
And what is passed over, because somebody else has a lock on it.

PostgreSQL can't remove the index entries of rows that were dequeued while any session has an older
snapshot, and a dequeue that begins at the very first would look at all of them, each time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

from matins.domain.jobs.spec import PRIORITIES

CLASSES: Final = sorted(PRIORITIES.values())
"""The priorities, in the order of dequeuing."""

LATE: Final = 10_000_000
"""How far before what was found a queue can begin. In ranks, as all here, which are microseconds of
the database's clock: no claim takes longer to be seen.
"""

SWEEP: Final = 5_000_000
"""How often a pool is looked through from the very first rank: what is put back has its old one."""

_POOLS_MAX: Final = 10_000


class DequeueResult(NamedTuple):
    """What a dequeue found: the rank of now, how many runs it picked, and each class's first."""

    now: int
    picked: int
    firsts: Sequence[int | None]


class Front:
    """Where the queue of one pool can begin, class by class. Dequeues may run side by side."""

    def __init__(self) -> None:
        self._ranks = [0] * len(CLASSES)
        self._now = 0
        self._sweep_at = 0
        self._passed: list[UUID] = []
        self._pass_until: int | None = None

    @property
    def passed(self) -> list[UUID]:
        """The runs that dequeues pass over."""
        return list(self._passed)

    def block(self, locked: Sequence[UUID]) -> None:
        """Pass over these runs as well, which somebody else has locked, for as long as a sweep."""
        self._passed += locked
        self._pass_until = None

    def begin(self) -> list[int]:
        """Return the rank at which the next dequeue begins, for each class."""
        return [0] * len(CLASSES) if self._now >= self._sweep_at else list(self._ranks)

    def note(self, begun: Sequence[int], free: int, result: DequeueResult) -> None:
        """Go on from what a dequeue found that began at these ranks and asked for so many runs."""
        if result.now < self._now - LATE:  # the clock went back, and ranks with it
            self._ranks, self._now, self._sweep_at = [0] * len(CLASSES), 0, 0
            self._pass_until = None
        self._now = max(self._now, result.now)
        if self._pass_until is None:
            self._pass_until = self._now + SWEEP
        elif self._now >= self._pass_until:
            self._passed = []
        if not any(begun):
            self._sweep_at = result.now + SWEEP
        for index, first in enumerate(result.firsts):
            if result.picked >= free and not any(result.firsts[index:]):
                break  # it got what it asked for, and did not look at this class
            rank = result.now if first is None else first
            if begun[index] <= self._ranks[index]:
                self._ranks[index] = max(self._ranks[index], rank - LATE)


class Fronts:
    """The fronts of the pools that were asked last."""

    def __init__(self) -> None:
        self._fronts: OrderedDict[str, Front] = OrderedDict()

    def of(self, pool: str) -> Front:
        """Return the front of a pool."""
        front = self._fronts.setdefault(pool, Front())
        self._fronts.move_to_end(pool)
        if len(self._fronts) > _POOLS_MAX:
            self._fronts.popitem(last=False)
        return front
