"""The executor's way to gateways in the same event loop. See `domain.ports.GatewayLink`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, TypeVar

from matins.domain.executors.protocol import (
    Handout,
    Heartbeat,
    HeartbeatAnswer,
    Poll,
    Report,
    ReportAnswer,
)
from matins.domain.ports import GatewayLink
from matins.domain.values.errors import UnavailableError
from matins.testing.memory.faulty import Process

T = TypeVar("T")

DEADLINE_S = 5.0
"""How long an executor waits for an answer, besides the wait of a long poll."""

Door = tuple[Process, GatewayLink]
"""A gateway's process, and what it answers with."""


class MemoryLink:
    """Asks one of the gateways that are open; one that crashes or is frozen does not answer."""

    def __init__(self, doors: Callable[[], list[Door]], rng: Random) -> None:
        self._doors = doors
        self._rng = rng
        self._asked: set[asyncio.Task[Any]] = set()

    async def poll(self, poll: Poll) -> Handout:
        """See `domain.ports.GatewayLink`."""
        process, gateway = self._door()
        asking = self._ask(process, gateway.poll(poll))
        try:
            return await self._answer(process, asking, poll.wait_s + DEADLINE_S)
        finally:
            asking.cancel()  # the gateway sees that its client has gone

    async def report(self, report: Report) -> ReportAnswer:
        """See `domain.ports.GatewayLink`."""
        process, gateway = self._door()
        return await self._answer(process, self._ask(process, gateway.report(report)), DEADLINE_S)

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """See `domain.ports.GatewayLink`."""
        process, gateway = self._door()
        return await self._answer(
            process, self._ask(process, gateway.heartbeat(heartbeat)), DEADLINE_S
        )

    def _door(self) -> Door:
        doors = self._doors()
        if not doors:
            raise UnavailableError("no gateway is open")
        return self._rng.choice(doors)

    def _ask(self, process: Process, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        async def answer() -> T:
            try:
                await process.clock.gate()
            except asyncio.CancelledError:
                work.close()
                raise
            answer = await work
            await process.clock.gate()
            return answer

        task = asyncio.create_task(answer())
        self._asked.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._asked.discard(task)
        if not task.cancelled():
            task.exception()  # it counts as retrieved, should the asker be gone

    async def _answer(self, process: Process, asking: asyncio.Task[T], deadline_s: float) -> T:
        crash = asyncio.ensure_future(process.crashed.wait())
        try:
            await asyncio.wait(
                [asking, crash], timeout=deadline_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            crash.cancel()
        if asking.done():
            return asking.result()
        raise UnavailableError("the gateway did not answer")
