"""The pages of teams: how they share what there is, their quotas, limits and retention."""

from __future__ import annotations

from typing import Final

from litestar import Response, Router, get, post
from litestar.params import FromPath, FromQuery

from matins.api.dependencies import Limits, Owners, Sources, Teams
from matins.domain.jobs.keeping import DAYS, Keep, KeepLimits
from matins.domain.jobs.limits import Limit, Quotas
from matins.domain.jobs.sharing import TeamShare
from matins.domain.status.loads import by_name
from matins.domain.values.errors import InvalidInputError
from matins.web.forms import Form
from matins.web.live import LivePart
from matins.web.rendering import NavigationItem, WebRequest, done, page
from matins.web.wording import team_path

PAGE: Final = 50

ITEM = NavigationItem("Teams", "/teams", "t")
LIVE: list[LivePart] = []


@get("/teams")
async def show_teams(
    request: WebRequest, sources: Sources, q: FromQuery[str] = "", after: FromQuery[str] = ""
) -> Response[bytes]:
    """Show all teams, with what they have."""
    teams = await sources.teams.find(q.strip(), after, PAGE)
    lines = {line.name: line for line in by_name(await sources.loads.loads(), "team")}
    following = teams[-1].name if len(teams) == PAGE else None
    return page(request, "teams.html", teams=teams, loads=lines, next=following)


@post("/teams")
async def make_team(request: WebRequest, teams: Teams) -> Response[bytes]:
    """Make a team by giving it a weight."""
    form = Form(await request.form())
    name = form.text("name")
    await teams.put_share(name, TeamShare(_required(form, "weight")))
    return done(request, f"The team {name} is there.", team_path(name))


@get("/teams/{team:str}")
async def show_team(
    request: WebRequest, teams: Teams, limits: Limits, team: FromPath[str]
) -> Response[bytes]:
    """Show how a team shares the pools, its quotas with their use, its limits, what it keeps."""
    return page(
        request,
        "team.html",
        team=team,
        tab="overview",
        share=await teams.share(team),
        quotas=await limits.quotas(team),
        keep=await teams.keep(team),
        usual_days=DAYS,
        limits=await limits.of_team(team),
    )


@post("/teams/{team:str}/share")
async def change_share(request: WebRequest, teams: Teams, team: FromPath[str]) -> Response[bytes]:
    """Set by which weight the team shares the pools."""
    share = TeamShare(_required(Form(await request.form()), "weight"))
    await teams.put_share(team, share)
    return done(request, f"The weight is {share.weight} now.", team_path(team))


@post("/teams/{team:str}/quotas")
async def change_quotas(
    request: WebRequest, owners: Owners, team: FromPath[str]
) -> Response[bytes]:
    """Set all quotas; one that is left empty is by the operator's default."""
    form = Form(await request.form())
    numbers = [form.number(name) for name in Quotas.__struct_fields__]
    changed = await owners.limits.put_quotas(team, Quotas(*numbers))
    text = "The quotas hold now." if changed.change == "changed" else "Nothing has changed."
    return done(request, text, team_path(team))


@post("/teams/{team:str}/keep")
async def change_keep(request: WebRequest, teams: Teams, team: FromPath[str]) -> Response[bytes]:
    """Set how long runs are kept of jobs that don't say it themselves."""
    form = Form(await request.form())
    others = KeepLimits(form.number("others_days"), form.number("others_runs"))
    keep = Keep(
        form.number("days"), form.number("runs"), others if others != KeepLimits() else None
    )
    await teams.put_keep(team, keep)
    return done(request, "Runs are kept by that from the next night on.", team_path(team))


@post("/teams/{team:str}/limits")
async def put_limit(request: WebRequest, owners: Owners, team: FromPath[str]) -> Response[bytes]:
    """Set the limits of a concurrency key."""
    form = Form(await request.form())
    limit = Limit(form.text("key"), form.number("limit"), form.optional("rate"))
    changed = await owners.limits.put(team, limit)
    return done(request, f"The limit of {limit.key}: {changed.change}.", team_path(team))


@post("/teams/{team:str}/limits/delete")
async def delete_limit(request: WebRequest, owners: Owners, team: FromPath[str]) -> Response[bytes]:
    """Let the limits count that the jobs of a key say themselves."""
    key = Form(await request.form()).text("name")
    await owners.limits.delete(team, key)
    return done(request, f"{key} is limited by its jobs alone now.", team_path(team))


def _required(form: Form, name: str) -> int:
    number = form.number(name)
    if number is None:
        raise InvalidInputError.at(name, "is missing")
    return number


ROUTER = Router(
    "/",
    route_handlers=[
        *(show_teams, make_team, show_team, change_share),
        *(change_quotas, change_keep, put_limit, delete_limit),
    ],
)
