"""What changes of calendars need of the world. See `domain.ports`."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

import msgspec

from matins.domain.calendars.calendar import Calendar


class StoredCalendar(msgspec.Struct, frozen=True):
    """A calendar as it was written and as it was resolved, and how many jobs keep to it."""

    written: Calendar
    resolved: Calendar
    jobs: int


class CalendarEnd(NamedTuple):
    """A calendar that was deleted, unless jobs keep to it: then it is as it was."""

    calendar: Calendar
    jobs: list[str]


class CalendarName(NamedTuple):
    """A calendar of a team."""

    team: str
    name: str


class CalendarChanges(Protocol):
    """The calendars of all teams. A version never changes; what replaces it is another one."""

    async def now(self) -> datetime:
        """Return the database's clock, read now."""

    async def find_calendar(self, team: str, name: str) -> StoredCalendar | None:
        """Return the current version of a calendar."""

    async def write(self, team: str, calendar: Calendar, resolved: Calendar) -> None:
        """Make a version the current one, and its team on first use.

        Waits for those who take the version before for a job.
        """

    async def delete(self, team: str, name: str, *, jobs_max: int) -> CalendarEnd | None:
        """Delete a calendar, or name up to `jobs_max` jobs that keep to it; None if there is none.

        Waits for those who take it for a job.
        """

    async def jobs_behind(
        self, team: str, name: str, *, besides: Collection[UUID], limit: int
    ) -> list[tuple[UUID, str]]:
        """Id and name of active jobs, besides those, that keep to a replaced version."""

    async def calendars_behind(self, limit: int) -> list[CalendarName]:
        """Calendars of which a replaced version is kept to by an active job."""

    async def outdated_calendars(self, limit: int) -> list[CalendarName]:
        """Calendars whose holidays or files were resolved half a year ago, oldest first."""

    async def mark_resolved(self, team: str, name: str) -> None:
        """Note that a calendar was resolved now, or can't be."""
