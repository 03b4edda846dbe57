"""The executor: one incarnation after the other, until it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from random import Random
from uuid import UUID

import structlog

from matins.domain.ports import Clock, GatewayLink
from matins.executor.context import Context
from matins.executor.incarnation import Incarnation
from matins.executor.targets import Runner
from matins.kernel.service import pause
from matins.kernel.settings import Settings

log = structlog.get_logger()

RESTART_S = 1.0
"""The pause between a lost incarnation and the next."""


class Executor:
    """Asks a gateway for attempts, runs them and reports. See `kernel.service.Service`.

    `on_contact` is told of each answered heartbeat: when it was sent, by `clock.elapsed_s`. The
    runners are the executor's: it closes them at its end.
    """

    def __init__(
        self,
        link: GatewayLink,
        runners: Mapping[str, Runner],
        clock: Clock,
        rng: Random,
        settings: Settings,
        name: str,
        on_contact: Callable[[float], None],
    ) -> None:
        self._context = Context(link, runners, clock, rng, settings, name, on_contact)
        self._stopping = asyncio.Event()
        self._incarnation: Incarnation | None = None

    def is_ready(self) -> bool:
        """Return whether a gateway has lately answered a heartbeat, and new work may be taken."""
        return self._incarnation is not None and self._incarnation.is_in_touch

    async def run(self) -> None:
        """Work until stopped; a lost incarnation is followed by a new one.

        Raises what the gateway says of the first heartbeat if that is refused, as for a wrong
        token.
        """
        try:
            while not self._stopping.is_set():
                name = UUID(int=self._context.rng.getrandbits(128), version=4)
                log.info("executor.started", executor=str(name), name=self._context.name)
                self._incarnation = Incarnation(self._context, name)
                await self._incarnation.run(self._stopping)
                self._incarnation = None
                await pause(RESTART_S, self._context.clock, self._stopping)
        finally:
            for runner in self._context.runners.values():
                await runner.close()

    async def stop(self) -> None:
        """Take nothing new, let attempts end for `drain_s`, stop the rest, report, and end."""
        self._stopping.set()
