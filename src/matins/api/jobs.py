"""Jobs: /v1/teams/{team}/jobs and below."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from litestar import Router, delete, get, post, put
from litestar.params import FromPath, FromQuery, HeaderParameter, JSONBody, QueryParameter

from matins.api.bodies import Strict
from matins.api.dependencies import Owners, Principal, Reads, Revisions
from matins.api.parameters import bare, check_instant, check_same_name
from matins.domain.executors.protocol import RunStatus
from matins.domain.jobs.authors import Author
from matins.domain.jobs.pausing import NO_END, Pause
from matins.domain.jobs.selecting import Relabel
from matins.domain.jobs.spec import Job, JobList, JobSpec
from matins.domain.runs.recent import RECENT_MAX
from matins.domain.schedules.schedule import Override
from matins.domain.views import (
    Changed,
    JobPage,
    Resume,
    RevisionPage,
    RevisionRecord,
    Rollback,
    RunPage,
    Trigger,
)

Limit = Annotated[
    int, QueryParameter(ge=1, le=1000, description="The most that are given at once.")
]

Recent = Annotated[
    int,
    QueryParameter(ge=0, le=RECENT_MAX, description="So many of each job's last runs are given."),
]

Reason = Annotated[str, QueryParameter(description="Why it is changed, for its history.")]

Key = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        description="Stands for one run of the job, for a day at least. In quotes or without.",
    ),
]


@get("/jobs")
async def list_all_jobs(
    reads: Reads, after: FromQuery[UUID | None] = None, limit: Limit = 100, recent: Recent = 0
) -> JobPage:
    """List the jobs of all teams, by id; `after` is the `next` of the page before."""
    return await reads.with_recent_runs(await reads.all_jobs(after, limit), recent)


@get("/teams/{team:str}/jobs")
async def list_jobs(
    reads: Reads,
    team: FromPath[str],
    after: FromQuery[str] = "",
    limit: Limit = 100,
    recent: Recent = 0,
) -> JobPage:
    """List a team's jobs, by name; `after` is the `next` of the page before."""
    return await reads.with_recent_runs(await reads.jobs(team, after, limit), recent)


@post("/teams/{team:str}/jobs", dto=Strict[JobSpec], return_dto=None)
async def create_job(
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    data: JSONBody[JobSpec],
    reason: Reason = "",
) -> Changed:
    """Create a job. 409 when the team has one of that name."""
    return await owners.jobs.create(team, data, Author(principal, reason))


@put("/teams/{team:str}/jobs", dto=Strict[JobList], return_dto=None)
async def put_jobs(
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    data: JSONBody[JobList],
    dry_run: FromQuery[bool] = False,
    reason: Reason = "",
) -> list[Changed]:
    """Create or replace up to 1000 jobs, each as by itself; answers in the order of the list.
    A job may be due with the runs of one that comes later in it.

    Nothing is changed where one is wrong in itself; where one can't be put after all, as by a
    calendar that is not there, the others are. Jobs that are not in the list stay as they are.
    """
    return await owners.jobs.put_all(team, data, Author(principal, reason), dry_run=dry_run)


@get("/teams/{team:str}/jobs/{name:str}")
async def show_job(reads: Reads, team: FromPath[str], name: FromPath[str]) -> Job:
    """Show a job."""
    return await reads.job(team, name)


@put("/teams/{team:str}/jobs/{name:str}", dto=Strict[JobSpec], return_dto=None)
async def put_job(
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    name: FromPath[str],
    data: JSONBody[JobSpec],
    dry_run: FromQuery[bool] = False,
    reason: Reason = "",
) -> Changed:
    """Create a job or replace it. An equal one is left as it is; a paused one stays paused.

    Nothing runs because of a change: due times of the old schedule that have passed and have no
    row are recorded as skipped, and counted in the answer.
    """
    check_same_name(data.name, name)
    return await owners.jobs.put(team, data, Author(principal, reason), dry_run=dry_run)


@delete("/teams/{team:str}/jobs/{name:str}", status_code=200)
async def delete_job(
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    name: FromPath[str],
    force: FromQuery[bool] = False,
    reason: Reason = "",
) -> Changed:
    """Delete a job. Its runs that wait are cancelled and counted; one that runs goes on, but is not
    tried again. Its history stays, and its name is free again.

    409 while other jobs are due with its runs (`after: {jobs: …}`), unless it is done by `force`.
    """
    return await owners.jobs.delete(team, name, Author(principal, reason), force=force)


@post(
    "/teams/{team:str}/jobs/{name:str}/pause", status_code=200, dto=Strict[Pause], return_dto=None
)
async def pause_job(
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    name: FromPath[str],
    data: JSONBody[Pause | None] = None,
    dry_run: FromQuery[bool] = False,
) -> Changed:
    """Pause a job: nothing of it is claimed until it is resumed, or the pause is over.

    One that is paused is in the new pause from now on.
    """
    pause = data or NO_END
    return await owners.jobs.pause(team, name, pause, Author(principal), dry_run=dry_run)


