"""What decides about a job's due times besides its schedule, from the job's row."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Final

import asyncpg
import msgspec
import structlog

from matins.domain.calendars.calendar import Calendar
from matins.domain.calendars.closures import Closures, compile_calendar
from matins.domain.errors import MatinsError, ScheduleError
from matins.domain.schedules.compiling import Timing
from matins.domain.schedules.schedule import Exemption
from matins.store.queries import load_queries

KNOWN_MAX: Final = 10_000
"""The most compiled calendars that are kept."""

log = structlog.get_logger()

_Q = load_queries("timings.sql")


class KnownCalendars:
    """Compiled versions of calendars. A version never changes, so that it is read once."""

    def __init__(self) -> None:
        self._known: dict[int, Closures] = {}

    async def closures(
        self, fetch: Callable[..., Awaitable[list[asyncpg.Record]]], calendars: Sequence[int]
    ) -> tuple[Closures, ...]:
        """Give versions by their ids; `fetch` runs a query. Raises ScheduleError."""
        await self.read(fetch, calendars)
        return self.of(calendars)

    async def read(
        self, fetch: Callable[..., Awaitable[list[asyncpg.Record]]], calendars: Collection[int]
    ) -> None:
        """Read those versions that are not known yet, in one query."""
        missing = set(calendars) - self._known.keys()
        if not missing:
            return
        if len(self._known) + len(missing) > KNOWN_MAX:
            self._known.clear()
            missing = set(calendars)
        for row in await fetch(_Q["calendars"], ids=sorted(missing)):
            try:
                calendar = msgspec.json.decode(row["resolved"], type=Calendar)
                self._known[row["id"]] = compile_calendar(calendar)
            except (msgspec.MsgspecError, MatinsError):
                log.exception("calendar.unreadable", calendar=row["id"])

    def of(self, calendars: Iterable[int]) -> tuple[Closures, ...]:
        """Give versions that have been read. Raises ScheduleError for one that could not be."""
        if unread := [it for it in calendars if it not in self._known]:
            raise ScheduleError(f"version {unread[0]} of a calendar can't be read")
        return tuple(self._known[it] for it in calendars)


def timing_of(row: asyncpg.Record, closures: tuple[Closures, ...]) -> Timing:
    """Read it from a row with `anchor`, `since` and `exemptions`."""
    anchor = row["anchor"]
    exemptions = msgspec.json.decode(row["exemptions"], type=tuple[Exemption, ...])
    return Timing(anchor, row["since"] or anchor, closures, exemptions)
