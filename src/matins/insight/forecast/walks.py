"""Walks from one due time to the next, for so long as that is worth it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final

WALKED_MAX: Final = 20_000
"""The most due times that are walked; what more there are repeat their rhythm."""

WALKED_ALONE_MAX: Final = 5_000
"""The most that are walked for what may be a single job."""

Fire = tuple[int, int]
"""A due time, and over how many seconds from it on its fire time may lie; 1 without jitter."""


def walk(
    next_after: Callable[[int], int | None], since: int, until: int, jitter_s: int
) -> list[Fire]:
    """Give what is due from `since` to `until` (exclusive)."""
    dues, due = walk_some(next_after, since, until, WALKED_MAX)
    if due is not None and due < until:
        due = _repeat(dues, due - dues[0], until)
    return fires_of(dues, due, jitter_s)


def walk_some(
    next_after: Callable[[int], int | None], since: int, until: int, most: int
) -> tuple[list[int], int | None]:
    """Give what is due from `since` to `until` (exclusive), at most so many, and what is due next.

    That lies before `until` if there are more.
    """
    dues = list[int]()
    due = next_after(since - 1)
    while due is not None and due < until and len(dues) < most:
        dues.append(due)
        due = next_after(due)
    return dues, due


def fires_of(dues: list[int], due: int | None, jitter_s: int) -> list[Fire]:
    """Give the fires of due times in a row; `due` is the one after them."""
    if jitter_s == 0:
        return [(one, 1) for one in dues]
    fires = [(one, min(jitter_s + 1, coming - one)) for one, coming in pairwise(dues)]
    if dues:
        last = dues[-1]
        fires.append((last, jitter_s + 1 if due is None else min(jitter_s + 1, due - last)))
    return fires


def _repeat(dues: list[int], length: int, until: int) -> int:
    """Append the same due times again and again; gives the first that is too late."""
    known, moved = tuple(dues), length
    while True:
        for due in known:
            if due + moved >= until:
                return due + moved
            dues.append(due + moved)
        moved += length
