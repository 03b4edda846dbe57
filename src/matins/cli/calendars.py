"""`matins calendars`: a team's calendars, at which its jobs are skipped or moved."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from matins.cli.connecting import Named, change, split_name, with_api
from matins.cli.showing import AsJson, local, print_json, tell
from matins.cli.tables import Cell, console, facts, table
from matins.domain.calendars.calendar import Calendar, Holidays, Item
from matins.domain.values.names import DEFAULT_TEAM
from matins.domain.views import CalendarChanged, CalendarRecord
from matins.insight.explain.english import counted
from matins.kernel.documents import yaml_text

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell what would change.")]

commands = typer.Typer()


@commands.command("list", epilog="Example: matins calendars list --team payments")
def list_calendars(
    team: Annotated[str, typer.Option(help="Whose calendars.")] = DEFAULT_TEAM,
    as_json: AsJson = False,
) -> None:
    """List a team's calendars, and how many jobs follow each."""
    calendars = with_api(lambda client: client.list_calendars(team))
    if as_json:
        print_json(calendars)
        return
    heads = ("CALENDAR", "ZONE", "JOBS", "CLOSED NEXT", "WHY")
    printer = console()
    printer.print(table(printer, heads, [_row(team, calendar) for calendar in calendars]))


@commands.command(epilog="Example: matins calendars show payments/holidays-de")
def show(calendar: Named, as_json: AsJson = False) -> None:
    """Show a calendar as it was written, and the days that it closes next."""
    team, name = split_name(calendar)
    view = with_api(lambda client: client.get_calendar(team, name))
    if as_json:
        print_json(view)
        return
    pairs: list[tuple[str, Cell]] = [
        ("calendar", f"{team}/{name}"),
        ("jobs", str(view.jobs)),
        ("version", f"{view.version} of {local(view.made_at)}"),
    ]
    printer = console()
    printer.print(facts(pairs))
    if view.closed_days:
        rows = [(f"{day.date:%a %Y-%m-%d}", day.reason) for day in view.closed_days]
        printer.print(table(printer, ("CLOSED", "WHY"), rows))
    tell("")
    tell(yaml_text(view.calendar))


@commands.command(epilog="Example: matins calendars holidays payments/berlin DE --part BE")
def holidays(
    calendar: Named,
    country: Annotated[str, typer.Argument(help="The country's code, such as DE or US.")],
    part: Annotated[
        str | None, typer.Option(help="The code of a part of it, such as BE or CA.")
    ] = None,
    timezone: Annotated[
        str, typer.Option("--tz", "--timezone", help="The zone in which the days begin.")
    ] = "UTC",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Make or replace a calendar that is closed at the public holidays of a country."""
    team, name = split_name(calendar)
    item = Item(holidays=Holidays(country, part))
    wanted = Calendar(name, timezone=timezone, exclude=[item])
    put(team, wanted, dry_run=dry_run, as_json=as_json)


@commands.command(epilog="Example: matins calendars delete payments/holidays-de")
def delete(calendar: Named, as_json: AsJson = False) -> None:
    """Delete a calendar that no job follows."""
    team, name = split_name(calendar)
    change(
        lambda client: client.delete_calendar(team, name), partial(_words, team), as_json=as_json
    )


def put(team: str, calendar: Calendar, *, dry_run: bool, as_json: bool) -> None:
    """Make or replace a calendar, or only tell what that would change."""
    change(
        lambda client: client.put_calendar(team, calendar, dry_run=dry_run),
        partial(_words, team),
        as_json=as_json,
    )


def _row(team: str, record: CalendarRecord) -> tuple[str, ...]:
    coming = record.closed_days[0] if record.closed_days else None
    return (
        f"{team}/{record.calendar.name}",
        record.calendar.timezone,
        str(record.jobs),
        f"{coming.date:%a %Y-%m-%d}" if coming else "",
        coming.reason if coming else "",
    )


def _words(team: str, answer: CalendarChanged) -> str:
    line = f"{answer.change}  {team}/{answer.calendar.name}"
    if answer.jobs:
        line += f"  followed by {counted(answer.jobs, 'job')}"
    if answer.unreadable:
        names = ", ".join(job.name for job in answer.unreadable)
        line += f"  (not followed by {names}, which can't be read)"
    if answer.skipped:
        line += f"  ({counted(answer.skipped, 'passed due time')} recorded as skipped)"
    return line
