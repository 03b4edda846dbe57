"""Forecasts of the load of all active jobs, from a book that is kept in this process.

The first who asks waits until all jobs have been read. Nobody else is held up by it: pages are
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
from matins.insight.forecast.canvas import MINUTE_S
from matins.insight.forecast.crowds import crowd
from matins.insight.forecast.dials import HOUR_S
from matins.insight.forecast.forecast import HOURS_MAX, Forecast, forecast
from matins.insight.forecast.layouts import Layouts
from matins.store.bookings import KeptBook
from matins.store.database import Database
from matins.store.timings import KnownCalendars

CROWDS_FRESH_S: Final = 300
"""How old the load may be by which crowds are found."""

CROWDS_WAIT_S: Final = 2.0
"""How long a warning of a crowd is waited for."""

_LAYOUTS_MAX: Final = 4
_ANSWERS_MAX: Final = 100

T = TypeVar("T")


class _Asked(NamedTuple):
    """What is asked for, of a book after so many changes."""

    changes: int
    hours: int
    team: str | None
    pool: str | None


class PostgresForecasts:
    """Tells what is ahead. A change that was acknowledged before is in the answer."""

    def __init__(self, database: Database, calendars: KnownCalendars) -> None:
        self._database = database
        self._calendars = calendars
        self._turn = asyncio.Lock()
        self._kept: KeptBook | None = None
        # of the window that begins in the minute `_since`
        self._since = 0
        self._layouts: dict[int, Layouts] = {}
        self._answers: dict[_Asked, Forecast] = {}
        self._crowds: tuple[int, list[float]] | None = None

    def forget(self) -> None:
        """Read all jobs anew: another database may know others."""
        self._kept, self._since, self._crowds = None, 0, None

    async def forecast(self, hours: int, team: str | None, pool: str | None) -> Forecast:
        """The coming hours of all jobs, or of one team's, or of one pool's."""
        for where, name in (("team", team), ("pool", pool)):
            if name is not None:
                check_name(where, name)
        async with self._turn:
            kept = await self._refreshed()
            asked = _Asked(kept.changes, hours, team, pool)
            return await _in_thread(partial(self._answer, kept, asked))

    async def crowd(self, fires: Sequence[datetime], timezone: str, *, own: bool = False) -> str:
        """The warning of the first of some fire times at which many other jobs fire, if any does.

        Empty as well while that would take long. `own`: the job itself counts among those jobs.
        """
        try:
            async with asyncio.timeout(CROWDS_WAIT_S), self._turn:
                since, minutes = await self._all_minutes()
        except TimeoutError:
            return ""
        zone = find_zone(timezone)
        found = (crowd(since, minutes, epoch_s(at), zone, own=int(own)) for at in fires)
        return next(filter(None, found), "")

    async def _refreshed(self) -> KeptBook:
        """The book as it is now. What was computed for an earlier minute is forgotten."""
        now = await self._database.clock()
        since = epoch_s(now) // MINUTE_S * MINUTE_S
        if self._kept is None:
            self._kept = KeptBook(self._database, self._calendars, now, since)
        await self._kept.refresh(now)
        if since != self._since:
            self._since = since
            self._layouts.clear()
            self._answers.clear()
            self._kept.book.settle(since)
        return self._kept

    async def _all_minutes(self) -> tuple[int, list[float]]:
        """The fires of each minute of all jobs, from an instant some minutes ago at most."""
        kept = await self._refreshed()
        if self._crowds is None or not 0 <= self._since - self._crowds[0] < CROWDS_FRESH_S:
            book, layouts = kept.book, self._layouts_of(HOURS_MAX)
            minutes = await _in_thread(lambda: book.minutes(layouts, book.cells()))
            self._crowds = layouts.since, minutes
        return self._crowds

    def _answer(self, kept: KeptBook, asked: _Asked) -> Forecast:
        found = self._answers.get(asked)
        if found is None:
            if len(self._answers) == _ANSWERS_MAX:
                self._answers.clear()
            layouts = self._layouts_of(asked.hours)
            found = forecast(kept.book, layouts, asked.team, asked.pool)
            self._answers[asked] = found
        return found

    def _layouts_of(self, hours: int) -> Layouts:
        found = self._layouts.get(hours)
        if found is None:
            if len(self._layouts) == _LAYOUTS_MAX:
                self._layouts.clear()
            found = self._layouts[hours] = Layouts(self._since, self._since + hours * HOUR_S)
        return found


async def _in_thread(work: Callable[[], T]) -> T:
    """Work in a thread, to its end: whoever is cancelled meanwhile must not let others in."""
    working = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait([working])
        raise
