"""Calendars of teams: put, read, delete, and keeping the jobs that follow them up to date.

A version never changes. A job's revision names the versions that it follows, so a change of a
calendar is a change of each such job, with all that this promises: it fires no run, no due time
vanishes by it, and the audit knows what was in force when.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Final, Literal, NamedTuple

import asyncpg
import msgspec
import structlog

from matins.domain.calendars.calendar import Calendar
from matins.domain.calendars.closures import compile_calendar
from matins.domain.calendars.outlook import closed_days
from matins.domain.calendars.resolving import resolve
from matins.domain.values.errors import ConflictError, NotFoundError, UnavailableError
from matins.domain.values.names import check_name
from matins.domain.views import (
    CalendarChanged,
    CalendarPage,
    CalendarRecord,
    UnreadableJob,
)
from matins.kernel.metrics import UPKEEP_BROKEN
from matins.store.database import Database
from matins.store.job_rows import as_json, unreadable_job
from matins.store.owners import PostgresOwners
from matins.store.queries import load_queries

YEARS_BACK: Final = 1
YEARS_AHEAD: Final = 10
"""For so many years public holidays and files are worked out."""

PAGE: Final = 100

log = structlog.get_logger()

_Q = load_queries("calendars.sql")


class Followed(NamedTuple):
    """How many jobs followed a calendar, how many of their passed due times were skipped, and which
    jobs could not.
    """

    jobs: int
    skipped: int
    unreadable: list[UnreadableJob]


class PostgresCalendars:
    """The calendars of all teams."""

    def __init__(self, database: Database, owners: PostgresOwners) -> None:
        self._database = database
        self._owners = owners

    async def page(self, team: str, after: str, limit: int) -> CalendarPage:
        """A team's calendars by name, those after `after`."""
        check_name("team", team)
        now = await self._database.clock()
        rows = await self._current(team, after=after, limit=limit)
        found = [_record(row, now) for row in rows]
        return CalendarPage(found, found[-1].calendar.name if len(found) == limit else None)

    async def show(self, team: str, name: str) -> CalendarRecord:
        """One calendar as it is now. Raises NotFoundError."""
        check_name("team", team)
        check_name("name", name)
        rows = await self._current(team, name=name)
        if not rows:
            raise NotFoundError(f"team {team} has no calendar {name!r}")
        return _record(rows[0], await self._database.clock())

    async def put(self, team: str, calendar: Calendar, *, dry_run: bool = False) -> CalendarChanged:
        """Make a calendar or replace it, and let the jobs that follow it follow the new one.

        Raises InvalidInputError. Repeated after a loss, it finishes what was begun.
        """
        check_name("team", team)
        now = await self._database.clock()
        # in a thread: a file of thousands of events takes a moment
        years = now.year - YEARS_BACK, now.year + YEARS_AHEAD
        resolved = await asyncio.to_thread(resolve, calendar, *years)
        await asyncio.to_thread(compile_calendar, resolved)
        change: Literal["created", "changed", "unchanged"] = "created"
        rows = await self._current(team, name=calendar.name)
        if rows:
            is_known = _calendars(rows[0]) == (calendar, resolved)
            change = "unchanged" if is_known else "changed"
        if dry_run:
            return CalendarChanged(calendar, change, rows[0]["jobs"] if rows else 0)
        if change != "unchanged":
            await self._write(team, calendar, resolved)
        followed = await self.follow(team, calendar.name)
        return CalendarChanged(calendar, change, *followed)

    async def delete(self, team: str, name: str) -> CalendarChanged:
        """End a calendar. Raises ConflictError while a job follows it."""
        check_name("team", team)
        check_name("name", name)
        async with self._database.transaction() as session:
            await self._database.run(session, _Q["lock"], team=team)
            rows = await self._current(team, name=name, session=session)
            if not rows:
                raise NotFoundError(f"team {team} has no calendar {name!r}")
            users = await self._database.run(session, _Q["users"], team=team, name=name, limit=6)
            if users:
                named = ", ".join(user["name"] for user in users[:5])
                more = " and more" if len(users) > 5 else ""
                raise ConflictError(f"the calendar {name!r} is followed by {named}{more}")
            await self._database.run(session, _Q["replace"], id=rows[0]["id"])
        return CalendarChanged(msgspec.json.decode(rows[0]["written"], type=Calendar), "deleted")

    async def follow(self, team: str, name: str) -> Followed:
        """Let all active jobs that follow a replaced version follow the current one."""
        jobs = skipped = 0
        unreadable: list[UnreadableJob] = []
        given = {"team": team, "name": name, "limit": PAGE}
        while rows := await self._database.fetch(
            _Q["behind"], besides=[it.id for it in unreadable], **given
        ):
            for row in rows:
                try:
                    changed = await self._owners.keep_to_calendars(team, row["name"])
                except NotFoundError:
                    continue  # deleted meanwhile
                except UnavailableError:
                    raise
                except Exception as error:  # of this one job; the others follow all the same
                    unreadable.append(unreadable_job(row["id"], team, row["name"], error))
                else:
                    jobs, skipped = jobs + 1, skipped + changed.skipped
        return Followed(jobs, skipped, unreadable)

    async def keep_up(self) -> None:
        """Finish what was begun and stopped, and work holidays out for further years."""
        for row in await self._database.fetch(_Q["all_behind"], limit=PAGE):
            await self.follow(row["team"], row["name"])
        for row in await self._database.fetch(_Q["aged"], limit=PAGE):
            await self._resolve_again(row["team"], row["name"])

    async def _resolve_again(self, team: str, name: str) -> None:
        """Work a calendar out anew. One that can't be stays as it is, and stops no other."""
        try:
            for known in await self._current(team, name=name):
                await self.put(team, _calendars(known)[0])
        except UnavailableError:
            raise
        except Exception:  # whatever it is
            UPKEEP_BROKEN.inc()
            log.exception("calendar.unresolved", team=team, calendar=name)
        await self._database.fetch(_Q["resolved"], team=team, name=name)

    async def _write(self, team: str, calendar: Calendar, resolved: Calendar) -> None:
        async with self._database.transaction() as session:
            await self._database.make_team(session, team)
            await self._database.run(session, _Q["lock"], team=team)
            for row in await self._current(team, name=calendar.name, session=session):
                await self._database.run(session, _Q["replace"], id=row["id"])
            texts = {"written": as_json(calendar), "resolved": as_json(resolved)}
            await self._database.run(session, _Q["insert"], team=team, name=calendar.name, **texts)

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
        given: dict[str, object] = {"team": team, "name": name, "after": after, "limit": limit}
        if session is not None:
            return await self._database.run(session, _Q["current"], **given)
        return await self._database.fetch(_Q["current"], **given)


def _calendars(row: asyncpg.Record) -> tuple[Calendar, Calendar]:
    """A calendar as it was written, and as it was resolved."""
    written, resolved = row["written"], row["resolved"]
    return (
        msgspec.json.decode(written, type=Calendar),
        msgspec.json.decode(resolved, type=Calendar),
    )


def _record(row: asyncpg.Record, now: datetime) -> CalendarRecord:
    written, resolved = _calendars(row)
    ahead = closed_days(compile_calendar(resolved), now)
    return CalendarRecord(written, row["id"], row["made_at"], row["jobs"], ahead)
