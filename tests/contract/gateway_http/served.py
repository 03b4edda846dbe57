"""A gateway served by a real HTTP server on a free port."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import uvicorn
from tests.unit.gateway.rows import Rows, Statuses, Words

from matins.client.gateway_link import HttpGatewayLink
from matins.domain.ports import Dispatch, Hints
from matins.gateway.asgi import Gateway, GatewayPorts
from matins.kernel.clock import HostClock
from matins.kernel.service import run_services
from matins.kernel.settings import Settings
from matins.testing.memory.output import MemoryKeptOutput, MemoryLiveOutput

TOKEN = "executors-only"


class Served:
    """What stands behind the server, and where it is."""

    def __init__(
        self, url: str, dispatch: Dispatch | None = None, hints: Hints | None = None
    ) -> None:
        self.url = url
        self.rows = Rows()
        self.words = Words()
        self.statuses = Statuses()
        self.live = MemoryLiveOutput()
        self.kept = MemoryKeptOutput()
        self.gateway = Gateway(
            GatewayPorts(
                dispatch or self.rows, hints or self.words, self.statuses, self.live, self.kept
            ),
            HostClock(),
            Random(1),
            TOKEN,
            Settings(poll_s=0.05),
        )

    def link(self, token: str = TOKEN, *, call_s: float = 10.0) -> HttpGatewayLink:
        """Return a new link to it."""
        return HttpGatewayLink(self.url, token, call_s=call_s)


@asynccontextmanager
async def serve(
    dispatch: Dispatch | None = None, hints: Hints | None = None
) -> AsyncIterator[Served]:
    """Serve until the end of the block; over rows in memory, unless given something else."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        served = Served(f"http://127.0.0.1:{listening.getsockname()[1]}", dispatch, hints)
        config = uvicorn.Config(
            served.gateway,
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        stopping = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(run_services(served.gateway.services(), stopping))
            group.create_task(server.serve([listening]))
            try:
                yield served
            finally:
                stopping.set()
                server.should_exit = True
