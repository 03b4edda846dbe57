"""`matins limits`: how many runs of a key go on at once, and how many start in a time."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from matins.cli.connecting import Named, change, split_name, with_api
from matins.cli.showing import AsJson, print_json
from matins.cli.tables import Cell, console, table
from matins.domain.jobs.limit_views import LimitChanged, LimitRecord
from matins.domain.jobs.limits import Limit
from matins.domain.values.names import DEFAULT_TEAM

_HEADS = ("GATE", "KIND", "USED", "LIMIT", "RATE", "WAITING", "SET BY")

commands = typer.Typer()


@commands.command("list", epilog="Example: matins limits list --team payments")
def list_limits(
    team: Annotated[str, typer.Option(help="Whose limits.")] = DEFAULT_TEAM,
    as_json: AsJson = False,
) -> None:
    """List a team's concurrency keys, then the limits of its jobs, with what is taken."""
    limits = with_api(lambda client: client.list_limits(team))
    if as_json:
        print_json(limits)
        return
    printer = console()
    printer.print(table(printer, _HEADS, [_row(team, limit) for limit in limits]))


@commands.command(epilog="Example: matins limits put payments/vendor-x --limit 3 --rate 100/m")
def put(
    key: Named,
    limit: Annotated[int | None, typer.Option(help="So many runs at once.")] = None,
    rate: Annotated[
        str | None, typer.Option(help="So many starts: 5/s, 100/m, 20/h or 1/d.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set the limits of a concurrency key. They count instead of what its jobs say."""
    team, name = split_name(key)
    concurrency = Limit(name, limit, rate)
    change(
        lambda client: client.put_limit(team, concurrency), partial(_words, team), as_json=as_json
    )


@commands.command(epilog="Example: matins limits delete payments/vendor-x")
def delete(key: Named, as_json: AsJson = False) -> None:
    """Let the limits count that the jobs of a key say themselves."""
    team, name = split_name(key)
    change(lambda client: client.delete_limit(team, name), partial(_words, team), as_json=as_json)


def _row(team: str, record: LimitRecord) -> tuple[Cell, ...]:
    return (
        f"{team}/{record.name}",
        record.kind,
        str(record.used),
        "-" if record.limit is None else str(record.limit),
        record.rate or "-",
        str(record.waiting),
        "team" if record.set else "jobs",
    )


def _words(team: str, answer: LimitChanged) -> str:
    limit = answer.limit
    line = f"{answer.change}  {team}/{limit.key}"
    if answer.change == "deleted":
        return line
    parts = [] if limit.limit is None else [f"{limit.limit} at once"]
    return f"{line}  {', '.join(parts + ([limit.rate] if limit.rate else []))}"
