"""`matins teams`: look at teams, and how they share the pools."""

from __future__ import annotations

from typing import Annotated

import typer

from matins.cli.connecting import with_api
from matins.cli.showing import AsJson, local, print_json, tell
from matins.cli.tables import console, table
from matins.client.sdk import Matins
from matins.domain.jobs.sharing import TeamShare
from matins.domain.views import TeamRecord

_HEADS = ("TEAM", "WEIGHT", "SINCE")

commands = typer.Typer()


@commands.command("list", epilog="Example: matins teams list")
def list_teams(as_json: AsJson = False) -> None:
    """List teams with their weights."""

    async def work(client: Matins) -> list[TeamRecord]:
        return await client.list_teams()

    teams = with_api(work)
    if as_json:
        print_json(teams)
        return
    rows = [(team.name, str(team.weight), local(team.created_at)) for team in teams]
    printer = console()
    printer.print(table(printer, _HEADS, rows))


@commands.command("set", epilog="Example: matins teams set payments --weight 3")
def set_team(
    team: Annotated[str, typer.Argument(metavar="TEAM", help="The team's name.")],
    weight: Annotated[
        int, typer.Option(help="Its share of each pool, beside 1 for any other team: 1 to 1000.")
    ],
    as_json: AsJson = False,
) -> None:
    """Set the weight by which a team's runs share the pools with others'."""

    async def work(client: Matins) -> TeamShare:
        return await client.put_team_share(team, TeamShare(weight))

    share = with_api(work)
    if as_json:
        print_json(share)
    else:
        tell(f"{team} has weight {share.weight} now")
