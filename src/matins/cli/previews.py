"""`matins preview`: when a schedule will be due, computed here, without an API."""

from __future__ import annotations

from typing import Annotated

import typer

from matins.cli.connecting import parse_moment
from matins.cli.showing import AsJson, between, console, print_json, table
from matins.domain.errors import InvalidInputError
from matins.domain.preview import preview as due_times
from matins.domain.schedules.cron import Dialect
from matins.domain.schedules.schedule import Schedule
from matins.kernel.clock import HostClock

commands = typer.Typer()


@commands.command(epilog='Example: matins preview "30 2 * * *" --tz Europe/Berlin -n 5')
def preview(
    cron: Annotated[str | None, typer.Argument(help="A cron expression.")] = None,
    every: Annotated[
        str | None, typer.Option(help="A length of time such as 15m, instead of cron.")
    ] = None,
    timezone: Annotated[
        str, typer.Option("--tz", "--timezone", help="The IANA zone of the schedule.")
    ] = "UTC",
    count: Annotated[int, typer.Option("-n", "--count", help="How many due times.")] = 10,
    after: Annotated[
        str | None, typer.Option(help="An instant to begin after, instead of now.")
    ] = None,
    dialect: Annotated[Dialect, typer.Option(help="The dialect of cron.")] = "unix",
    as_json: AsJson = False,
) -> None:
    """Show the next due times of a schedule. Needs no API."""
    if cron is None and every is None:
        raise InvalidInputError.at(
            "schedule", 'is missing; write a cron expression such as "0 2 * * *", or --every 15m'
        )
    start = parse_moment("after", after) or HostClock().now()
    schedule = Schedule(cron=cron, every=every, timezone=timezone, dialect=dialect)
    shown = due_times(schedule, count, start)
    if as_json:
        print_json(shown)
        return
    rows = [
        (
            f"{due.local:%a %Y-%m-%d %H:%M:%S %z}",
            f"{due.utc:%Y-%m-%d %H:%M:%S}",
            between(start.replace(microsecond=0), due.utc),
        )
        for due in shown.due
    ]
    if rows:
        printer = console()
        printer.print(
            table(
                printer,
                (f"DUE IN {shown.timezone}", "UTC", "FROM THEN" if after else "FROM NOW"),
                rows,
            )
        )
    else:
        typer.echo("never due again")
