"""Calls between processes of the same event loop, as over a network with a load balancer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, Generic, TypeVar

from matins.domain.executors.protocol import (
    Handout,
    Heartbeat,
    HeartbeatAnswer,
    Output,
    OutputAnswer,
    Poll,
    Report,
    ReportAnswer,
)
from matins.domain.ports import GatewayLink
from matins.domain.values.errors import UnavailableError
from matins.testing.memory.faulty import Process

S = TypeVar("S")
T = TypeVar("T")

DEADLINE_S = 5.0
"""How long an executor waits for an answer, besides the wait of a long poll."""

Door = tuple[Process, S]
"""A process, and the service that it answers with."""


class Calls(Generic[S]):
    """Calls one of the services that are open; one that crashes or is frozen does not answer."""

    def __init__(self, doors: Callable[[], list[Door[S]]], rng: Random) -> None:
        self._doors = doors
        self._rng = rng
        self._calls: set[asyncio.Task[Any]] = set()

    async def call(
        self,
        work: Callable[[S], Coroutine[Any, Any, T]],
        deadline_s: float,
        *,
        hangs_up: bool = False,
    ) -> T:
        """Call a service. Raises UnavailableError when no answer comes in time.

        With `hangs_up` the service sees that its client has gone.
        """
        doors = self._doors()
        if not doors:
            raise UnavailableError("nothing is open")
        process, service = self._rng.choice(doors)
        calling = self._start(process, work(service))
        try:
            return await _answer(process, calling, deadline_s)
        finally:
            if hangs_up:
                calling.cancel()

    def _start(self, process: Process, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
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
        self._calls.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._calls.discard(task)
        if not task.cancelled():
            task.exception()  # it counts as retrieved, should the caller be gone


async def _answer(process: Process, calling: asyncio.Task[T], deadline_s: float) -> T:
    crash = asyncio.ensure_future(process.crashed.wait())
    try:
        await asyncio.wait(
            [calling, crash], timeout=deadline_s, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        crash.cancel()
    if calling.done():
        return calling.result()
    raise UnavailableError("there was no answer")


class MemoryLink:
    """The executor's way to gateways. See `domain.ports.GatewayLink`."""

    def __init__(self, doors: Callable[[], list[Door[GatewayLink]]], rng: Random) -> None:
        self._line = Calls(doors, rng)

    async def poll(self, poll: Poll) -> Handout:
        """See `domain.ports.GatewayLink`."""
        deadline_s = poll.wait_s + DEADLINE_S
        return await self._line.call(lambda gateway: gateway.poll(poll), deadline_s, hangs_up=True)

    async def report(self, report: Report) -> ReportAnswer:
        """See `domain.ports.GatewayLink`."""
        return await self._line.call(lambda gateway: gateway.report(report), DEADLINE_S)

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """See `domain.ports.GatewayLink`."""
        return await self._line.call(lambda gateway: gateway.heartbeat(heartbeat), DEADLINE_S)

    async def output(self, output: Output) -> OutputAnswer:
        """See `domain.ports.GatewayLink`."""
        return await self._line.call(lambda gateway: gateway.output(output), DEADLINE_S)
