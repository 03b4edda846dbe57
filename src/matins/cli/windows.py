"""`matins windows`: a team's maintenance windows, in which its runs are held back or skipped."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated

import typer

from matins.cli.connecting import Named, change, split_name, with_api
from matins.cli.showing import AsJson, local, print_json
from matins.cli.tables import Cell, console, state, table
from matins.domain.jobs.windows import Policy, Window
from matins.domain.time.zones import Zone, find_zone
from matins.domain.values.errors import InvalidInputError, ScheduleError
from matins.domain.values.names import DEFAULT_TEAM
from matins.domain.views import WindowChanged, WindowRecord
from matins.insight.explain.english import counted
from matins.kernel.clock import HostClock
from matins.kernel.moments import HELP, parse_moment

_HEADS = ("WINDOW", "STATE", "FROM", "TO", "POLICY", "LABELS", "HELD", "WHY")
_STACKS = (("WINDOW", "WHY"), ("STATE", "POLICY", "HELD"), ("FROM", "TO"), ("LABELS",))

commands = typer.Typer()


@commands.command("list", epilog="Example: matins windows list --team payments")
def list_windows(
    team: Annotated[str, typer.Option(help="Whose windows.")] = DEFAULT_TEAM,
    as_json: AsJson = False,
) -> None:
    """List a team's windows: in force, to come, and those that were over within 30 days."""
    windows = with_api(lambda client: client.list_windows(team))
    if as_json:
        print_json(windows)
        return
    printer = console()
    printer.print(table(printer, _HEADS, [_row(team, window) for window in windows], _STACKS))


@commands.command(
    epilog="Example: matins windows put payments/db-upgrade --from 2026-12-01T22:00 --to +2h"
    ' --tz Europe/Berlin --label tier=gold --reason "PostgreSQL 18"'
)
def put(  # noqa: PLR0913, PLR0917 # a command's options
    window: Named,
    ends: Annotated[
        str, typer.Option("--to", help=f"When it ends. {HELP}; lengths count from its begin.")
    ],
    starts: Annotated[str, typer.Option("--from", help=f"When it begins. {HELP}.")] = "now",
    timezone: Annotated[
        str | None,
        typer.Option("--tz", "--timezone", help="The zone of local times, instead of this host's."),
    ] = None,
    policy: Annotated[
        Policy, typer.Option(help="Runs wait for its end (hold), or are skipped.")
    ] = "hold",
    label: Annotated[
        list[str] | None,
        typer.Option(help="Only jobs with this label, as KEY=VALUE; with all of them, if several."),
    ] = None,
    reason: Annotated[str, typer.Option(help="The reason, for the run history.")] = "",
    as_json: AsJson = False,
) -> None:
    """Make or replace a window. It holds from when this command ends."""
    team, name = split_name(window)
    begin, end = read_span(starts, ends, timezone, HostClock().now())
    wanted = Window(name, begin, end, policy, read_labels(label or []), reason)
    change(lambda client: client.put_window(team, wanted), partial(_words, team), as_json=as_json)


@commands.command(epilog="Example: matins windows delete payments/db-upgrade")
def delete(window: Named, as_json: AsJson = False) -> None:
    """End a window at once. What it held runs now."""
    team, name = split_name(window)
    change(lambda client: client.delete_window(team, name), partial(_words, team), as_json=as_json)


def read_span(
    starts: str, ends: str, timezone: str | None, now: datetime
) -> tuple[datetime, datetime]:
    """Read begin and end as people type them. Raises InvalidInputError."""
    now = now.replace(microsecond=0)
    zone = None if timezone is None else _zone(timezone)
    begin = parse_moment("--from", starts, zone, now=now)
    return begin, parse_moment("--to", ends, zone, now=now, base=begin)


def read_labels(texts: list[str]) -> dict[str, str]:
    """Read labels that are typed as KEY=VALUE. Raises InvalidInputError."""
    for text in texts:
        if "=" not in text.lstrip("="):
            raise InvalidInputError.at("--label", f"{text[:40]!r} is no label; write tier=gold")
    return dict(text.split("=", 1) for text in texts)


def _zone(name: str) -> Zone:
    try:
        return find_zone(name)
    except ScheduleError as error:
        raise InvalidInputError.at("--tz", str(error)) from error


def _row(team: str, record: WindowRecord) -> tuple[Cell, ...]:
    window = record.window
    return (
        f"{team}/{window.name}",
        state(record.state),
        local(window.starts_at),
        local(window.ends_at),
        window.policy,
        ",".join(f"{key}={value}" for key, value in window.labels.items()),
        str(record.held),
        window.reason,
    )


def _words(team: str, answer: WindowChanged) -> str:
    line = f"{answer.change}  {team}/{answer.window.name}"
    if answer.change != "deleted":
        begin, end = local(answer.window.starts_at), local(answer.window.ends_at)
        line += f"  from {begin} to {end}, for {counted(answer.jobs, 'job')}"
    if answer.held:
        verb = "were held" if answer.change == "deleted" else "held"
        line += f"  ({counted(answer.held, 'run')} {verb})"
    return line
