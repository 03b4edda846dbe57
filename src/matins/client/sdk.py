"""The SDK: everything that owners can ask of the API, typed, for asyncio programs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar
from uuid import UUID

import aiohttp
import msgspec

from matins.client.refusals import UnreachableError, refusal
from matins.domain.answers import (
    AttemptRecord,
    AuditPage,
    Changed,
    ExecutorRecord,
    JobAudit,
    JobPage,
    Missed,
    PartitionRecord,
    Preview,
    PreviewRequest,
    Resume,
    Run,
    RunPage,
)
from matins.domain.handouts import RunStatus
from matins.domain.jobs import Job, JobSpec, check_name
from matins.domain.runs import RunState
from matins.domain.schedules.schedule import Schedule

CALL_S = 60.0
"""The longest that a call may take."""

CONNECT_S = 5.0

T = TypeVar("T")
_Word = str | int | UUID | datetime | None


class Matins:
    """A connection to the API: `async with Matins(url, token) as matins: ...`.

    What the server refuses is raised as the MatinsError of its kind, with the server's words;
    UnreachableError when there is no answer, and then nobody knows whether the call was carried
    out. Changes of jobs can be repeated safely; `trigger` makes one more run each time.
    """

    def __init__(self, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {self._token}"},
            timeout=aiohttp.ClientTimeout(total=CALL_S, sock_connect=CONNECT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session:
            await self._session.close()
            self._session = None

    async def is_ready(self) -> bool:
        """Whether the API is there, and can read and write its database."""
        try:
            status, _ = await self._exchange("GET", "/ready", {}, None)
        except UnreachableError:
            return False
        return status == 200

    async def create(self, team: str, spec: JobSpec) -> Changed:
        """Make a job. Raises ConflictError when the team has one of that name."""
        return await self._call("POST", _jobs(team), Changed, body=spec)

    async def put(self, team: str, spec: JobSpec, *, dry_run: bool = False) -> Changed:
        """Make a job or replace it; an equal one is left as it is."""
        query = {"dry_run": "true"} if dry_run else {}
        return await self._call("PUT", _job(team, spec.name), Changed, query=query, body=spec)

    async def job(self, team: str, name: str) -> Job:
        """A job. Raises NotFoundError."""
        return await self._call("GET", _job(team, name), Job)

    async def jobs(self, team: str) -> list[Job]:
        """All jobs of a team, by name."""
        return await self._all_jobs(_jobs(team))

    async def all_jobs(self) -> list[Job]:
        """The jobs of all teams."""
        return await self._all_jobs("/v1/jobs")

    async def pause(self, team: str, name: str) -> Changed:
        """Pause a job: nothing of it is claimed until it is resumed."""
        return await self._call("POST", f"{_job(team, name)}/pause", Changed)

    async def resume(self, team: str, name: str, missed: Missed = "skip") -> Changed:
        """Resume a job; what was due meanwhile is skipped, or the last or all of it is run now."""
        return await self._call("POST", f"{_job(team, name)}/resume", Changed, body=Resume(missed))

    async def delete(self, team: str, name: str) -> Changed:
        """Delete a job. Its history stays, and its name is free again."""
        return await self._call("DELETE", _job(team, name), Changed)

    async def trigger(self, team: str, name: str) -> RunStatus:
        """Run a job now, a paused one too."""
        return await self._call("POST", f"{_job(team, name)}/trigger", RunStatus)

    async def runs_of_job(
        self, team: str, name: str, *, before: UUID | None = None, limit: int = 100
    ) -> RunPage:
        """A page of a job's runs, newest due time first."""
        query = {"before": before, "limit": limit}
        return await self._call("GET", f"{_job(team, name)}/runs", RunPage, query=query)

    async def runs(
        self,
        *,
        team: str | None = None,
        state: RunState | None = None,
        since: datetime | None = None,
        before: UUID | None = None,
        limit: int = 100,
    ) -> RunPage:
        """A page of runs of all jobs or of a team's, newest due time first."""
        query = {"team": team, "state": state, "since": since, "before": before, "limit": limit}
        return await self._call("GET", "/v1/runs", RunPage, query=query)

    async def status(self, run_id: UUID) -> RunStatus:
        """How a run stands. Cheap: made to be polled."""
        return await self._call("GET", f"/v1/runs/{run_id}", RunStatus)

    async def attempts(self, run_id: UUID) -> list[AttemptRecord]:
        """A run's attempts, with what they wrote."""
        return await self._call("GET", f"/v1/runs/{run_id}/attempts", list[AttemptRecord])

    async def cancel(self, run_id: UUID) -> RunStatus:
        """Cancel a run: at once if it waits, within a beat if it is running."""
        return await self._call("POST", f"/v1/runs/{run_id}/cancel", RunStatus)

    async def preview(
        self, schedule: Schedule, count: int = 10, after: datetime | None = None
    ) -> Preview:
        """When a schedule would be due next."""
        request = PreviewRequest(schedule, count, after)
        return await self._call("POST", "/v1/preview", Preview, body=request)

    async def audit(
        self,
        *,
        team: str | None = None,
        job: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> AsyncIterator[JobAudit]:
        """Audit all jobs of a window, by default the last day: one finding after the other.

        The window is fixed by the first page, so that all jobs are seen in the same one.
        """
        query: dict[str, _Word] = {"team": team, "job": job, "since": since, "until": until}
        while True:
            page = await self._call("GET", "/v1/audit", AuditPage, query=query)
            for finding in page.jobs:
                yield finding
            if page.next is None:
                return
            query |= {"since": page.since, "until": page.until, "after": page.next}

    async def executors(self) -> list[ExecutorRecord]:
        """Executors alive, and those that ended within a day."""
        return await self._call("GET", "/v1/executors", list[ExecutorRecord])

    async def partitions(self) -> list[PartitionRecord]:
        """Partitions with their holders and watermarks."""
        return await self._call("GET", "/v1/partitions", list[PartitionRecord])

    async def find_runs(
        self, team: str | None, job: str | None, state: RunState | None, limit: int
    ) -> list[Run]:
        """The newest runs: of one job if team and job are given, else of a team or of all."""
        if team is not None and job is not None:
            page = await self.runs_of_job(team, job, limit=limit)
            return [run for run in page.runs if state in (None, run.state)]
        return (await self.runs(team=team, state=state, limit=limit)).runs

    async def _all_jobs(self, path: str) -> list[Job]:
        jobs: list[Job] = []
        after: str | None = None
        while True:
            page = await self._call("GET", path, JobPage, query={"after": after, "limit": 1000})
            jobs += page.jobs
            after = page.next
            if after is None:
                return jobs

    async def _call(
        self,
        method: str,
        path: str,
        kind: type[T],
        *,
        query: Mapping[str, _Word] | None = None,
        body: msgspec.Struct | None = None,
    ) -> T:
        status, told = await self._exchange(method, path, query or {}, body)
        if status >= 300:
            raise refusal(status, told, f"{method} {self.url}{path}")
        try:
            return msgspec.json.decode(told, type=kind)
        except msgspec.DecodeError as error:
            raise UnreachableError(
                f"{self.url}{path} gave an answer that is not Matins's: {error}"
            ) from error

    async def _exchange(
        self, method: str, path: str, query: Mapping[str, _Word], body: msgspec.Struct | None
    ) -> tuple[int, bytes]:
        assert self._session, "enter it first: async with Matins(...) as matins"
        given = {name: _word(value) for name, value in query.items() if value is not None}
        data = None if body is None else msgspec.json.encode(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            async with self._session.request(
                method,
                self.url + path,
                params=given,
                data=data,
                headers=headers,
                allow_redirects=False,
            ) as response:
                return response.status, await response.read()
        except (aiohttp.ClientError, aiohttp.InvalidURL, OSError, TimeoutError) as error:
            told = str(error) or type(error).__name__
            raise UnreachableError(f"the API at {self.url} can't be reached: {told}") from error


def _job(team: str, name: str) -> str:
    return f"{_jobs(team)}/{_part('name', name)}"


def _jobs(team: str) -> str:
    return f"/v1/teams/{_part('team', team)}/jobs"


def _part(where: str, name: str) -> str:
    """A name, safe in an address. Raises InvalidInputError for what can't be one, such as `..`."""
    check_name(where, name)
    return name


def _word(value: str | int | UUID | datetime) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
