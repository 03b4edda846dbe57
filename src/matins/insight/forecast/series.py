"""Series: fires that repeat, as starts and what comes how long after each of them.

All cron expressions whose hours pass alike share their starts, and so do all steps that divide an
hour or a day: what a histogram has to add up in the end is little more than hours times seconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from matins.insight.forecast.groups import MINUTE_S

ENUMERATED_MAX: Final = 20_000
"""The most due times that are enumerated; what more there are repeat their rhythm."""


class Starts:
    """Instants from which offsets are counted. Compared by identity, which makes it a cheap key."""

    __slots__ = ("instants",)

    def __init__(self, instants: Sequence[int]) -> None:
        self.instants = instants


ORIGIN: Final = Starts((0,))
"""The start from which offsets are instants themselves."""

Point = tuple[int, float]
"""An offset in seconds from a start, and a weight."""

Fire = tuple[int, int]
"""A due time, and over how many seconds from it on its fire time may lie; 1 without jitter."""


class Series(msgspec.Struct, frozen=True):
    """Points that repeat at each start. A weight is how many fires fall into the second itself; if
    `is_rate`, it is by how many the fires of each second rise from there on.
    """

    starts: Starts
    points: Collection[Point]
    is_rate: bool = False

    @property
    def estimate(self) -> int:
        """About how many fires a series of one job has: a rate has a fall for each rise."""
        return len(self.starts.instants) * len(self.points) // (2 if self.is_rate else 1)


def spread_alike(starts: Starts, points: Collection[Point], spread_s: int) -> Series:
    """Return the series of points that are all spread evenly over so many seconds."""
    if spread_s == 1:
        return Series(starts, points)
    rises = [(offset, weight / spread_s) for offset, weight in points]
    falls = [(offset + spread_s, -weight) for offset, weight in rises]
    return Series(starts, rises + falls, is_rate=True)


def spread_each(starts: Starts, fires: Iterable[Fire]) -> list[Series]:
    """Return the series of fires that are each spread over a length of their own."""
    exact, rates = list[Point](), list[Point]()
    for due, spread_s in fires:
        if spread_s == 1:
            exact.append((due, 1))
        else:
            rates += (due, 1 / spread_s), (due + spread_s, -1 / spread_s)
    series = [Series(starts, exact), Series(starts, rates, is_rate=True)]
    return [item for item in series if item.points]


def blurred(dues: Sequence[int], following: int, until: int) -> Series:
    """Return many due times as a rate, even within each minute; from `following` on as often as
    before.

    It takes little memory, however many there are.
    """
    end = following - following % MINUTE_S
    rises: dict[int, float] = defaultdict(float)
    known = [due for due in dues if due < end]
    for due in known:
        minute = due - due % MINUTE_S
        rises[minute] += 1 / MINUTE_S
        rises[minute + MINUTE_S] -= 1 / MINUTE_S
    if known and end < until:
        rate = len(known) / (end - known[0])
        rises[end] += rate
        rises[until] -= rate
    return Series(ORIGIN, [(at, rise) for at, rise in rises.items() if rise], is_rate=True)


def enumerate_fires(
    next_after: Callable[[int], int | None], since: int, until: int, jitter_s: int
) -> list[Fire]:
    """Return what is due from `since` to `until` (exclusive)."""
    dues, following = enumerate_dues(next_after, since, until, ENUMERATED_MAX)
    if following is not None and following < until:
        following = _repeat(dues, following - dues[0], until)
    return fires_of(dues, following, jitter_s)


def enumerate_dues(
    next_after: Callable[[int], int | None], since: int, until: int, limit: int
) -> tuple[list[int], int | None]:
    """Return the first due times from `since` to `until` (exclusive), and the one after them.

    There are `limit` at most; the one after them lies before `until` if there are more.
    """
    dues = list[int]()
    due = next_after(since - 1)
    while due is not None and due < until and len(dues) < limit:
        dues.append(due)
        due = next_after(due)
    return dues, due


def fires_of(dues: Sequence[int], following: int | None, jitter_s: int) -> list[Fire]:
    """Return the fires of due times in a row; `following` is the due time after them."""
    if jitter_s == 0:
        return [(due, 1) for due in dues]
    fires = [(due, min(jitter_s + 1, coming - due)) for due, coming in pairwise(dues)]
    if dues:
        last = dues[-1]
        fires.append(
            (last, jitter_s + 1 if following is None else min(jitter_s + 1, following - last))
        )
    return fires


def _repeat(dues: list[int], period: int, until: int) -> int:
    """Append the same due times again and again; return the first that is too late."""
    pattern, moved = tuple(dues), period
    while True:
        for due in pattern:
            if due + moved >= until:
                return due + moved
            dues.append(due + moved)
        moved += period
