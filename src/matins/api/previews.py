"""Looking ahead: when a schedule or a job will be due."""

from __future__ import annotations

from datetime import datetime

from litestar import Router, get, post
from litestar.params import FromPath, FromQuery, JSONBody

from matins.api.bodies import Strict
from matins.api.dependencies import Previews
from matins.api.parameters import check_instant
from matins.domain.views import Preview, PreviewRequest


@post("/preview", status_code=200, dto=Strict[PreviewRequest], return_dto=None)
async def preview_schedule(previews: Previews, data: JSONBody[PreviewRequest]) -> Preview:
    """Return when a schedule would be due next, what it means, and what may surprise in it.

    Nothing is stored.
    """
    return await previews.of_schedule(data)


@get("/teams/{team:str}/jobs/{name:str}/preview")
async def preview_job(
    previews: Previews,
    team: FromPath[str],
    name: FromPath[str],
    count: FromQuery[int] = 10,
    after: FromQuery[datetime | None] = None,
) -> Preview:
    """Return when a job will be due next, with its calendars and overrides."""
    check_instant("after", after)
    return await previews.of_job(team, name, count, after)


ROUTER = Router("/", tags=["previews"], route_handlers=[preview_schedule, preview_job])
