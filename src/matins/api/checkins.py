"""Check-ins, jobs that something else runs: /v1/teams/{team}/checkins."""

from __future__ import annotations

from litestar import Router, get, post
from litestar.params import FromPath

from matins.api.dependencies import CheckinDeeds, CheckinReads
from matins.domain.alerts.checkins import CheckinRecord, CheckinToken


@get("/teams/{team:str}/checkins")
async def list_checkins(checkins: CheckinReads, team: FromPath[str]) -> list[CheckinRecord]:
    """List a team's check-ins, and what was told of them last. Tokens are never shown."""
    return await checkins.of_team(team)


@get("/teams/{team:str}/checkins/{name:str}")
async def show_checkin(
    checkins: CheckinReads, team: FromPath[str], name: FromPath[str]
) -> CheckinRecord:
    """Show a check-in."""
    return await checkins.show(team, name)


@post("/teams/{team:str}/checkins/{name:str}/rotate", status_code=200)
async def rotate_checkin(
    checkin_deeds: CheckinDeeds, team: FromPath[str], name: FromPath[str]
) -> CheckinToken:
    """Give a check-in its first token or a new one, which is in this answer only. The one before
    is of no use from then on.
    """
    return await checkin_deeds.rotate(team, name)


ROUTER = Router("/", tags=["alerts"], route_handlers=[list_checkins, show_checkin, rotate_checkin])
