"""Ranks: the order in which the runs of a pool are handed out. Pure.

A rank is a number of microseconds, in which the smaller is first. Each team has a virtual clock in
each pool, that goes on with each of its runs by the time that the pool would need for the run if it
gave the team no more than its share. So a burst of one team is spread over the time to come, and
what comes meanwhile of other teams is ranked between. Priority is a head start in the same number.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

HEAD_STARTS_S: Final = (15, 0, -45)
"""How far a run is ranked before its time, in seconds: of high, normal and low priority. So what is
low waits for a minute beside a stream that is high, and no longer.
"""

GAP_S: Final = 0.1
"""The time that a pool needs for a run, in seconds, until it is measured: too long does no harm."""

GAP_MAX_S: Final = 3600.0

_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_AHEAD_MAX: Final = 60_000_000
"""A clock that was used so long after now, in µs, was used before the time was put back."""


class PoolSeen(msgspec.Struct, frozen=True):
    """What was measured of a pool.

    `gap_s`: the time from one start to the next. `reached`: the rank up to where the queue has been
    handed out; None where it was empty. `emptied_at`: when it last was.
    """

    gap_s: float
    reached: int | None = None
    emptied_at: datetime | None = None


class QueuesSeen(msgspec.Struct, frozen=True):
    """What is known of all pools, by name, and the weights of teams of which it is not 1."""

    pools: Mapping[str, PoolSeen] = {}
    weights: Mapping[int, int] = {}


class Started(msgspec.Struct, frozen=True):
    """What one gateway handed out of a pool since it last said so.

    `elapsed_s`: in how long a time. `is_emptied`: the queue was found empty meanwhile.
    """

    pool: str
    starts: int
    elapsed_s: float
    is_emptied: bool


def rank_of(instant: datetime) -> int:
    """Return the rank of an instant."""
    return (instant - _EPOCH) // _MICROSECOND


def rank_at(instant: datetime, priority: int) -> int:
    """Return the rank of a run that comes by itself; `rank_at` in PostgreSQL says the same."""
    return rank_of(instant) - HEAD_STARTS_S[priority] * 1_000_000


def noted(
    before: PoolSeen | None, started: Started, *, since_s: float | None, first: int | None
) -> PoolSeen:
    """Return what is known of a pool, after so many more starts.

    While runs are left on the queue, the pool starts as many as it can: the last ten starts count,
    or those of the last five seconds. Else it could have started more, perhaps: the time from one
    start to the next only falls. `since_s`: the time since anybody noted anything, as others may
    have handed out as well. `first`: the first rank on the queue now.
    """
    is_empty = started.is_emptied or first is None
    reached = None if is_empty else first
    if not started.starts:
        return PoolSeen(GAP_S if before is None else before.gap_s, reached)
    elapsed_s = started.elapsed_s if since_s is None else min(started.elapsed_s, since_s)
    gap_s = min(max(elapsed_s, 0.001) / started.starts, GAP_MAX_S)
    if before is None:
        return PoolSeen(gap_s, reached)
    if is_empty:
        gap_s = min(before.gap_s, gap_s)
    else:
        share = min(1.0, started.starts / 10, elapsed_s / 5)
        gap_s = before.gap_s + (gap_s - before.gap_s) * share
    if reached is not None and before.reached is not None:
        reached = max(reached, before.reached)  # what is put back is ranked where it was
    return PoolSeen(gap_s, reached)


class _TeamClock:
    """A team's clock in a pool: for each priority the rank of its last run, without head start.

    What is more urgent moves on the clocks of what is less as well, so that a team has no larger
    share by several priorities, and its own burst of low ones is passed by what is high.
    """

    __slots__ = ("lasts", "used")

    def __init__(self) -> None:
        self.lasts = [0] * len(HEAD_STARTS_S)
        self.used = 0


class _PoolClock:
    """The clocks of all teams in a pool, and what they go by.

    `step`: the time that the pool needs for a run. It stays as long as any clock is ahead: the runs
    of one team would be ranked by longer steps than those of another otherwise.
    """

    __slots__ = ("reached", "step", "teams")

    def __init__(self, step: float, reached: int | None) -> None:
        self.step = step
        self.reached = reached
        self.teams: dict[int, _TeamClock] = {}


class VirtualClocks:
    """The clocks of a scheduler. `share`: which part of all jobs it has; others keep clocks too."""

    def __init__(self) -> None:
        self._pools: dict[str, _PoolClock] = {}
        self._seen = QueuesSeen()
        self._share = 1.0

    def look(self, seen: QueuesSeen, share: float, now: datetime) -> None:
        """Go by what was measured from now on.

        Clocks of teams that have nothing on the queue any more are forgotten: those that were used
        before it was last seen empty, and those that are not ahead of where it is.
        """
        self._seen, self._share = seen, share
        at = rank_of(now)
        for name, pool in list(self._pools.items()):
            known = seen.pools.get(name)
            emptied = 0 if known is None or known.emptied_at is None else rank_of(known.emptied_at)
            pool.reached = None if known is None else known.reached
            begin = at if pool.reached is None else pool.reached
            pool.teams = {
                team: clock
                for team, clock in pool.teams.items()
                if clock.lasts[-1] > begin and emptied <= clock.used <= at + _AHEAD_MAX
            }
            if not pool.teams:
                del self._pools[name]

    def rank(self, pool_name: str, team: int, priority: int, now: int) -> int:
        """Return the rank of a team's next run; `now` is that of the present."""
        pool = self._pools.get(pool_name)
        if pool is None:
            pool = self._pools[pool_name] = self._begin(pool_name)
        clock = pool.teams.get(team)
        if clock is None:
            clock = pool.teams[team] = _TeamClock()
        begin = now if pool.reached is None else pool.reached
        step = int(pool.step / self._seen.weights.get(team, 1)) + 1
        lasts = clock.lasts
        clock.used = now
        for less in range(priority, len(lasts)):
            lasts[less] = max(lasts[less], begin) + step
        return lasts[priority] - HEAD_STARTS_S[priority] * 1_000_000

    def _begin(self, name: str) -> _PoolClock:
        known = self._seen.pools.get(name, PoolSeen(GAP_S))
        return _PoolClock(known.gap_s * 1_000_000 / self._share, known.reached)
