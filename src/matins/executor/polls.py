"""Asks the gateway for attempts: only for free slots, several polls at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from uuid import UUID

import msgspec
import structlog

from matins.domain.executors.protocol import Handout, Poll
from matins.domain.runs.attempts import Attempt
from matins.domain.values.errors import MatinsError
from matins.executor.context import Context
from matins.executor.gateway_lease import GatewayLease
from matins.executor.in_flight import InFlight
from matins.kernel.metrics import GATEWAY_ERRORS

log = structlog.get_logger()

POLLS_MAX = 3
"""How many polls are in flight at once; one alone loses a quarter of the throughput."""

POLL_SIZE = 500
"""The most attempts that one poll asks for; 100 lose a third of the throughput, 1000 gain none."""

WAIT_S = 20.0
"""How long a poll may wait at the gateway."""

GATHER_S = 0.005
"""How long slots are left to gather before a poll is sent for less than its share."""


class Polls:
    """Keeps polls in flight for the slots that are free; each has its slots reserved.

    `busy` tells how many slots are taken, `start` is given the attempts that are new, and `lose` is
    called when the gateway does not know this incarnation.
    """

    def __init__(
        self,
        context: Context,
        executor: UUID,
        in_flight: InFlight,
        gateway_lease: GatewayLease,
        *,
        busy: Callable[[], int],
        start: Callable[[list[Attempt]], None],
        lose: Callable[[], None],
    ) -> None:
        self._context = context
        self._executor = executor
        self._in_flight = in_flight
        self._gateway_lease = gateway_lease
        self._busy = busy
        self._start = start
        self._lose = lose
        self._slots = context.settings.slots
        self._share = max(1, min(POLL_SIZE, self._slots // POLLS_MAX))
        self._poll_count = 0
        self._reserved = 0
        self._changed = asyncio.Event()

    def wake(self) -> None:
        """Say that a slot may have become free."""
        self._changed.set()

    async def run(self) -> None:
        """Poll, until cancelled; polls in flight are then given up."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._gateway_lease.established()
                if 0 < self._wanted() < self._share:
                    await self._context.clock.sleep(GATHER_S)
                if free := self._wanted():
                    self._poll_count += 1
                    self._reserved += free
                    group.create_task(self._poll(self._in_flight.ask(), free))
                else:
                    self._changed.clear()
                    await self._changed.wait()

    def _wanted(self) -> int:
        """Return how many attempts the next poll should ask for; 0 if none should be sent now."""
        free = self._slots - self._reserved - self._busy()
        if free <= 0 or self._poll_count == POLLS_MAX:
            return 0
        if self._poll_count == POLLS_MAX - 1 and free >= self._share:
            return min(free, POLL_SIZE)
        if free >= self._share or not self._poll_count:
            return min(free, self._share)
        return 0

    async def _poll(self, seq: int, free: int) -> None:
        poll = Poll(self._executor, seq, self._context.pools, free, WAIT_S)
        try:
            handout = await self._until_answered(poll)
            if handout.unknown:
                self._lose()
                return
            # Cut off, an attempt must not start: others may soon be told that it is lost.
            await self._gateway_lease.established()
            self._start(self._in_flight.arrive(seq, handout.attempts))
        finally:
            self._in_flight.give_up(seq)
            self._poll_count -= 1
            self._reserved -= free
            self._changed.set()

    async def _until_answered(self, poll: Poll) -> Handout:
        """Ask again under the same number until there is an answer: it may hold attempts."""
        failures = 0
        while True:
            try:
                return await self._context.link.poll(poll)
            except MatinsError as error:
                GATEWAY_ERRORS.inc()
                log.debug("poll.failed", seq=poll.seq, error=str(error))
            failures += 1
            await self._context.back_off(failures)
            poll = msgspec.structs.replace(poll, repeat=True)
