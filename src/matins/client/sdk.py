"""The SDK: all that the API offers to owners, as typed methods that answer the domain's values.

async with Matins("http://127.0.0.1:8600", token) as matins:
    await matins.put_job("payments", spec)
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from types import TracebackType
from typing import Self

import msgspec

from matins.client.alert_calls import AlertCalls
from matins.client.backfills import BackfillCalls
from matins.client.calls import ApiCalls
from matins.client.dead import DeadLetterCalls
from matins.client.job_calls import JobCalls
from matins.client.output_calls import OutputCalls
from matins.client.paths import all_of, job_path, one_of, pages_of, query_of
from matins.client.run_calls import RunCalls
from matins.client.selection_calls import SelectionCalls
from matins.domain.calendars.calendar import Calendar
from matins.domain.jobs.keeping import Keep
from matins.domain.jobs.limit_views import LimitChanged, LimitRecord, QuotasChanged, QuotasRecord
from matins.domain.jobs.limits import Limit, Quotas
from matins.domain.jobs.sharing import TeamRecord, TeamShare
from matins.domain.jobs.windows import Window
from matins.domain.runs.cluster import Cluster
from matins.domain.runs.output import TeamOutput
from matins.domain.runs.restores import Resumed, Resumption
from matins.domain.schedules.schedule import Schedule
from matins.domain.status.findings import SystemStatus
from matins.domain.values.errors import UnavailableError
from matins.domain.views import (
    AuditPage,
    CalendarChanged,
    CalendarPage,
    CalendarRecord,
    ExecutorRecord,
    PartitionRecord,
    Preview,
    PreviewRequest,
    SignInLink,
    WindowChanged,
    WindowRecord,
)
from matins.insight.forecast.forecast import Forecast


class Matins(
    JobCalls, SelectionCalls, RunCalls, OutputCalls, BackfillCalls, DeadLetterCalls, AlertCalls
):
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

    @property
    def url(self) -> str:
        """The first address of the API."""
        return self._calls.url

    async def close(self) -> None:
        """Close the connections."""
        await self._calls.close()

    async def is_ready(self) -> bool:
        """Return whether an API is there and can do its work."""
        with suppress(UnavailableError):
            return (await self._calls.exchange("GET", "/ready"))[1] == 200
        return False

    async def put_keep(self, team: str, keep: Keep) -> Keep:
        """Set how long runs are kept of a team's jobs that don't say it themselves."""
        return await self._calls.ask(Keep, "PUT", all_of(team, "keep"), content=keep)

    async def get_keep(self, team: str) -> Keep:
        """Return how long runs are kept of a team's jobs that don't say it themselves."""
        return await self._calls.ask(Keep, "GET", all_of(team, "keep"))

    async def list_teams(self) -> list[TeamRecord]:
        """Return all teams, by name."""
        return await self._calls.ask(list[TeamRecord], "GET", "/v1/teams")

    async def put_team_output(self, team: str, output: TeamOutput) -> TeamOutput:
        """Set what is kept of the output of a team's attempts: of those that begin from now on."""
        return await self._calls.ask(TeamOutput, "PUT", all_of(team, "output"), content=output)

    async def get_team_output(self, team: str) -> TeamOutput:
        """Return what is kept of the output of a team's attempts."""
        return await self._calls.ask(TeamOutput, "GET", all_of(team, "output"))

    async def put_team_share(self, team: str, share: TeamShare) -> TeamShare:
        """Set the weight by which a team's runs share the pools with others'."""
        return await self._calls.ask(TeamShare, "PUT", all_of(team, "share"), content=share)

    async def get_team_share(self, team: str) -> TeamShare:
        """Return how a team's runs share the pools with others'."""
        return await self._calls.ask(TeamShare, "GET", all_of(team, "share"))

    async def put_calendar(
        self, team: str, calendar: Calendar, *, dry_run: bool = False
    ) -> CalendarChanged:
        """Make a calendar or change it; the jobs that follow it keep to the new one."""
        path = one_of(team, "calendars", calendar.name)
        query = query_of(dry_run=dry_run or None)
        return await self._calls.ask(CalendarChanged, "PUT", path, content=calendar, query=query)

    async def get_calendar(self, team: str, name: str) -> CalendarRecord:
        """Return a calendar by its name."""
        return await self._calls.ask(CalendarRecord, "GET", one_of(team, "calendars", name))

    async def list_calendars(self, team: str) -> list[CalendarRecord]:
        """Return all calendars of a team, by name."""
        pages = pages_of(self._calls, CalendarPage, all_of(team, "calendars"))
        return [calendar async for page in pages for calendar in page.calendars]

    async def delete_calendar(self, team: str, name: str) -> CalendarChanged:
        """Delete a calendar. Raises ConflictError while a job follows it."""
        return await self._calls.ask(CalendarChanged, "DELETE", one_of(team, "calendars", name))

    async def put_limit(self, team: str, limit: Limit) -> LimitChanged:
        """Set the limits of a concurrency key, which count instead of what its jobs say."""
        path = one_of(team, "limits", limit.key)
        return await self._calls.ask(LimitChanged, "PUT", path, content=limit)

    async def get_limit(self, team: str, key: str) -> LimitRecord:
        """Return a concurrency key with what is taken of its limits."""
        return await self._calls.ask(LimitRecord, "GET", one_of(team, "limits", key))

    async def list_limits(self, team: str) -> list[LimitRecord]:
        """Return a team's concurrency keys and the limits of its jobs, beside what is taken."""
        return await self._calls.ask(list[LimitRecord], "GET", all_of(team, "limits"))

    async def delete_limit(self, team: str, key: str) -> LimitChanged:
        """Let the limits count that the jobs of a key say themselves."""
        return await self._calls.ask(LimitChanged, "DELETE", one_of(team, "limits", key))

    async def get_quotas(self, team: str) -> QuotasRecord:
        """Return a team's quotas beside their use."""
        return await self._calls.ask(QuotasRecord, "GET", all_of(team, "quotas"))

    async def put_quotas(self, team: str, quotas: Quotas) -> QuotasChanged:
        """Set all quotas of a team; what is left out is by the operator's default."""
        return await self._calls.ask(QuotasChanged, "PUT", all_of(team, "quotas"), content=quotas)

    async def put_window(self, team: str, window: Window) -> WindowChanged:
        """Make a maintenance window or change it; it holds from when this returns."""
        path = one_of(team, "windows", window.name)
        return await self._calls.ask(WindowChanged, "PUT", path, content=window)

    async def get_window(self, team: str, name: str) -> WindowRecord:
        """Return a maintenance window by its name."""
        return await self._calls.ask(WindowRecord, "GET", one_of(team, "windows", name))

    async def list_windows(self, team: str) -> list[WindowRecord]:
        """Return a team's maintenance windows by their begin, with those that were over lately."""
        return await self._calls.ask(list[WindowRecord], "GET", all_of(team, "windows"))

    async def delete_window(self, team: str, name: str) -> WindowChanged:
        """Delete a maintenance window; what it held runs now."""
        return await self._calls.ask(WindowChanged, "DELETE", one_of(team, "windows", name))

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
        query = query_of(team=team, job=job, since=since, until=until)
        page = await self._calls.ask(AuditPage, "GET", "/v1/audit", query=query)
        first, audits = page, list(page.jobs)
        while page.next is not None:
            # The same window for every page, whatever the clock says meanwhile.
            query |= query_of(since=first.since, until=first.until, after=page.next)
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
        query = query_of(count=count, after=after)
        return await self._calls.ask(Preview, "GET", job_path(team, name) + "/preview", query=query)

    async def forecast(
        self, *, team: str | None = None, pool: str | None = None, hours: int = 24
    ) -> Forecast:
        """Return how many fires the coming hours hold: all, a team's or a pool's."""
        query = query_of(team=team, pool=pool, hours=hours)
        return await self._calls.ask(Forecast, "GET", "/v1/forecast", query=query)

    async def list_executors(self) -> list[ExecutorRecord]:
        """Return all executors alive, and those that ended within a day."""
        return await self._calls.ask(list[ExecutorRecord], "GET", "/v1/executors")

    async def get_status(self) -> SystemStatus:
        """Return what is wrong with the whole system, as the API that answers judges it."""
        return await self._calls.ask(SystemStatus, "GET", "/v1/status")

    async def make_sign_in_link(self) -> SignInLink:
        """Make a link that signs a browser in to the web page, once, as whose token this is."""
        return await self._calls.ask(SignInLink, "POST", "/v1/sign-in-links")

    async def get_cluster(self) -> Cluster:
        """Return all schedulers, and the partitions that none of them holds."""
        return await self._calls.ask(Cluster, "GET", "/v1/cluster")

    async def resume_after_restore(
        self, resumption: Resumption, *, dry_run: bool = False
    ) -> Resumed:
        """Decide about the due times that may have run before the database was restored."""
        path, query = "/v1/restores/resume", query_of(dry_run=dry_run or None)
        return await self._calls.ask(Resumed, "POST", path, content=resumption, query=query)

    async def list_partitions(self) -> list[PartitionRecord]:
        """Return all partitions with their holders and watermarks."""
        return await self._calls.ask(list[PartitionRecord], "GET", "/v1/partitions")
