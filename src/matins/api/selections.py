"""What is done to all jobs that a team and labels select: /v1/teams/{team}/pause and beside."""

from __future__ import annotations

from typing import Annotated

from litestar import Router, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from matins.api.bodies import Strict
from matins.api.dependencies import Owners, Principal
from matins.domain.jobs.authors import Author
from matins.domain.jobs.pausing import Pause
from matins.domain.jobs.selecting import PauseMany, RelabelMany, ResumeMany, SelectionChanged
from matins.owners.selected import Part

After = Annotated[
    str, QueryParameter(description="The `next` of the part before, which was the last of it.")
]
PartLimit = Annotated[
    int | None,
    QueryParameter(ge=1, le=1000, description="So many jobs only; without it, all of them."),
]


@post("/teams/{team:str}/pause", status_code=200, dto=Strict[PauseMany], return_dto=None)
async def pause_jobs(
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    data: JSONBody[PauseMany | None] = None,
    dry_run: FromQuery[bool] = False,
    after: After = "",
    limit: PartLimit = None,
) -> SelectionChanged:
    """Pause all jobs of a team, or those that have the labels: each as by itself.

    A job that is paused already keeps its own pause. Repeat it if the answer was lost.
    """
    request = data or PauseMany()
    pause = Pause(request.reason, request.until, request.missed)
    return await owners.selected.pause(
        team, request.labels, pause, Author(principal), part=Part(after, limit), dry_run=dry_run
    )


@post("/teams/{team:str}/resume", status_code=200, dto=Strict[ResumeMany], return_dto=None)
async def resume_jobs(
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    data: JSONBody[ResumeMany | None] = None,
    dry_run: FromQuery[bool] = False,
    after: After = "",
    limit: PartLimit = None,
) -> SelectionChanged:
    """Resume all paused jobs of a team, or those that have the labels: each as by itself.

    Repeat it if the answer was lost.
    """
    request = data or ResumeMany()
    author, part = Author(principal, request.reason), Part(after, limit)
    return await owners.selected.resume(
        team, request.labels, request.missed, author, part=part, dry_run=dry_run
    )


@post("/teams/{team:str}/relabel", status_code=200, dto=Strict[RelabelMany], return_dto=None)
async def relabel_jobs(
    owners: Owners,
    principal: Principal,
    team: FromPath[str],
    data: JSONBody[RelabelMany],
    dry_run: FromQuery[bool] = False,
    after: After = "",
    limit: PartLimit = None,
) -> SelectionChanged:
    """Add labels to all jobs of a team, or to those that have `labels`, and drop others: each as by
    itself. A job that would have too many is refused, and stops none of the others.

    Repeat it if the answer was lost.
    """
    author, part = Author(principal, data.reason), Part(after, limit)
    return await owners.selected.relabel(
        team, data.labels, data, author, part=part, dry_run=dry_run
    )


ROUTER = Router("/", tags=["jobs"], route_handlers=[pause_jobs, resume_jobs, relabel_jobs])
