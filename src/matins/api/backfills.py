"""Backfills: below a job where they are started, and /v1/backfills."""

from __future__ import annotations

from uuid import UUID

from litestar import Router, get, post
from litestar.params import FromPath, FromQuery, JSONBody

from matins.api.bodies import Strict
from matins.api.dependencies import Backfills, Owners
from matins.api.jobs import Limit
from matins.domain.runs.backfills.values import (
    Backfill,
    BackfillRequest,
    BackfillStarted,
    CancelBackfill,
)


@post("/teams/{team:str}/jobs/{name:str}/backfills", dto=Strict[BackfillRequest], return_dto=None)
async def start_backfill(
    owners: Owners,
    team: FromPath[str],
    name: FromPath[str],
    data: JSONBody[BackfillRequest],
    dry_run: FromQuery[bool] = False,
) -> BackfillStarted:
    """Make up for the due times of a job from `since`, before `until`, under the revisions that
    were in force; at most `limit` runs at once, the oldest or the newest first.

    Due times that ran are left out unless it says `again`, and so are those that were closed,
    skipped by an override, or in a pause. 409 while the job has an unfinished backfill. A dry run
    only tells the plan.
    """
    return await owners.backfills.start(team, name, data, dry_run=dry_run)


@get("/teams/{team:str}/jobs/{name:str}/backfills")
async def list_backfills_of_job(
    backfills: Backfills, team: FromPath[str], name: FromPath[str], limit: Limit = 100
) -> list[Backfill]:
    """List a job's backfills, newest first."""
    return await backfills.of_job(team, name, limit)


@get("/teams/{team:str}/backfills")
async def list_backfills(
    backfills: Backfills, team: FromPath[str], limit: Limit = 100
) -> list[Backfill]:
    """List the backfills of a team's jobs, newest first."""
    return await backfills.of_team(team, limit)


@get("/backfills/{backfill_id:uuid}")
async def show_backfill(backfills: Backfills, backfill_id: FromPath[UUID]) -> Backfill:
    """Show how far a backfill is, when it will probably end, and what it leaves out and why."""
    return await backfills.found(backfill_id)


@post("/backfills/{backfill_id:uuid}/pause", status_code=200)
async def pause_backfill(owners: Owners, backfill_id: FromPath[UUID]) -> Backfill:
    """Pause a backfill: it makes no more runs until it is resumed. Those that are made go on."""
    return await owners.backfills.pause(backfill_id)


@post("/backfills/{backfill_id:uuid}/resume", status_code=200)
async def resume_backfill(owners: Owners, backfill_id: FromPath[UUID]) -> Backfill:
    """Resume a paused backfill."""
    return await owners.backfills.resume(backfill_id)


@post(
    "/backfills/{backfill_id:uuid}/cancel",
    status_code=200,
    dto=Strict[CancelBackfill],
    return_dto=None,
)
async def cancel_backfill(
    owners: Owners,
    backfill_id: FromPath[UUID],
    data: JSONBody[CancelBackfill | None] = None,
) -> Backfill:
    """Cancel a backfill: it makes no more runs. Those that are made go on, unless it says `runs`.

    A run that was cancelled is not made again by another backfill.
    """
    return await owners.backfills.cancel(backfill_id, with_runs=(data or CancelBackfill()).runs)


ROUTER = Router(
    "/",
    tags=["backfills"],
    route_handlers=[
        start_backfill,
        list_backfills_of_job,
        list_backfills,
        show_backfill,
        pause_backfill,
        resume_backfill,
        cancel_backfill,
    ],
)
