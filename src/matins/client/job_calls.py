"""The SDK's methods for jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from matins.client.calls import ApiCalls
from matins.client.divided import as_of_all, parts
from matins.client.paths import all_of, job_path, pages_of, query_of
from matins.client.selection_calls import NO_LABELS
from matins.domain.executors.protocol import RunStatus
from matins.domain.jobs.misfire import Missed
from matins.domain.jobs.pausing import NO_END, Pause
from matins.domain.jobs.selecting import Relabel
from matins.domain.jobs.spec import Job, JobList, JobSpec
from matins.domain.runs.inputs import NO_INPUT, RunInput, key_problems
from matins.domain.schedules.schedule import Override
from matins.domain.values.errors import InvalidInputError, check
from matins.domain.views import (
    Changed,
    JobPage,
    Resume,
    RevisionPage,
    RevisionRecord,
    Rollback,
    Trigger,
)
from matins.insight.why.explanation import Explanation


class JobCalls:
    """Makes, changes, looks at and triggers jobs. Part of `Matins`."""

    _calls: ApiCalls

    async def create_job(self, team: str, spec: JobSpec, *, reason: str = "") -> Changed:
        """Make a job. Raises ConflictError when the name is taken."""
        query = query_of(reason=reason or None)
        return await self._calls.ask(
            Changed, "POST", all_of(team, "jobs"), content=spec, query=query
        )

    async def put_job(
        self, team: str, spec: JobSpec, *, dry_run: bool = False, reason: str = ""
    ) -> Changed:
        """Make a job or change it; the same spec again changes nothing. A dry run only tells."""
        query = query_of(dry_run=dry_run or None, reason=reason or None)
        return await self._calls.ask(
            Changed, "PUT", job_path(team, spec.name), content=spec, query=query
        )

    async def put_jobs(
        self, team: str, specs: Sequence[JobSpec], *, dry_run: bool = False, reason: str = ""
    ) -> list[Changed]:
        """Make or change jobs, up to 1000 by one request; answers in their order.

        Each is changed by itself: where this raises UnavailableError, some may be. Repeat it.
        """
        query = query_of(dry_run=dry_run or None, reason=reason or None)
        answers: list[Changed] = []
        for part in parts(specs):
            put = self._calls.ask(
                list[Changed], "PUT", all_of(team, "jobs"), content=JobList(part), query=query
            )
            try:
                answers += await put
            except InvalidInputError as error:
                raise as_of_all(error, len(answers)) from error
        return answers

    async def get_job(self, team: str, name: str) -> Job:
        """Return a job by its name."""
        return await self._calls.ask(Job, "GET", job_path(team, name))

    async def jobs_page(
        self, team: str, *, after: str = "", limit: int = 100, recent: int = 0
    ) -> JobPage:
        """Return a page of a team's jobs, by name; with `recent` last runs of each."""
        query = query_of(after=after or None, limit=limit, recent=recent or None)
        return await self._calls.ask(JobPage, "GET", all_of(team, "jobs"), query=query)

    async def list_jobs(self, team: str | None = None) -> list[Job]:
        """Return the readable jobs of a team by name, or of all teams, by team and name."""
        return (await self.whole_jobs_page(team)).jobs

    async def whole_jobs_page(self, team: str | None = None, *, recent: int = 0) -> JobPage:
        """Return all jobs of a team, or of all teams, as one page, with the unreadable ones, and
        with `recent` last runs of each.
        """
        path = "/v1/jobs" if team is None else all_of(team, "jobs")
        query = query_of(recent=recent or None)
        pages = [page async for page in pages_of(self._calls, JobPage, path, query)]
        jobs = [job for page in pages for job in page.jobs]
        jobs.sort(key=lambda job: (job.team, job.spec.name))
        unreadable = [job for page in pages for job in page.unreadable]
        runs = {job_id: runs for page in pages for job_id, runs in page.recent.items()}
        return JobPage(jobs, unreadable=unreadable, recent=runs)

    async def explain_job(self, team: str, name: str, *, at: datetime | None = None) -> Explanation:
        """Return what became of a job's due time at an instant, and why; without one, of its last
        one, and what comes next.
        """
        path = job_path(team, name) + "/explanation"
        return await self._calls.ask(Explanation, "GET", path, query=query_of(at=at))

    async def pause_job(
        self, team: str, name: str, pause: Pause = NO_END, *, dry_run: bool = False
    ) -> Changed:
        """Let none of a job's due times be claimed until it is resumed, or the pause is over."""
        path, query = job_path(team, name) + "/pause", query_of(dry_run=dry_run or None)
        return await self._calls.ask(Changed, "POST", path, content=pause, query=query)

    async def resume_job(
        self,
        team: str,
        name: str,
        missed: Missed = "skip",
        *,
        reason: str = "",
        dry_run: bool = False,
    ) -> Changed:
        """Let a paused job go on: `skip` what it missed, run the `last` of it, or `all`.

        The answer says how many due times that is; a dry run says it beforehand.
        """
        path, query = job_path(team, name) + "/resume", query_of(dry_run=dry_run or None)
        resume = Resume(missed, reason)
        return await self._calls.ask(Changed, "POST", path, content=resume, query=query)

    async def relabel_job(
        self,
        team: str,
        name: str,
        add: Mapping[str, str] = NO_LABELS,
        drop: Sequence[str] = (),
        *,
        reason: str = "",
        dry_run: bool = False,
    ) -> Changed:
        """Add labels to a job, or give them other values, and drop others; all else stays."""
        path, query = job_path(team, name) + "/relabel", query_of(dry_run=dry_run or None)
        relabel = Relabel(dict(add), list(drop), reason)
        return await self._calls.ask(Changed, "POST", path, content=relabel, query=query)

    async def delete_job(
        self, team: str, name: str, *, force: bool = False, reason: str = ""
    ) -> Changed:
        """Delete a job; its runs stay listed, and its name is free again.

        Raises ConflictError while other jobs follow it, unless by `force`.
        """
        query = query_of(force=force or None, reason=reason or None)
        return await self._calls.ask(Changed, "DELETE", job_path(team, name), query=query)

    async def revisions_page(
        self, team: str, name: str, *, before: int | None = None, limit: int = 100
    ) -> RevisionPage:
        """Return a page of what a job was, newest first: who changed it, when, why, and what."""
        path, query = job_path(team, name) + "/revisions", query_of(before=before, limit=limit)
        return await self._calls.ask(RevisionPage, "GET", path, query=query)

    async def get_revision(self, team: str, name: str, revision: int) -> RevisionRecord:
        """Return what a job was by one revision."""
        path = f"{job_path(team, name)}/revisions/{revision}"
        return await self._calls.ask(RevisionRecord, "GET", path)

    async def roll_back_job(
        self, team: str, name: str, revision: int, *, reason: str = "", dry_run: bool = False
    ) -> Changed:
        """Make a job what it was by an earlier revision, as a new one."""
        path, query = job_path(team, name) + "/rollback", query_of(dry_run=dry_run or None)
        rollback = Rollback(revision, reason)
        return await self._calls.ask(Changed, "POST", path, content=rollback, query=query)

    async def trigger_job(
        self,
        team: str,
        name: str,
        run_input: RunInput = NO_INPUT,
        *,
        key: str | None = None,
        allow_overlap: bool = False,
    ) -> RunStatus:
        """Run a job now, whatever its schedule says; a paused one too.

        Its overlap policy may skip the run, or let it wait, unless `allow_overlap`.
        `run_input` is changed of its target for this run. Repeated with the same `key`, as after
        UnavailableError, it answers how the first run stands and makes no other.
        """
        if key is not None:
            check(key_problems(key))
        headers = {} if key is None else {"Idempotency-Key": key}
        path = job_path(team, name) + "/trigger"
        trigger = Trigger(
            run_input.args, run_input.env, run_input.headers, run_input.body, allow_overlap
        )
        return await self._calls.ask(RunStatus, "POST", path, content=trigger, headers=headers)

    async def skip_occurrence(
        self, team: str, name: str, due_at: datetime, *, reason: str = ""
    ) -> Changed:
        """Let one due time of a job pass without a run."""
        return await self._override(team, name, Override(due_at, None, reason))

    async def move_occurrence(
        self, team: str, name: str, due_at: datetime, to: datetime, *, reason: str = ""
    ) -> Changed:
        """Let the run of one due time of a job start at another instant."""
        return await self._override(team, name, Override(due_at, to, reason))

    async def restore_occurrence(self, team: str, name: str, due_at: datetime) -> Changed:
        """Undo the override of an occurrence: it runs at its due time after all."""
        instant = due_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return await self._calls.ask(
            Changed, "DELETE", f"{job_path(team, name)}/overrides/{instant}"
        )

    async def _override(self, team: str, name: str, override: Override) -> Changed:
        path = job_path(team, name) + "/overrides"
        return await self._calls.ask(Changed, "PUT", path, content=override)
