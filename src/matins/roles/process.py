"""What the processes of all roles share: how they run, are looked at, and reach PostgreSQL."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable

import uvloop

from matins.domain.time.zones import data_version
from matins.executor.keeper.proc import hide
from matins.kernel.http import HttpServer, health_app
from matins.kernel.logs import set_up_logs
from matins.kernel.metrics import ZONE_DATA
from matins.kernel.service import Service, stop_on_signals
from matins.kernel.settings import Settings


def run_role(
    role: str, settings: Settings, main: Callable[[asyncio.Event], Awaitable[None]]
) -> None:
    """Run a role's `main` until it ends; the event is set when it should."""

    async def work() -> None:
        # Thousands of small values live for milliseconds. Looking for rings among them at every 700
        # allocations, as is usual, finds none and took a sixth of the API's CPU under load.
        gc.freeze()
        gc.set_threshold(50_000, 50, 100)
        stopping = asyncio.Event()
        stop_on_signals(stopping)
        if settings.stop_with_stdin:
            await _stop_with_stdin(stopping)
        await main(stopping)

    hide()  # the tokens and passwords in this process are nobody else's
    set_up_logs(role, level=settings.log_level)
    ZONE_DATA.info({"version": data_version()})
    uvloop.run(work())


def health(settings: Settings, ready: Callable[[], Awaitable[bool]]) -> list[Service]:
    """Return what serves /health, /ready and /metrics of a role without an API, if it is to be."""
    if settings.health_port is None:
        return []
    app = health_app(ready)
    return [HttpServer(app, settings.host, settings.health_port, setting="health_port")]


async def _stop_with_stdin(stopping: asyncio.Event) -> None:
    """Stop when standard input ends: the pipe of a parent that may die without a word."""

    class Ended(asyncio.Protocol):
        def connection_lost(self, exc: Exception | None) -> None:
            del exc
            stopping.set()

    await asyncio.get_running_loop().connect_read_pipe(Ended, sys.stdin)
