"""The SDK: all that the API offers to owners, as typed methods that answer the domain's values.

async with Matins("http://127.0.0.1:8600", token) as matins:
    await matins.put_job("payments", spec)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Self, TypeVar
from uuid import UUID

import msgspec

from matins.client.calls import ApiCalls
from matins.client.divided import as_of_all, parts
from matins.domain.calendars.calendar import Calendar
from matins.domain.executors.protocol import RunStatus
from matins.domain.jobs.keeping import Keep
from matins.domain.jobs.misfire import Missed
from matins.domain.jobs.spec import Job, JobList, JobSpec
from matins.domain.jobs.windows import Window
from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Override, Schedule
from matins.domain.values.errors import InvalidInputError, UnavailableError
from matins.domain.values.names import check_name
from matins.domain.views import (
    AttemptRecord,
    AuditPage,
    CalendarChanged,
    CalendarPage,
    CalendarRecord,
    Changed,
    ExecutorRecord,
    JobPage,
    PartitionRecord,
    Preview,
    PreviewRequest,
    Resume,
    RunPage,
    WindowChanged,
    WindowRecord,
)
from matins.insight.forecast.forecast import Forecast

Page = TypeVar("Page", JobPage, CalendarPage)

PAGE = 1000
"""How many entries are asked for at once where all are wanted."""


class Matins:
    """A client of the API; an async context manager.

    Every method raises the errors of `matins.domain.values.errors`: InvalidInputError with the
    places of what is wrong, NotFoundError, ConflictError, UnauthorizedError; UnreachableError when
    no API is there, and UnavailableError when the answer was lost, so that the outcome is unknown.
    """

    def __init__(self, url: str, token: str) -> None:
        """`url`: one address of the API, or several of them separated by commas."""
        self._calls = ApiCalls(url, token)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._calls.close()

    async def is_ready(self) -> bool:
        """Return whether an API is there and can do its work."""
        try:
            _, status, _ = await self._calls.exchange("GET", "/ready")
        except UnavailableError:
            return False
        return status == 200

    async def create_job(self, team: str, spec: JobSpec) -> Changed:
        """Make a job. Raises ConflictError when the name is taken."""
        return await self._calls.ask(Changed, "POST", _jobs(team), content=spec)

    async def put_job(self, team: str, spec: JobSpec, *, dry_run: bool = False) -> Changed:
        """Make a job or change it; the same spec again changes nothing. A dry run only tells."""
        query = {"dry_run": "true"} if dry_run else None
        return await self._calls.ask(
            Changed, "PUT", _job(team, spec.name), content=spec, query=query
        )

    async def put_jobs(
        self, team: str, specs: Sequence[JobSpec], *, dry_run: bool = False
    ) -> list[Changed]:
        """Make or change jobs, up to 1000 by one request; answers in their order.

        Each is changed by itself: where this raises UnavailableError, some may be. Repeat it.
        """
        query = {"dry_run": "true"} if dry_run else None
        answers: list[Changed] = []
        for part in parts(specs):
            put = self._calls.ask(
                list[Changed], "PUT", _jobs(team), content=JobList(part), query=query
            )
            try:
                answers += await put
            except InvalidInputError as error:
                raise as_of_all(error, len(answers)) from error
        return answers

    async def job(self, team: str, name: str) -> Job:
        """Return a job by its name."""
        return await self._calls.ask(Job, "GET", _job(team, name))

    async def jobs(self, team: str, *, after: str = "", limit: int = 100) -> JobPage:
        """Return a page of a team's jobs, by name."""
        query = _query(after=after or None, limit=limit)
        return await self._calls.ask(JobPage, "GET", _jobs(team), query=query)

    async def all_jobs(self, team: str | None = None) -> list[Job]:
        """Return the readable jobs of a team by name, or of all teams, by team and name."""
        return (await self.whole_list(team)).jobs

    async def whole_list(self, team: str | None = None) -> JobPage:
        """Return all jobs of a team, or of all teams, as one page, with the unreadable ones."""
        path = "/v1/jobs" if team is None else _jobs(team)
        pages = [page async for page in self._pages(JobPage, path)]
        jobs = [job for page in pages for job in page.jobs]
        jobs.sort(key=lambda job: (job.team, job.spec.name))
        return JobPage(jobs, unreadable=[job for page in pages for job in page.unreadable])

    async def pause_job(self, team: str, name: str) -> Changed:
        """Let none of a job's due times be claimed until it is resumed."""
        return await self._calls.ask(Changed, "POST", _job(team, name) + "/pause")

    async def resume_job(self, team: str, name: str, missed: Missed = "skip") -> Changed:
        """Let a paused job go on: `skip` what it missed, run the `last` of it, or `all`."""
        return await self._calls.ask(
            Changed, "POST", _job(team, name) + "/resume", content=Resume(missed)
        )

    async def delete_job(self, team: str, name: str) -> Changed:
        """Delete a job; its runs stay listed, and its name is free again."""
        return await self._calls.ask(Changed, "DELETE", _job(team, name))

    async def trigger_job(self, team: str, name: str) -> RunStatus:
        """Run a job now, whatever its schedule says; a paused one too."""
        return await self._calls.ask(RunStatus, "POST", _job(team, name) + "/trigger")

    async def override(self, team: str, name: str, override: Override) -> Changed:
        """Skip one occurrence of a job, or move it."""
        path = _job(team, name) + "/overrides"
        return await self._calls.ask(Changed, "PUT", path, content=override)

    async def restore(self, team: str, name: str, due_at: datetime) -> Changed:
        """Undo an override."""
        instant = due_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return await self._calls.ask(Changed, "DELETE", f"{_job(team, name)}/overrides/{instant}")

    async def put_keep(self, team: str, keep: Keep) -> Keep:
        """Return how long runs are kept of a team's jobs that don't say it themselves."""
        return await self._calls.ask(Keep, "PUT", _all_of(team, "keep"), content=keep)

    async def keep(self, team: str) -> Keep:
        """Return how long runs are kept of a team's jobs that don't say it themselves."""
        return await self._calls.ask(Keep, "GET", _all_of(team, "keep"))

    async def put_calendar(
        self, team: str, calendar: Calendar, *, dry_run: bool = False
    ) -> CalendarChanged:
        """Make a calendar or change it; the jobs that follow it keep to the new one."""
        path = _calendar(team, calendar.name)
        query = {"dry_run": "true"} if dry_run else None
        return await self._calls.ask(CalendarChanged, "PUT", path, content=calendar, query=query)

    async def calendar(self, team: str, name: str) -> CalendarRecord:
        """Return a calendar by its name."""
        return await self._calls.ask(CalendarRecord, "GET", _calendar(team, name))

    async def calendars(self, team: str) -> list[CalendarRecord]:
        """Return all calendars of a team, by name."""
        pages = self._pages(CalendarPage, _all_of(team, "calendars"))
        return [calendar async for page in pages for calendar in page.calendars]

    async def delete_calendar(self, team: str, name: str) -> CalendarChanged:
        """Delete a calendar. Raises ConflictError while a job follows it."""
        return await self._calls.ask(CalendarChanged, "DELETE", _calendar(team, name))

    async def put_window(self, team: str, window: Window) -> WindowChanged:
        """Make a maintenance window or change it; it holds from when this returns."""
        path = _window(team, window.name)
        return await self._calls.ask(WindowChanged, "PUT", path, content=window)

    async def window(self, team: str, name: str) -> WindowRecord:
        """Return a maintenance window by its name."""
        return await self._calls.ask(WindowRecord, "GET", _window(team, name))

    async def windows(self, team: str) -> list[WindowRecord]:
        """Return a team's maintenance windows by their begin, with those that were over lately."""
        return await self._calls.ask(list[WindowRecord], "GET", _all_of(team, "windows"))

    async def delete_window(self, team: str, name: str) -> WindowChanged:
        """Delete a maintenance window; what it held runs now."""
        return await self._calls.ask(WindowChanged, "DELETE", _window(team, name))

    async def runs(
        self,
        *,
        team: str | None = None,
        state: RunState | None = None,
        since: datetime | None = None,
        before: UUID | None = None,
        limit: int = 100,
    ) -> RunPage:
        """Return a page of runs, newest due time first, of a team's jobs or of all."""
        query = _query(team=team, state=state, since=since, before=before, limit=limit)
        return await self._calls.ask(RunPage, "GET", "/v1/runs", query=query)

    async def runs_of_job(
        self, team: str, name: str, *, before: UUID | None = None, limit: int = 100
    ) -> RunPage:
        """Return a page of a job's runs, newest due time first."""
        query = _query(before=before, limit=limit)
        return await self._calls.ask(RunPage, "GET", _job(team, name) + "/runs", query=query)

    async def run(self, run_id: UUID) -> RunStatus:
        """Return how a run stands. Cheap: poll it as often as you like."""
        return await self._calls.ask(RunStatus, "GET", f"/v1/runs/{run_id}")

    async def attempts(self, run_id: UUID) -> list[AttemptRecord]:
        """Return a run's attempts, first to last, with what they wrote."""
        return await self._calls.ask(list[AttemptRecord], "GET", f"/v1/runs/{run_id}/attempts")

    async def cancel_run(self, run_id: UUID) -> RunStatus:
        """End a run: at once while it waits, within a heartbeat of its executor while it runs."""
        return await self._calls.ask(RunStatus, "POST", f"/v1/runs/{run_id}/cancel")

    async def audit(
        self,
        *,
        team: str | None = None,
        job: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> AuditPage:
        """Compare the due times of jobs, computed anew, with the rows: all pages in one.

        The jobs come by team and name.
        """
        query = _query(team=team, job=job, since=since, until=until)
        page = await self._calls.ask(AuditPage, "GET", "/v1/audit", query=query)
        first, audits = page, list(page.jobs)
        while page.next is not None:
            # The same window for every page, whatever the clock says meanwhile.
            query |= _query(since=first.since, until=first.until, after=page.next)
            page = await self._calls.ask(AuditPage, "GET", "/v1/audit", query=query)
            audits += page.jobs
        audits.sort(key=lambda audit: (audit.team, audit.job))
        return msgspec.structs.replace(first, jobs=audits, next=None)

    async def preview(
        self,
        schedule: Schedule,
        *,
        count: int = 10,
        after: datetime | None = None,
        team: str | None = None,
        job: str | None = None,
    ) -> Preview:
        """Return the next due times of a schedule, without making a job."""
        request = PreviewRequest(schedule, count, after, team, job)
        return await self._calls.ask(Preview, "POST", "/v1/preview", content=request)

    async def preview_job(
        self, team: str, name: str, *, count: int = 10, after: datetime | None = None
    ) -> Preview:
        """Return a job's next due times, with its calendars and overrides."""
        query = _query(count=count, after=after)
        return await self._calls.ask(Preview, "GET", _job(team, name) + "/preview", query=query)

    async def forecast(
        self, *, team: str | None = None, pool: str | None = None, hours: int = 24
    ) -> Forecast:
        """Return how many fires the coming hours hold: all, a team's or a pool's."""
        query = _query(team=team, pool=pool, hours=hours)
        return await self._calls.ask(Forecast, "GET", "/v1/forecast", query=query)

    async def executors(self) -> list[ExecutorRecord]:
        """Return all executors alive, and those that ended within a day."""
        return await self._calls.ask(list[ExecutorRecord], "GET", "/v1/executors")

    async def partitions(self) -> list[PartitionRecord]:
        """Return all partitions with their holders and watermarks."""
        return await self._calls.ask(list[PartitionRecord], "GET", "/v1/partitions")

    async def _pages(self, kind: type[Page], path: str) -> AsyncIterator[Page]:
        after: str | None = None
        while True:
            query = _query(after=after, limit=PAGE)
            page = await self._calls.ask(kind, "GET", path, query=query)
            yield page
            after = page.next
            if after is None:
                return


def _jobs(team: str) -> str:
    return _all_of(team, "jobs")


def _job(team: str, name: str) -> str:
    return _one_of(team, "jobs", name)


def _calendar(team: str, name: str) -> str:
    return _one_of(team, "calendars", name)


def _window(team: str, name: str) -> str:
    return _one_of(team, "windows", name)


def _all_of(team: str, kind: str) -> str:
    """Return the path of all that a team has; a name has no characters that would need encoding."""
    check_name("team", team)
    return f"/v1/teams/{team}/{kind}"


def _one_of(team: str, kind: str, name: str) -> str:
    check_name("name", name)
    return f"{_all_of(team, kind)}/{name}"


def _query(**parameters: str | int | UUID | datetime | None) -> dict[str, str]:
    """Return the parameters that are given, as they are written in a query."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else str(value)
        for name, value in parameters.items()
        if value is not None
    }
