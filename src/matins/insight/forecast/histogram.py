"""A histogram of fires over a range of time, by second or by minute, added up from series."""

from __future__ import annotations

from itertools import accumulate
from operator import add

import msgspec

from matins.insight.forecast.groups import MINUTE_S
from matins.insight.forecast.series import Series, Starts

Weights = dict[int, float]
"""Weights by offset from the same starts, or by bin."""


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
