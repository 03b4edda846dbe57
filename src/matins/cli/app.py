"""The command `matins`.

Exit codes: 0 fine, 1 failed or not accounted for, 2 wrong usage or input, 3 API not reachable.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer

from matins.cli import (
    audits,
    calendars,
    executors,
    files,
    forecasts,
    jobs,
    occurrences,
    previews,
    runs,
    serving,
    windows,
)
from matins.cli.endings import ended
from matins.cli.showing import write_anywhere
from matins.domain.schedules.zones import data_version

app = typer.Typer(
    name="matins",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for part in (serving, files, previews, forecasts, audits):
    app.add_typer(part.commands)
jobs.commands.add_typer(occurrences.commands)
app.add_typer(jobs.commands, name="jobs")
app.add_typer(runs.commands, name="runs")
app.add_typer(calendars.commands, name="calendars")
app.add_typer(windows.commands, name="windows")
app.add_typer(executors.commands, name="executors")


def main() -> None:
    """The entry point."""
    write_anywhere()
    sys.exit(run())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command, of this process's arguments unless some are given; returns its exit code."""
    return ended(lambda: app(args=arguments, prog_name="matins", standalone_mode=False))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"matins {version('matins')}, zone data {data_version()}")
        raise typer.Exit


@app.callback(epilog="Start with: matins up")
def describe(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the versions."
        ),
    ] = False,
) -> None:
    """Cron for a whole company: jobs that run on time, once each, and can be proved to have run.

    Commands find the API by MATINS_URL and MATINS_TOKEN, else by the data folder (MATINS_DATA).
    """
