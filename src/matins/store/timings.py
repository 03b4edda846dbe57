"""What decides about a job's due times, from the job's row; what many rows share is read once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import asyncpg
import msgspec
import structlog

from matins.domain.calendars.calendar import Calendar
from matins.domain.calendars.compiled import CompiledCalendar, compile_calendar
from matins.domain.schedules.schedule import Override, Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.values.errors import MatinsError, ScheduleError
from matins.store.database import Fetch
from matins.store.queries import load_queries

KNOWN_MAX: Final = 10_000
"""The most compiled calendars that are kept."""

_SCHEDULES_MAX: Final = 16_384

Versions = Mapping[int, CompiledCalendar]
"""Compiled versions of calendars by their ids, without those that can't be read."""

log = structlog.get_logger()

_Q = load_queries("timings.sql")


class KnownCalendars:
    """Compiled versions of calendars. A version never changes, so that it is read once."""

    def __init__(self) -> None:
        self._known: dict[int, CompiledCalendar] = {}

    def forget(self) -> None:
        """Read all anew: another database may have given the ids to other versions."""
        self._known = {}

    async def closures(
        self, fetch: Fetch, calendars: Sequence[int]
    ) -> tuple[CompiledCalendar, ...]:
        """Return versions by their ids. Raises ScheduleError for one that can't be read."""
        return _closures(calendars, await self._read(fetch, set(calendars)))

    async def versions(self, fetch: Fetch, rows: Iterable[asyncpg.Record]) -> Versions:
        """Return what rows with `calendars` name; what is not known yet is read in one query."""
        return await self._read(fetch, {version for row in rows for version in row["calendars"]})

    async def _read(self, fetch: Fetch, wanted: set[int]) -> Versions:
        versions = {version: self._known[version] for version in wanted if version in self._known}
        missing = wanted - versions.keys()
        if not missing:
            return versions
        for row in await fetch(_Q["calendars"], ids=sorted(missing)):
            try:
                calendar = msgspec.json.decode(row["resolved"], type=Calendar)
                versions[row["id"]] = compile_calendar(calendar)
            except (msgspec.MsgspecError, MatinsError):
                log.exception("calendar.unreadable", calendar=row["id"])
        if len(self._known) + len(missing) > KNOWN_MAX:
            self._known.clear()
        self._known |= versions
        return versions


async def current_calendars(
    fetch: Fetch, team: str, names: Sequence[str], *, locked: bool = False
) -> dict[str, int]:
    """Return the current versions of those of a team's calendars that exist, by name.

    `locked`: they stay the current ones until the transaction ends.
    """
    if locked:
        await fetch(_Q["keep"], team=team)
    rows = await fetch(_Q["current"], team=team, names=list(names))
    return {row["name"]: row["id"] for row in rows}


def timing_of(row: asyncpg.Record, versions: Versions) -> Timing:
    """Read it from a row with `anchor`, `since`, `overrides` and `calendars`.

    Raises ScheduleError for a calendar that can't be read.
    """
    anchor = row["anchor"]
    overrides = msgspec.json.decode(row["overrides"], type=tuple[Override, ...])
    closures = _closures(row["calendars"], versions)
    return Timing(anchor, row["since"] or anchor, closures, overrides)


@lru_cache(maxsize=_SCHEDULES_MAX)
def schedule_of(text: str) -> Schedule:
    """Read a schedule as it is stored."""
    return msgspec.json.decode(text, type=Schedule)


def _closures(calendars: Iterable[int], versions: Versions) -> tuple[CompiledCalendar, ...]:
    if unread := [calendar for calendar in calendars if calendar not in versions]:
        raise ScheduleError(f"version {unread[0]} of a calendar can't be read")
    return tuple(versions[calendar] for calendar in calendars)
