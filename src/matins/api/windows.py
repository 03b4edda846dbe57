"""Maintenance windows: /v1/teams/{team}/windows and below."""

from __future__ import annotations

from litestar import Router, delete, get, put
from litestar.params import FromPath, JSONBody

from matins.api.bodies import Strict
from matins.api.dependencies import Owners, Windows
from matins.api.parameters import check_same_name
from matins.domain.jobs.windows import Window
from matins.domain.views import WindowChanged, WindowRecord


@get("/teams/{team:str}/windows")
async def list_windows(windows: Windows, team: FromPath[str]) -> list[WindowRecord]:
    """List a team's maintenance windows by their begin: in force, to come, and those that were over
    within 30 days.
    """
    return await windows.of_team(team)


@get("/teams/{team:str}/windows/{name:str}")
async def show_window(windows: Windows, team: FromPath[str], name: FromPath[str]) -> WindowRecord:
    """Show a maintenance window, and how many runs it holds."""
    return await windows.show(team, name)


@put("/teams/{team:str}/windows/{name:str}", dto=Strict[Window], return_dto=None)
async def put_window(
    owners: Owners, team: FromPath[str], name: FromPath[str], data: JSONBody[Window]
) -> WindowChanged:
    """Create a maintenance window or replace it; an equal one is left as it is.

    From when this is answered, no scheduled run of the jobs that it means is begun in it: it is
    held until the window ends, or skipped. What runs already goes on.
    """
    check_same_name(data.name, name)
    return await owners.windows.put(team, data)


@delete("/teams/{team:str}/windows/{name:str}", status_code=200)
async def delete_window(owners: Owners, team: FromPath[str], name: FromPath[str]) -> WindowChanged:
    """Delete a maintenance window. What it held runs within a second or so."""
    return await owners.windows.delete(team, name)


ROUTER = Router(
    "/",
    tags=["windows"],
    route_handlers=[list_windows, show_window, put_window, delete_window],
)
