"""Series: fires that repeat, as starts and what comes how long after each of them; and the
histogram that adds them up, by second or by minute.

All cron expressions whose hours pass alike share their starts, and so do all steps that divide an
hour or a day: what a histogram has to add up is little more than hours times seconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import accumulate, pairwise
from operator import add
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

Weights = dict[int, float]
"""Weights by offset from the same starts, or by bin."""


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


class Curve(msgspec.Struct, frozen=True):
    """Fires minute by minute from `since` on, and those of the first of the busiest seconds.

    Instants are whole seconds from 1970 UTC. Fires are expected values: whole numbers where neither
    jitter nor the ends of runs move them.
    """

    since: int
    minutes: list[float]
    peak_second: int
    peak_second_fires: float


class Histogram:
    """Fires over whole minutes. Series with the same starts are added up, then repeated."""

    def __init__(self, since: int, until: int) -> None:
        assert since < until, "a histogram has at least a minute"
        assert since % MINUTE_S == until % MINUTE_S == 0, "a histogram has whole minutes"
        self._since = since
        self._until = until
        self._exact: dict[Starts, Weights] = {}
        self._rates: dict[Starts, Weights] = {}

    def add(self, series: Series, times: int = 1) -> None:
        """Add a series, so many times."""
        by_starts = self._rates if series.is_rate else self._exact
        weights = by_starts.get(series.starts)
        if weights is None:
            weights = by_starts[series.starts] = {}
        known = weights.get
        for offset, weight in series.points:
            weights[offset] = known(offset, 0) + weight * times

    def curve(self) -> Curve:
        """Return all that was added, from counts by second."""
        seconds = self._bins(1)
        most = max(seconds)
        starts = range(0, len(seconds), MINUTE_S)
        minutes = [sum(seconds[start : start + MINUTE_S]) for start in starts]
        return Curve(self._since, _clean(minutes), self._since + seconds.index(most), most)

    def minutes(self) -> list[float]:
        """Return all that was added, minute by minute: much less work."""
        return _clean(self._bins(MINUTE_S))

    def _bins(self, bin_s: int) -> list[float]:
        """Return the fires of each bin of so many seconds."""
        size = (self._until - self._since) // bin_s
        bins: list[float] = [0] * size
        for starts, weights in self._exact.items():
            _accumulate(bins, *self._scaled(starts, weights, bin_s, is_rate=False))
        if self._rates:
            rises = [0.0] * size
            for starts, weights in self._rates.items():
                _accumulate_rises(rises, *self._scaled(starts, weights, bin_s, is_rate=True))
            bins = list(map(add, bins, accumulate(rises)))
        return bins

    def _scaled(
        self, starts: Starts, weights: Weights, bin_s: int, *, is_rate: bool
    ) -> tuple[list[int], Weights]:
        """Return starts and offsets in bins, from the first bin on."""
        begins = [start - self._since for start in starts.instants]
        if bin_s == 1:
            return begins, weights
        if any(begin % bin_s for begin in begins):
            single: Weights = {}
            for begin in begins:
                for offset, weight in weights.items():
                    single[begin + offset] = single.get(begin + offset, 0) + weight
            begins, weights = [0], single
        return [begin // bin_s for begin in begins], _coarse(weights, bin_s, is_rate=is_rate)


def _coarse(weights: Weights, bin_s: int, *, is_rate: bool) -> Weights:
    """Return weights by bin. A rise counts for the rest of its bin, and fully from the next on."""
    coarse: Weights = {}
    for offset, weight in weights.items():
        at, over = divmod(offset, bin_s)
        if is_rate:
            coarse[at] = coarse.get(at, 0) + weight * (bin_s - over)
            coarse[at + 1] = coarse.get(at + 1, 0) + weight * over
        else:
            coarse[at] = coarse.get(at, 0) + weight
    return coarse


def _accumulate(bins: list[float], begins: list[int], weights: Weights) -> None:
    pairs, size = list(weights.items()), len(bins)
    lowest, highest = min(weights, default=0), max(weights, default=0)
    for begin in begins:
        if begin + lowest >= 0 and begin + highest < size:
            for offset, weight in pairs:
                bins[begin + offset] += weight
        else:
            for offset, weight in pairs:
                if 0 <= begin + offset < size:
                    bins[begin + offset] += weight


def _accumulate_rises(rises: list[float], begins: list[int], weights: Weights) -> None:
    """Accumulate, where what rises before the first bin has risen there."""
    _accumulate(rises, begins, weights)
    rises[0] += sum(
        weight
        for begin in begins
        if begin < 0
        for offset, weight in weights.items()
        if begin + offset < 0
    )


def _clean(minutes: list[float]) -> list[float]:
    """Remove what rounding leaves of rates that have fallen."""
    return [abs(round(fires, 9)) for fires in minutes]
