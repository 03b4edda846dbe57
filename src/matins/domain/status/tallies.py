"""Tallies: what has happened in each minute, for people to look at. Nothing is decided by them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec

LAG_BOUNDS_S: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
"""The upper bounds of the classes in which lags are counted; what is longer has one of its own."""

LATE_S: Final = 60
"""What starts so long after its due time is counted as late."""

KEPT: Final = timedelta(days=8)
"""For so long the minutes are kept."""


class Tally(msgspec.Struct, frozen=True):
    """Counts of a span of time.

    Runs that were `claimed` to be run, and due times `skipped`; `missed` are those of them that
    a misfire policy left out. Attempts `started`, `failed` (lost and timed out, too) and
    `succeeded`, and runs that are `dead`. `lags`: first starts by the time since they were due, in
    the classes of `LAG_BOUNDS_S`; without backfills.
    """

    claimed: int = 0
    skipped: int = 0
    missed: int = 0
    started: int = 0
    succeeded: int = 0
    failed: int = 0
    dead: int = 0
    lags: tuple[int, ...] = (0,) * (len(LAG_BOUNDS_S) + 1)

    def plus(self, other: Tally, sign: int = 1) -> Tally:
        """Return what both have counted; with a `sign` of -1, how much more this one has."""
        counts, others = msgspec.structs.asdict(self), msgspec.structs.asdict(other)
        lags = tuple(
            a + sign * b for a, b in zip(counts.pop("lags"), others.pop("lags"), strict=True)
        )
        return Tally(**{name: counts[name] + sign * others[name] for name in counts}, lags=lags)

    @property
    def late(self) -> int:
        """How many first starts were late."""
        return sum(self.lags[LAG_BOUNDS_S.index(LATE_S) + 1 :])

    @property
    def success_rate(self) -> float | None:
        """Of the runs that ended by an attempt, the share that succeeded; None: none has ended."""
        ended = self.succeeded + self.dead
        return self.succeeded / ended if ended else None

    def lag_s(self, share: float) -> float | None:
        """Return the lag that so large a share of first starts kept to; None: there was no start.

        Within a class it is taken to rise evenly; beyond the last bound it is that bound.
        """
        rank, before = share * sum(self.lags), 0
        for count, (low, high) in zip(self.lags, pairwise((0.0, *LAG_BOUNDS_S)), strict=False):
            if count and before + count >= rank:
                return low + (high - low) * (rank - before) / count
            before += count
        return float(LAG_BOUNDS_S[-1]) if any(self.lags) else None


class Minute(NamedTuple):
    """A minute, and what has happened in it."""

    at: datetime
    tally: Tally


class Tallies(NamedTuple):
    """The minutes of the last hour and the present one, those without a count left out; and the
    whole day (UTC) up to `now`. `since`: the first minute that is known; None: nothing is.
    """

    now: datetime
    minutes: Sequence[Minute]
    today: Tally
    since: datetime | None

    def last(self, minutes: int) -> Tally:
        """Return what the last minutes hold together, the present one among them."""
        since = self.now - timedelta(minutes=minutes)
        total = Tally()
        for minute in self.minutes:
            if minute.at >= since:
                total = total.plus(minute.tally)
        return total

    def each(self, minutes: int) -> list[Tally]:
        """Return the tallies of the last minutes that are over, one after the other."""
        present = self.now.replace(second=0, microsecond=0)
        known = {minute.at: minute.tally for minute in self.minutes}
        ago = range(minutes, 0, -1)
        return [known.get(present - timedelta(minutes=number), Tally()) for number in ago]
