"""`--watch`: what goes on is shown until it is finished."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated, Final, Protocol, TypeVar

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from matins.cli.showing import local, print_json_line
from matins.cli.tables import console
from matins.domain.values.errors import UnavailableError
from matins.domain.values.texts import clean
from matins.kernel.clock import HostClock

REFRESH_S: Final = 1.0
"""How often it is looked at."""

Watch = Annotated[
    bool, typer.Option("--watch", help="Show its progress until it ends; Ctrl-C ends the show.")
]


class Finite(Protocol):
    """What goes on until it is finished."""

    @property
    def finished_at(self) -> datetime | None:
        """When it has finished."""


T = TypeVar("T", bound=Finite)


async def watch(
    shown: T,
    look: Callable[[], Awaitable[T]],
    drawn: Callable[[T], RenderableType],
    *,
    as_json: bool,
) -> None:
    """Show it, as it is drawn or as a line of JSON for each change, until it is finished. An API
    that goes away is waited for.
    """
    last, fault = None, ""
    live = contextlib.nullcontext() if as_json else Live(console=console(), auto_refresh=False)
    with live as screen:
        while True:
            if as_json and shown != last:
                print_json_line(shown)
            if screen is not None:
                now = local(HostClock().now())
                line = Text(fault or f"{now}  (Ctrl-C ends the show)", "red" if fault else "dim")
                screen.update(Group(line, drawn(shown)), refresh=True)
            last = shown
            if shown.finished_at is not None:
                return
            await asyncio.sleep(REFRESH_S)
            try:
                shown, fault = await look(), ""
            except UnavailableError as error:
                fault = clean(f"{error}; trying again")
