"""Forecasts of all active jobs, from an index that is kept in this process.

The first caller waits until all jobs have been read. Nothing else is held up by that: pages are
small, and what takes long is computed in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple, TypeVar

from matins.domain.time.instants import epoch_s
from matins.domain.time.zones import find_zone
from matins.domain.values.names import check_name
from matins.insight.forecast.expansion import LoadExpansion
from matins.insight.forecast.forecast import HOURS_MAX, Forecast, forecast, hot_spot
from matins.insight.forecast.groups import HOUR_S, MINUTE_S
from matins.store.database import Database
from matins.store.forecast_index import LiveIndex
from matins.store.timings import KnownCalendars

HOT_SPOTS_FRESH_S: Final = 300
"""How old the counts may be by which hot spots are found."""

HOT_SPOTS_WAIT_S: Final = 2.0
"""How long a warning of a hot spot is waited for."""

_EXPANSIONS_MAX: Final = 4
_FORECASTS_MAX: Final = 100

T = TypeVar("T")


class _Query(NamedTuple):
    """What is asked for, of an index after so many changes."""

    changes: int
    hours: int
    team: str | None
    pool: str | None


class PostgresForecasts:
    """Forecasts. A change that was acknowledged before is in the answer."""

    def __init__(self, database: Database, calendars: KnownCalendars) -> None:
        self._database = database
        self._calendars = calendars
        self._turn = asyncio.Lock()
        self._live: LiveIndex | None = None
        # of the range that begins in the minute `_since`
        self._since = 0
        self._expansions: dict[int, LoadExpansion] = {}
        self._forecasts: dict[_Query, Forecast] = {}
        self._minutes: tuple[int, list[float]] | None = None

    def forget(self) -> None:
        """Read all jobs anew: another database may know others."""
        self._live, self._since, self._minutes = None, 0, None

    async def forecast(self, hours: int, team: str | None, pool: str | None) -> Forecast:
        """Return the coming hours of all jobs, or of one team's, or of one pool's."""
        for where, name in (("team", team), ("pool", pool)):
            if name is not None:
                check_name(where, name)
        async with self._turn:
            live = await self._refreshed()
            query = _Query(live.changes, hours, team, pool)
            return await _in_thread(partial(self._forecast, live, query))

    async def hot_spot(self, fires: Sequence[datetime], timezone: str, *, own: bool = False) -> str:
        """Return the warning of the first of some fire times at which many other jobs fire, if any.

        Empty as well while that would take long. `own`: the job itself counts among those jobs.
        """
        try:
            async with asyncio.timeout(HOT_SPOTS_WAIT_S), self._turn:
                since, minutes = await self._all_minutes()
        except TimeoutError:
            return ""
        zone = find_zone(timezone)
        spots = (hot_spot(since, minutes, epoch_s(at), zone, own=int(own)) for at in fires)
        return next(filter(None, spots), "")

    async def _refreshed(self) -> LiveIndex:
        """Return the index as it is now. What was computed for an earlier minute is forgotten."""
        now = await self._database.clock()
        since = epoch_s(now) // MINUTE_S * MINUTE_S
        if self._live is None:
            self._live = LiveIndex(self._database, self._calendars, now, since)
        await self._live.refresh(now)
        if since != self._since:
            self._since = since
            self._expansions.clear()
            self._forecasts.clear()
            self._live.index.advance(since)
        return self._live

    async def _all_minutes(self) -> tuple[int, list[float]]:
        """Return the fires of each minute of all jobs, from an instant some minutes ago at most."""
        live = await self._refreshed()
        if self._minutes is None or not 0 <= self._since - self._minutes[0] < HOT_SPOTS_FRESH_S:
            index, expansion = live.index, self._expansion(HOURS_MAX)
            counters = index.counters()
            self._minutes = expansion.since, await _in_thread(lambda: expansion.minutes(counters))
        return self._minutes

    def _forecast(self, live: LiveIndex, query: _Query) -> Forecast:
        known = self._forecasts.get(query)
        if known is None:
            if len(self._forecasts) == _FORECASTS_MAX:
                self._forecasts.clear()
            expansion = self._expansion(query.hours)
            known = forecast(live.index, expansion, query.team, query.pool)
            self._forecasts[query] = known
        return known

    def _expansion(self, hours: int) -> LoadExpansion:
        expansion = self._expansions.get(hours)
        if expansion is None:
            if len(self._expansions) == _EXPANSIONS_MAX:
                self._expansions.clear()
            expansion = LoadExpansion(self._since, self._since + hours * HOUR_S)
            self._expansions[hours] = expansion
        return expansion


async def _in_thread(work: Callable[[], T]) -> T:
    """Work in a thread, to its end: whoever is cancelled meanwhile must not let others in."""
    working = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait([working])
        raise
