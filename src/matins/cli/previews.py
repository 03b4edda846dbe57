"""`matins preview`: when a schedule will be due, and what may surprise in it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from matins.cli.connecting import with_api
from matins.cli.showing import AsJson, between, print_json, tell
from matins.cli.tables import console, table
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.values.errors import InvalidInputError
from matins.domain.values.reading import read_value
from matins.domain.views import DueTime, Preview
from matins.insight.preview import PreviewedJob, check_request
from matins.insight.preview import preview as due_times
from matins.kernel.documents import read_document
from matins.kernel.moments import HELP, parse_moment

commands = typer.Typer()


@commands.command(epilog='Example: matins preview "30 2 * * *" --tz Europe/Berlin -n 5')
def preview(
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="SCHEDULE",
            help="A cron expression, or in braces a whole schedule as a job file has it.",
        ),
    ] = None,
    every: Annotated[
        str | None, typer.Option(help="A length of time such as 15m, instead of cron.")
    ] = None,
    timezone: Annotated[
        str | None, typer.Option("--tz", "--timezone", help="The IANA zone; UTC without it.")
    ] = None,
    count: Annotated[int, typer.Option("-n", "--count", help="How many due times.")] = 10,
    after: Annotated[
        str | None, typer.Option(help=f"Begin after then, instead of now. {HELP}.")
    ] = None,
    team: Annotated[
        str | None, typer.Option(help="Ask the API, which knows this team's calendars and load.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show when a schedule is due, in words and in instants. Needs no API, unless for a team.

    In braces stands a whole schedule, such as "{rrule: FREQ=MONTHLY;BYDAY=-1FR, jitter: 5m}".
    """
    schedule = _schedule(text, every, timezone)
    start = parse_moment("--after", after or "now")
    if team is None:
        check_request(schedule, count)
        view = due_times(PreviewedJob(schedule, Timing(start, start)), count, start)
    else:
        view = with_api(
            lambda client: client.preview(schedule, count=count, after=start, team=team)
        )
    print_preview(view, start, is_now=after is None, as_json=as_json)


def _schedule(text: str | None, every: str | None, timezone: str | None) -> Schedule:
    if text is None and every is None:
        raise InvalidInputError.at(
            "schedule", 'is missing; write a cron expression such as "0 2 * * *", or --every 15m'
        )
    if text is None or not text.lstrip().startswith("{"):
        return Schedule(cron=text, every=every, timezone=timezone or "UTC")
    if every is not None or timezone is not None:
        raise InvalidInputError.at("schedule", "is given as a whole; leave the options out")
    return read_value(read_document(text).value, Schedule)


def print_preview(view: Preview, start: datetime, *, is_now: bool, as_json: bool) -> None:
    """Print due times as a table, after the sentence and before the warnings."""
    if as_json:
        print_json(view)
        return
    tell(view.sentence)
    printer = console()
    begin = start.replace(microsecond=0)
    if view.due:
        heads = [f"DUE IN {view.timezone}", "UTC", "FROM NOW" if is_now else "FROM THEN"]
        rows = [_row(due, begin) for due in view.due]
        if any(due.fire_at != due.utc for due in view.due):
            heads.append("FIRES")
            rows = [
                (*row, f"{due.fire_at:%H:%M:%S} UTC")
                for row, due in zip(rows, view.due, strict=True)
            ]
        if any(due.skipped or due.held for due in view.due):
            heads.append("BUT")
            rows = [
                (*row, due.skipped or due.held) for row, due in zip(rows, view.due, strict=True)
            ]
        printer.print(table(printer, tuple(heads), rows))
    else:
        tell("never due again")
    for warning in view.warnings:
        tell(f"! {warning}")


def _row(due: DueTime, begin: datetime) -> tuple[str, ...]:
    return (
        f"{due.local:%a %Y-%m-%d %H:%M:%S %z}",
        f"{due.utc:%Y-%m-%d %H:%M:%S}",
        between(begin, due.utc),
    )
