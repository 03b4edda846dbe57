"""The command `matins`.

Exit codes: 0 fine, 1 failed or not accounted for, 2 wrong usage or input, 3 API not reachable.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from matins.cli.endings import ended
from matins.cli.showing import write_anywhere
from matins.domain.time.zones import data_version

MODULES = {
    **{name: ["serving"] for name in ("up", "api", "scheduler", "executor", "migrate")},
    "apply": ["files"],
    "preview": ["previews"],
    "forecast": ["forecasts"],
    "audit": ["audits"],
    "jobs": ["jobs", "occurrences"],
    "runs": ["runs"],
    "calendars": ["calendars"],
    "windows": ["windows"],
    "executors": ["executors"],
}
"""The modules of each command. It starts quickly, because only what it needs is imported."""


class _Commands(Mapping[str, object]):
    """The commands of the program by name, imported when they are asked for."""

    def __getitem__(self, name: str) -> object:
        first, *others = MODULES[name]
        command = _command(first)
        command = getattr(command, "commands", {}).get(name, command)
        command.name = name
        if others:
            command.commands = _More(command.commands, others)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


class _More(Mapping[str, object]):
    """Commands, and those of more modules, which are imported when none of the first is meant."""

    def __init__(self, commands: Mapping[str, object], modules: Sequence[str]) -> None:
        self._commands = commands
        self._modules = modules

    def __getitem__(self, name: str) -> object:
        return self._commands[name] if name in self._commands else self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> Mapping[str, object]:
        found = dict(self._commands)
        for module in self._modules:
            found |= _command(module).commands
        return found


def _command(module: str) -> Any:  # noqa: ANN401 # what Typer makes of it has no public type
    return get_command(import_module(f"matins.cli.{module}").commands)


class _Root(TyperGroup):
    """The program: all commands."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 # Typer's own
        super().__init__(**given)
        self.commands = _Commands()  # type: ignore[assignment] # it is only looked up and listed


app = typer.Typer(
    name="matins",
    cls=_Root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The entry point."""
    write_anywhere()
    sys.exit(run())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command, of this process's arguments unless some are given; returns its exit code."""
    return ended(lambda: app(args=arguments, prog_name="matins", standalone_mode=False))


def _show_version(wanted: bool) -> None:
    if wanted:
        version = import_module("importlib.metadata").version("matins")
        typer.echo(f"matins {version}, zone data {data_version()}")
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
