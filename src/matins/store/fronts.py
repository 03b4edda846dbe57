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

from matins.domain.runs.ranking import HEAD_STARTS_S

LATE: Final = 10_000_000 + max(HEAD_STARTS_S) * 1_000_000
"""How far before what was found a queue can begin. In ranks, as all here, which are microseconds of
the database's clock: no claim takes longer to be seen, and none has a longer head start.
"""

SWEEP: Final = 5_000_000
"""How often a pool is looked through from the very first rank: what is put back has its old one."""

_POOLS_MAX: Final = 10_000


class DequeueResult(NamedTuple):
    """What a dequeue found: the rank of now, how many runs it picked, and their first rank."""

    now: int
    picked: int
    first: int | None


class Front:
    """Where the queue of one pool can begin. Dequeues may run side by side."""

    def __init__(self) -> None:
        self._rank = 0
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

    def begin(self) -> int:
        """Return the rank at which the next dequeue begins."""
        return 0 if self._now >= self._sweep_at else self._rank

    def note(self, begun: int, result: DequeueResult) -> None:
        """Go on from what a dequeue found that began at this rank.

        What is still to come may be ranked by now, though all that is there is ranked later.
        """
        if result.now < self._now - LATE:  # the clock went back, and ranks with it
            self._rank = self._now = self._sweep_at = 0
            self._pass_until = None
        self._now = max(self._now, result.now)
        if self._pass_until is None:
            self._pass_until = self._now + SWEEP
        elif self._now >= self._pass_until:
            self._passed = []
        if not begun:
            self._sweep_at = result.now + SWEEP
        first = result.now if result.first is None else min(result.first, result.now)
        if first < self._rank:  # old ranks were put back, and there may be more than were picked
            self._rank = first
        elif begun <= self._rank:
            self._rank = max(self._rank, first - LATE)


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