@post(
    "/teams/{team:str}/jobs/{name:str}/resume",
    status_code=200,
    dto=Strict[Resume],
    return_dto=None,
)
async def resume_job(
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    name: FromPath[str],
    data: JSONBody[Resume | None] = None,
    dry_run: FromQuery[bool] = False,
) -> Changed:
    """Resume a job. What was due meanwhile is skipped, or the last or all of it is run now.

    The answer says how many due times that is; a dry run says it beforehand.
    """
    resume = data or Resume()
    author = Author(principal, resume.reason)
    return await owners.jobs.resume(team, name, resume.missed, author, dry_run=dry_run)


@post(
    "/teams/{team:str}/jobs/{name:str}/relabel",
    status_code=200,
    dto=Strict[Relabel],
    return_dto=None,
)
async def relabel_job(
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    name: FromPath[str],
    data: JSONBody[Relabel],
    dry_run: FromQuery[bool] = False,
) -> Changed:
    """Add labels to a job, or give them other values, and drop others. All else stays as it is."""
    author = Author(principal, data.reason)
    return await owners.jobs.relabel(team, name, data, author, dry_run=dry_run)


@get("/teams/{team:str}/jobs/{name:str}/revisions")
async def list_revisions(
    revisions: Revisions,
    team: FromPath[str],
    name: FromPath[str],
    before: FromQuery[int | None] = None,
    limit: Limit = 100,
) -> RevisionPage:
    """List what a job was, newest first, with who changed it, why, and what.

    Those of a deleted job are found by its name as long as there is no other.
    """
    return await revisions.page(team, name, before, limit)


@get("/teams/{team:str}/jobs/{name:str}/revisions/{revision:int}")
async def show_revision(
    revisions: Revisions, team: FromPath[str], name: FromPath[str], revision: FromPath[int]
) -> RevisionRecord:
    """Show what a job was by one revision."""
    return await revisions.show(team, name, revision)


@post(
    "/teams/{team:str}/jobs/{name:str}/rollback",
    status_code=200,
    dto=Strict[Rollback],
    return_dto=None,
)
async def roll_back_job(
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    name: FromPath[str],
    data: JSONBody[Rollback],
    dry_run: FromQuery[bool] = False,
) -> Changed:
    """Make a job what it was by an earlier revision, as a new one. A paused one stays paused."""
    author = Author(principal, data.reason)
    return await owners.jobs.roll_back(team, name, data.revision, author, dry_run=dry_run)


@post(
    "/teams/{team:str}/jobs/{name:str}/trigger",
    status_code=202,
    dto=Strict[Trigger],
    return_dto=None,
)
async def trigger_job(
    owners: Owners,
    team: FromPath[str],
    name: FromPath[str],
    key: Key = None,
    data: JSONBody[Trigger | None] = None,
) -> RunStatus:
    """Run a job now, a paused one too; what the body says is changed of its target for this run.

    Its overlap policy may skip the run, or let it wait, unless `allow_overlap`: see its state.

    Its schedule goes on as if nothing had happened. Repeated with the same `Idempotency-Key`, it
    answers how the first run stands and makes no other; 422 where the body is another one.
    """
    trigger = data or Trigger()
    return await owners.runs.trigger(
        team,
        name,
        trigger.run_input,
        key=None if key is None else bare(key),
        allow_overlap=trigger.allow_overlap,
    )


@put("/teams/{team:str}/jobs/{name:str}/overrides", dto=Strict[Override], return_dto=None)
async def override_occurrence(
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    name: FromPath[str],
    data: JSONBody[Override],
) -> Changed:
    """Skip one occurrence of a job, or move it to another instant.

    Its due time gets a row with the reason either way. 409 once the due time has passed.
    """
    return await owners.jobs.override(team, name, data, Author(principal))


@delete("/teams/{team:str}/jobs/{name:str}/overrides/{due_at:datetime}", status_code=200)
async def restore_occurrence(
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    name: FromPath[str],
    due_at: FromPath[datetime],
    reason: Reason = "",
) -> Changed:
    """Undo an override: the occurrence runs at its due time. 409 once that has passed."""
    check_instant("due_at", due_at)
    return await owners.jobs.restore(team, name, due_at, Author(principal, reason))


@get("/teams/{team:str}/jobs/{name:str}/runs")
async def list_runs_of_job(
    reads: Reads,
    team: FromPath[str],
    name: FromPath[str],
    before: FromQuery[UUID | None] = None,
    limit: Limit = 100,
) -> RunPage:
    """List a job's runs, newest due time first; `before` is the `next` of the page before.

    Those of a deleted job are found by its name as long as there is no other.
    """
    return await reads.runs_of_job(team, name, before, limit)


ROUTER = Router(
    "/",
    tags=["jobs"],
    route_handlers=[
        list_all_jobs,
        list_jobs,
        create_job,
        put_jobs,
        show_job,
        put_job,
        delete_job,
        pause_job,
        resume_job,
        relabel_job,
        list_revisions,
        show_revision,
        roll_back_job,
        trigger_job,
        override_occurrence,
        restore_occurrence,
        list_runs_of_job,
    ],
)
