"""`matins teams`: look at teams, how they share the pools, and what is kept of their output."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from matins.cli.connecting import with_api
from matins.cli.showing import AsJson, local, print_json, tell
from matins.cli.tables import console, table
from matins.client.sdk import Matins
from matins.domain.jobs.sharing import TeamRecord, TeamShare
from matins.domain.runs.output import TeamOutput

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


@commands.command("output", epilog="Example: matins teams output payments --keep all")
def keep_output(
    team: Annotated[str, typer.Argument(metavar="TEAM", help="The team's name.")],
    keep: Annotated[
        Literal["head_and_tail", "all"] | None,
        typer.Option(help="What to keep of each output from now on; without it, show what is set."),
    ] = None,
    max_bytes: Annotated[
        int | None, typer.Option(help="How much of it at most, with all; usually 10485760.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show or set what is kept of the output of a team's attempts."""

    async def work(client: Matins) -> TeamOutput:
        if keep is None and max_bytes is None:
            return await client.get_team_output(team)
        output = TeamOutput("all" if keep is None else keep, max_bytes)
        return await client.put_team_output(team, output)

    output = with_api(work)
    if as_json:
        print_json(output)
    elif output.keep == "all":
        most = f"the first {output.max_bytes} bytes" if output.max_bytes else "all, within bounds"
        tell(f"of each output of {team} is kept: {most}, and the end")
    else:
        tell(f"of each output of {team} is kept: head and tail")
