"""The command `matins`.

Exit codes: 0 fine, 1 failed or not accounted for, 2 wrong usage or input, 3 API not reachable.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from matins.cli.endings import ended
from matins.cli.index import Group, commands_of
from matins.cli.showing import write_anywhere


class _Root(Group):
    """The program: all commands."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 # Typer's own
        super().__init__(**options)
        self.commands = commands_of()


app = typer.Typer(
    name="matins",
    cls=_Root,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The entry point."""
    write_anywhere()
    sys.exit(run())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command, of this process's arguments unless some are given; returns its exit code."""
    return ended(lambda: app(args=arguments, prog_name="matins", standalone_mode=False))


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        version = import_module("importlib.metadata").version("matins")
        zones = import_module("matins.domain.time.zones").data_version()
        typer.echo(f"matins {version}, zone data {zones}")
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
