"""`matins calendars import`: a calendar of an iCalendar file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from matins.cli.applying import read_text
from matins.cli.calendars import DryRun, put
from matins.cli.connecting import Named, split_name
from matins.cli.showing import AsJson
from matins.domain.calendars.calendar import Calendar, Item
from matins.domain.calendars.ics.components import whole_characters

commands = typer.Typer()


@commands.command("import", epilog="Example: matins calendars import payments/closing closing.ics")
def import_file(
    calendar: Named,
    file: Annotated[Path, typer.Argument(help="An iCalendar file (.ics); - reads stdin.")],
    timezone: Annotated[
        str, typer.Option("--tz", "--timezone", help="The zone of dates and of local times.")
    ] = "UTC",
    include_free: Annotated[
        bool, typer.Option("--include-free", help="Take events marked as free, too.")
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Make or replace a calendar that is closed at the events of an iCalendar file."""
    _, text = read_text(str(file), whole_characters)
    team, name = split_name(calendar)
    item = Item(icalendar=text, include_free=include_free)
    wanted = Calendar(name, timezone=timezone, exclude=[item])
    put(team, wanted, dry_run=dry_run, as_json=as_json)
