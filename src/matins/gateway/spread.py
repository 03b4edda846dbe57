"""How much of a burst one executor gets, when others of its pool have free slots as well. Pure."""

from __future__ import annotations

from collections.abc import Iterable


def fair_share(free: int, others: Iterable[int], depth: int) -> int:
    """Return how many of `depth` runs are for an executor with so many free slots.

    Beside others with theirs: so that all have as many free slots left, or none. At least one.
    """
    slots = sorted([free, *others], reverse=True)
    if depth >= sum(slots):
        return free
    # The level to which free slots sink: those that have more give what lies above it.
    left, level = depth, slots[0]
    for count, lower in enumerate([*slots[1:], 0], 1):
        step = min(left, count * (level - lower))
        level -= -(-step // count)
        left -= step
        if left <= 0:
            break
    return max(1, min(free, free - level))
