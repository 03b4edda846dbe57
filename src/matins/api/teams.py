"""What holds for a whole team, or is done to all of its jobs: /v1/teams/{team}/keep and others."""

from __future__ import annotations

from litestar import Router, get, put
from litestar.params import FromPath, JSONBody

from matins.api.bodies import Strict
from matins.api.dependencies import Teams
from matins.domain.jobs.keeping import Keep
from matins.domain.jobs.sharing import TeamRecord, TeamShare
from matins.domain.runs.output import TeamOutput


@get("/teams/{team:str}/keep")
async def show_keep(teams: Teams, team: FromPath[str]) -> Keep:
    """Show how long runs are kept of a team's jobs that don't say it themselves."""
    return await teams.keep(team)


@put("/teams/{team:str}/keep", dto=Strict[Keep], return_dto=None)
async def put_keep(teams: Teams, team: FromPath[str], data: JSONBody[Keep]) -> Keep:
    """Return how long runs are kept of a team's jobs that don't say it themselves."""
    return await teams.put_keep(team, data)


@get("/teams")
async def list_teams(teams: Teams) -> list[TeamRecord]:
    """List all teams, by name, with the weights by which they share the pools."""
    return await teams.all()


@get("/teams/{team:str}/share")
async def show_share(teams: Teams, team: FromPath[str]) -> TeamShare:
    """Show how a team's runs share the pools with others'."""
    return await teams.share(team)


@put("/teams/{team:str}/share", dto=Strict[TeamShare], return_dto=None)
async def put_share(teams: Teams, team: FromPath[str], data: JSONBody[TeamShare]) -> TeamShare:
    """Set how a team's runs share the pools with others'; it holds within a second or two."""
    return await teams.put_share(team, data)


@get("/teams/{team:str}/output")
async def show_output(teams: Teams, team: FromPath[str]) -> TeamOutput:
    """Show what is kept of the output of a team's attempts."""
    return await teams.output(team)


@put("/teams/{team:str}/output", dto=Strict[TeamOutput], return_dto=None)
async def put_output(teams: Teams, team: FromPath[str], data: JSONBody[TeamOutput]) -> TeamOutput:
    """Set what is kept of the output of a team's attempts: of those that begin from now on."""
    return await teams.put_output(team, data)


ROUTER = Router(
    "/",
    tags=["teams"],
    route_handlers=[
        *(list_teams, show_keep, put_keep, show_share, put_share, show_output, put_output),
    ],
)
