"""Calendars of teams in memory. See `domain.ports.calendars`."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from matins.domain.calendars.calendar import Calendar
from matins.domain.calendars.compiled import compile_calendar
from matins.domain.jobs.spec import JobState
from matins.domain.ports.calendars import CalendarEnd, CalendarName, StoredCalendar
from matins.testing.memory.changes import LOCK_S
from matins.testing.memory.rows import CalendarRow
from matins.testing.memory.world import JobRow, World

_OLD = timedelta(days=180)


class MemoryCalendars:
    """See `domain.ports.calendars.CalendarChanges`."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def now(self) -> datetime:
        """See `domain.ports.calendars.CalendarChanges`."""
        return self._world.now()

    async def find_calendar(self, team: str, name: str) -> StoredCalendar | None:
        """See `domain.ports.calendars.CalendarChanges`."""
        row = self._world.find_calendar(team, name)
        if row is None:
            return None
        return StoredCalendar(row.written, row.resolved, len(self._users(team, name)))

    async def write(self, team: str, calendar: Calendar, resolved: Calendar) -> None:
        """See `domain.ports.calendars.CalendarChanges`."""
        world = self._world
        await world.locks.free([("calendars", team)], LOCK_S)
        now, known = world.now(), world.find_calendar(team, calendar.name)
        if known is not None:
            known.replaced_at = now
        number = len(world.calendars) + 1
        closures = compile_calendar(resolved)
        row = CalendarRow(number, team, calendar, resolved, closures, resolved_at=now)
        world.calendars[number] = row

    async def delete(self, team: str, name: str, *, jobs_max: int) -> CalendarEnd | None:
        """See `domain.ports.calendars.CalendarChanges`."""
        await self._world.locks.free([("calendars", team)], LOCK_S)
        row = self._world.find_calendar(team, name)
        if row is None:
            return None
        users = sorted(job.spec.name for job in self._users(team, name))[:jobs_max]
        if not users:
            row.replaced_at = self._world.now()
        return CalendarEnd(row.written, users)

    async def jobs_behind(
        self, team: str, name: str, *, besides: Collection[UUID], limit: int
    ) -> list[tuple[UUID, str]]:
        """See `domain.ports.calendars.CalendarChanges`."""
        behind = {
            version.id for version in self._versions(team, name) if version.replaced_at is not None
        }
        jobs = [
            (job.id, job.spec.name)
            for job in self._active()
            if behind.intersection(job.calendars) and job.id not in besides
        ]
        return sorted(jobs)[:limit]

    async def calendars_behind(self, limit: int) -> list[CalendarName]:
        """See `domain.ports.calendars.CalendarChanges`."""
        used = {version for job in self._active() for version in job.calendars}
        rows = [row for row in self._world.calendars.values() if row.replaced_at is not None]
        names = {CalendarName(row.team, row.written.name) for row in rows if row.id in used}
        return sorted(names)[:limit]

    async def outdated_calendars(self, limit: int) -> list[CalendarName]:
        """See `domain.ports.calendars.CalendarChanges`."""
        before = self._world.now() - _OLD
        rows = [
            row
            for row in self._world.calendars.values()
            if row.replaced_at is None and row.written != row.resolved and row.resolved_at < before
        ]
        rows.sort(key=lambda row: row.resolved_at)
        return [CalendarName(row.team, row.written.name) for row in rows[:limit]]

    async def mark_resolved(self, team: str, name: str) -> None:
        """See `domain.ports.calendars.CalendarChanges`."""
        if row := self._world.find_calendar(team, name):
            row.resolved_at = self._world.now()

    def _versions(self, team: str, name: str) -> list[CalendarRow]:
        rows = self._world.calendars.values()
        return [row for row in rows if (row.team, row.written.name) == (team, name)]

    def _users(self, team: str, name: str) -> list[JobRow]:
        versions = {row.id for row in self._versions(team, name)}
        jobs = [job for job in self._world.jobs.values() if job.state is not JobState.DELETED]
        return [job for job in jobs if versions.intersection(job.calendars)]

    def _active(self) -> list[JobRow]:
        return [job for job in self._world.jobs.values() if job.state is JobState.ACTIVE]
