"""How many partitions a scheduler should hold, from the number of schedulers alive."""

from __future__ import annotations

from datetime import datetime

from matins.domain.values.ids import PARTITIONS

_RUSH_FROM_S = 58.5
_RUSH_UNTIL_S = 1.0
"""Most jobs are due at full minutes: so near to one no partition changes hands."""


def fair_share(alive: int) -> int:
    """Return the most partitions that one of `alive` schedulers holds; together they can hold
    all.
    """
    return -(-PARTITIONS // max(alive, 1))


def to_acquire(held: int, alive: int) -> int:
    """Return how many more partitions to take over, if they are free."""
    return max(0, fair_share(alive) - held)


def to_shed(held: list[int], alive: int) -> list[int]:
    """Return which held partitions to give up, so that others come to their share."""
    return sorted(held)[fair_share(alive) :]


def may_move(now: datetime) -> bool:
    """Return whether partitions may change hands now: not around a full minute."""
    return _RUSH_UNTIL_S <= now.second + now.microsecond / 1e6 < _RUSH_FROM_S
