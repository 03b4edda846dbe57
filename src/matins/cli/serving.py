"""The commands that run something: all of Matins, one role, or the migrations."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Annotated

import typer

from matins.cli.showing import AsJson, print_json, tell
from matins.kernel.settings import read_settings

commands = typer.Typer()


@commands.command(epilog="Example: MATINS_DATA=~/matins MATINS_PORT=0 matins up")
def up() -> None:
    """Start all of Matins on this machine, with demo jobs on the first start; Ctrl-C stops it.

    MATINS_DATA names the data folder, MATINS_PORT the port (8600; 0 for a free one).
    """
    _load("matins.cli.up", "run_up")(read_settings())


@commands.command(epilog="Example: matins api")
def api(
    demo: Annotated[bool, typer.Option("--demo", help="Serve the demo's targets too.")] = False,
) -> None:
    """Run an API: for owners, and the gateway for executors."""
    _load("matins.roles.api", "run_api")(read_settings(), demo=demo)


@commands.command(epilog="Example: matins scheduler")
def scheduler() -> None:
    """Run a scheduler: it claims what is due."""
    _load("matins.roles.scheduler", "run_scheduler")(read_settings())


@commands.command(epilog="Example: MATINS_POOLS=default,gpu MATINS_SLOTS=20 matins executor")
def executor() -> None:
    """Run an executor: it calls the targets. It needs only MATINS_URL and MATINS_TOKEN."""
    _load("matins.roles.executor", "run_executor")(read_settings())


@commands.command(epilog="Example: MATINS_POSTGRES=postgresql://db/matins matins migrate")
def migrate(as_json: AsJson = False) -> None:
    """Bring the schema of PostgreSQL up to date."""
    applied = _load("matins.roles.migrate", "run_migrate")(read_settings())
    if as_json:
        print_json({"applied": applied})
    elif applied:
        tell(f"applied {applied}")
    else:
        tell("the schema is up to date")


def _load(module: str, name: str) -> Callable[..., object]:
    """The one place that imports late.

    Litestar, uvicorn and asyncpg take longer to import than other commands take in all.
    """
    loaded: Callable[..., object] = getattr(import_module(module), name)
    return loaded
