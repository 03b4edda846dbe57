"""Calendars of teams. See `domain.ports.calendars`."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.calendars.calendar import Calendar
from matins.domain.calendars.compiled import compile_calendar
from matins.domain.calendars.upcoming import closed_days
from matins.domain.ports.calendars import CalendarEnd, CalendarName, StoredCalendar
from matins.domain.values.errors import NotFoundError
from matins.domain.values.names import check_name
from matins.domain.views import CalendarPage, CalendarRecord
from matins.store.database import Database
from matins.store.job_rows import as_json
from matins.store.queries import load_queries

_Q = load_queries("calendars.sql")


class PostgresCalendars:
    """The calendars of all teams: what owners look at, and what changes of them need."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, team: str, after: str, limit: int) -> CalendarPage:
        """Return a team's calendars by name, those after `after`."""
        check_name("team", team)
        now = await self._database.clock()
        rows = await self._current(team, after=after, limit=limit)
        records = [_record(row, now) for row in rows]
        return CalendarPage(records, records[-1].calendar.name if len(records) == limit else None)

    async def show(self, team: str, name: str) -> CalendarRecord:
        """One calendar as it is now. Raises NotFoundError."""
        check_name("team", team)
        check_name("name", name)
        rows = await self._current(team, name=name)
        if not rows:
            raise NotFoundError(f"team {team} has no calendar {name!r}")
        return _record(rows[0], await self._database.clock())

    async def now(self) -> datetime:
        """See `domain.ports.calendars.CalendarChanges`."""
        return await self._database.clock()

    async def find_calendar(self, team: str, name: str) -> StoredCalendar | None:
        """See `domain.ports.calendars.CalendarChanges`."""
        rows = await self._current(team, name=name)
        return StoredCalendar(*_calendars(rows[0]), rows[0]["jobs"]) if rows else None

    async def write(self, team: str, calendar: Calendar, resolved: Calendar) -> None:
        """See `domain.ports.calendars.CalendarChanges`."""
        async with self._database.transaction() as session:
            await self._database.make_team(session, team)
            await self._database.run(session, _Q["lock"], team=team)
            for row in await self._current(team, name=calendar.name, session=session):
                await self._database.run(session, _Q["replace"], id=row["id"])
            texts = {"written": as_json(calendar), "resolved": as_json(resolved)}
            await self._database.run(session, _Q["insert"], team=team, name=calendar.name, **texts)

    async def delete(self, team: str, name: str, *, jobs_max: int) -> CalendarEnd | None:
        """See `domain.ports.calendars.CalendarChanges`."""
        async with self._database.transaction() as session:
            await self._database.run(session, _Q["lock"], team=team)
            rows = await self._current(team, name=name, session=session)
            if not rows:
                return None
            users = await self._database.run(
                session, _Q["users"], team=team, name=name, limit=jobs_max
            )
            if not users:
                await self._database.run(session, _Q["replace"], id=rows[0]["id"])
        calendar, _ = _calendars(rows[0])
        return CalendarEnd(calendar, [user["name"] for user in users])

    async def jobs_behind(
        self, team: str, name: str, *, besides: Collection[UUID], limit: int
    ) -> list[tuple[UUID, str]]:
        """See `domain.ports.calendars.CalendarChanges`."""
        rows = await self._database.fetch(
            _Q["behind"], team=team, name=name, besides=list(besides), limit=limit
        )
        return [(row["id"], row["name"]) for row in rows]

    async def calendars_behind(self, limit: int) -> list[CalendarName]:
        """See `domain.ports.calendars.CalendarChanges`."""
        rows = await self._database.fetch(_Q["calendars_behind"], limit=limit)
        return [CalendarName(row["team"], row["name"]) for row in rows]

    async def outdated_calendars(self, limit: int) -> list[CalendarName]:
        """See `domain.ports.calendars.CalendarChanges`."""
        rows = await self._database.fetch(_Q["aged"], limit=limit)
        return [CalendarName(row["team"], row["name"]) for row in rows]

    async def mark_resolved(self, team: str, name: str) -> None:
        """See `domain.ports.calendars.CalendarChanges`."""
        await self._database.fetch(_Q["resolved"], team=team, name=name)

    async def _current(
        self,
        team: str,
        *,
        name: str | None = None,
        after: str = "",
        limit: int = 1,
        session: asyncpg.pool.PoolConnectionProxy | None = None,
    ) -> list[asyncpg.Record]:
        """Read what is in force now; in a transaction that has locked it, if one is given."""
        args: dict[str, object] = {"team": team, "name": name, "after": after, "limit": limit}
        if session is not None:
            return await self._database.run(session, _Q["current"], **args)
        return await self._database.fetch(_Q["current"], **args)


def _calendars(row: asyncpg.Record) -> tuple[Calendar, Calendar]:
    """Return a calendar as it was written, and as it was resolved."""
    written, resolved = row["written"], row["resolved"]
    return (
        msgspec.json.decode(written, type=Calendar),
        msgspec.json.decode(resolved, type=Calendar),
    )


def _record(row: asyncpg.Record, now: datetime) -> CalendarRecord:
    written, resolved = _calendars(row)
    ahead = closed_days(compile_calendar(resolved), now)
    return CalendarRecord(written, row["id"], row["made_at"], row["jobs"], ahead)
