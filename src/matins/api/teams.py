"""What holds for a whole team: /v1/teams/{team}/keep."""

from __future__ import annotations

from litestar import Router, get, put
from litestar.params import FromPath, JSONBody

from matins.api.bodies import Strict
from matins.api.dependencies import Teams
from matins.domain.jobs.keeping import Keep


@get("/teams/{team:str}/keep")
async def show_keep(teams: Teams, team: FromPath[str]) -> Keep:
    """Show how long runs are kept of a team's jobs that don't say it themselves."""
    return await teams.keep(team)


@put("/teams/{team:str}/keep", dto=Strict[Keep], return_dto=None)
async def put_keep(teams: Teams, team: FromPath[str], data: JSONBody[Keep]) -> Keep:
    """Return how long runs are kept of a team's jobs that don't say it themselves."""
    return await teams.put_keep(team, data)


ROUTER = Router("/", tags=["teams"], route_handlers=[show_keep, put_keep])
