"""What owners do to calendars, and keeping the jobs that follow one up to date.

A job's revision names the versions that it keeps to, so a change of a calendar is a change of each
such job, with all that this promises: it fires no run, no due time vanishes by it, and the audit
knows what was in force when.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, NamedTuple

import structlog

from matins.domain.calendars.calendar import Calendar
from matins.domain.calendars.compiled import compile_calendar
from matins.domain.calendars.resolving import resolve
from matins.domain.ports.calendars import CalendarChanges
from matins.domain.values.errors import ConflictError, NotFoundError, UnavailableError
from matins.domain.values.names import check_name
from matins.domain.views import CalendarChanged, Changed, UnreadableJob
from matins.kernel.metrics import JOBS_UNREADABLE, UPKEEP_BROKEN

YEARS_BACK: Final = 1
YEARS_AHEAD: Final = 10
"""For so many years public holidays and files are worked out."""

PAGE: Final = 100
"""The most jobs or calendars that are looked at by one statement."""

JOBS_NAMED: Final = 5
"""The most jobs that are named when a calendar can't be deleted because of them."""

log = structlog.get_logger()

InThread = Callable[..., Awaitable[Any]]
"""Calls a function where it holds up nobody, as `asyncio.to_thread` does."""


class Synced(NamedTuple):
    """How many jobs took a calendar's current version, how many of their passed due times were
    skipped, and which jobs could not.
    """

    jobs: int
    skipped: int
    unreadable: list[UnreadableJob]


class Calendars:
    """Puts and deletes calendars of teams."""

    def __init__(
        self,
        changes: CalendarChanges,
        sync_job: Callable[[str, str], Awaitable[Changed]],
        in_thread: InThread,
    ) -> None:
        """`sync_job` lets the job of a team take the current versions of its calendars."""
        self._changes = changes
        self._sync_job = sync_job
        self._in_thread = in_thread

    async def put(self, team: str, calendar: Calendar, *, dry_run: bool = False) -> CalendarChanged:
        """Make a calendar or replace it, and let the jobs that keep to it take the new version.

        Raises InvalidInputError. Repeated after a loss, it finishes what was begun.
        """
        check_name("team", team)
        now = await self._changes.now()
        # a file of thousands of events takes a moment
        resolved = await self._in_thread(_resolve, calendar, now.year)
        current = await self._changes.find_calendar(team, calendar.name)
        change: Literal["created", "changed", "unchanged"] = "created"
        if current is not None:
            is_same = (current.written, current.resolved) == (calendar, resolved)
            change = "unchanged" if is_same else "changed"
        if dry_run:
            return CalendarChanged(calendar, change, current.jobs if current else 0)
        if change != "unchanged":
            await self._changes.write(team, calendar, resolved)
        return CalendarChanged(calendar, change, *await self._sync(team, calendar.name))

    async def delete(self, team: str, name: str) -> CalendarChanged:
        """End a calendar. Raises NotFoundError, ConflictError while a job keeps to it."""
        check_name("team", team)
        check_name("name", name)
        end = await self._changes.delete(team, name, jobs_max=JOBS_NAMED + 1)
        if end is None:
            raise NotFoundError(f"team {team} has no calendar {name!r}")
        if end.jobs:
            named = ", ".join(end.jobs[:JOBS_NAMED])
            more = " and more" if len(end.jobs) > JOBS_NAMED else ""
            raise ConflictError(f"the calendar {name!r} is followed by {named}{more}")
        return CalendarChanged(end.calendar, "deleted")

    async def keep_up(self) -> None:
        """Finish what was begun and stopped, and work holidays out for further years."""
        for team, name in await self._changes.calendars_behind(PAGE):
            await self._sync(team, name)
        for team, name in await self._changes.outdated_calendars(PAGE):
            await self._resolve_again(team, name)

    async def _sync(self, team: str, name: str) -> Synced:
        """Let all active jobs that keep to a replaced version take the current one."""
        jobs = skipped = 0
        unreadable: list[UnreadableJob] = []
        while behind := await self._changes.jobs_behind(
            team, name, besides=[job.id for job in unreadable], limit=PAGE
        ):
            for job_id, job_name in behind:
                try:
                    changed = await self._sync_job(team, job_name)
                except NotFoundError:
                    continue  # deleted meanwhile
                except UnavailableError:
                    raise
                except Exception as error:  # of this one job; the others take it all the same
                    unreadable.append(UnreadableJob.because(job_id, team, job_name, error))
                    _tell_unreadable(unreadable[-1])
                else:
                    jobs, skipped = jobs + 1, skipped + changed.skipped
        return Synced(jobs, skipped, unreadable)

    async def _resolve_again(self, team: str, name: str) -> None:
        """Work a calendar out anew. One that can't be stays as it is, and stops no other."""
        try:
            current = await self._changes.find_calendar(team, name)
            if current is not None:
                await self.put(team, current.written)
        except UnavailableError:
            raise
        except Exception:  # whatever it is
            UPKEEP_BROKEN.inc()
            log.exception("calendar.unresolved", team=team, calendar=name)
        await self._changes.mark_resolved(team, name)


def _tell_unreadable(job: UnreadableJob) -> None:
    JOBS_UNREADABLE.inc()
    log.error("job.unreadable", job=str(job.id), team=job.team, name=job.name, error=job.fault)


def _resolve(calendar: Calendar, year: int) -> Calendar:
    """Work a calendar out for the years around one. Raises InvalidInputError."""
    resolved = resolve(calendar, year - YEARS_BACK, year + YEARS_AHEAD)
    compile_calendar(resolved)
    return resolved
