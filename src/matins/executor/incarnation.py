"""One life of an executor, under one id: from its first heartbeat until it stops or is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from uuid import UUID

import structlog

from matins.domain.executors.protocol import End, HeartbeatAnswer, Stop
from matins.domain.runs.attempts import Attempt
from matins.domain.values.errors import MatinsError, UnavailableError
from matins.executor.attempt import LiveAttempt
from matins.executor.context import Context
from matins.executor.gateway_lease import GatewayLease
from matins.executor.in_flight import AttemptName, InFlight
from matins.executor.outbox import ReportOutbox
from matins.executor.polls import Polls
from matins.executor.relay import Relay
from matins.kernel.contact import Contact
from matins.kernel.metrics import ATTEMPTS_RUNNING, GATEWAY_ERRORS
from matins.kernel.service import pause

log = structlog.get_logger()

SLACK_S = 5.0
"""How long after their grace attempts have to end before they are cut."""

FLUSH_S = 10.0
"""How long a stopping executor tries to report its last ends."""

DEREGISTER_S = 5.0
"""How long a stopping executor tries to say that it stops."""


class Incarnation:
    """Heartbeats, polls, runs attempts and reports their ends.

    T1: when no heartbeat was answered for `cut_off_s`, counted from when the last answered one was
    sent, all attempts are ended, before others take them for lost. Only heartbeats count, since
    only heartbeats are what others judge by.
    """

    def __init__(self, context: Context, name: UUID) -> None:
        self.id = name
        self._context = context
        self._clock = context.clock
        self._settings = context.settings
        self._in_flight = InFlight()
        self._live: dict[AttemptName, LiveAttempt] = {}
        self._outbox = ReportOutbox(context, name, self._confirmed)
        self._relay = Relay(context, name)
        self._gateway_lease = GatewayLease(context.clock, context.settings.cut_off_s)
        self._polls = Polls(
            *(context, name, self._in_flight, self._gateway_lease),
            busy=self._busy,
            start=self._start,
            lose=self._lose,
        )
        self._contact = Contact(
            *(context.clock.elapsed_s, "heartbeat.failed", "heartbeat.answered"),
            executor=str(name),
        )
        self._idle = asyncio.Event()
        self._idle.set()
        self._lost = asyncio.Event()
        self._attempts: asyncio.TaskGroup

    @property
    def is_in_touch(self) -> bool:
        """A heartbeat was answered within T1."""
        return self._gateway_lease.left_s() > 0

    async def run(self, stopping: asyncio.Event) -> None:
        """Live until lost, or until `stopping` is set: then drain, report and say good-bye.

        1 work; 2 take nothing new; 3 let attempts end, then end them; 4 report; 5 the last
        heartbeat.
        """
        async with asyncio.TaskGroup() as group:
            self._attempts = group
            heartbeats = group.create_task(self._heartbeat_on())
            polling = group.create_task(self._polls.run())
            tasks = [
                group.create_task(work)
                for work in (self._outbox.run(), self._relay.run(), self._watch_contact())
            ]
            await _first(stopping, self._lost)
            # Polls go first: an answer that came during the drain would bring new work. Heartbeats
            # go on until its end, or the attempts that still run would be declared lost.
            polling.cancel()
            await asyncio.wait([polling])
            if not self._lost.is_set():
                await self._drain()
            heartbeats.cancel()
            await asyncio.wait([heartbeats])
            if self._lost.is_set():
                await self._abandon()
            else:
                await self._deregister()
            for task in tasks:
                task.cancel()

    async def _drain(self) -> None:
        log.info("executor.draining", running=len(self._live), drain_s=self._settings.drain_s)
        await pause(self._settings.drain_s, self._clock, self._idle, self._lost)
        if self._live and not self._lost.is_set():
            await self._end(list(self._live.values()), "executor shut down")
        await pause(FLUSH_S, self._clock, self._outbox.emptied, self._lost)
        await pause(FLUSH_S, self._clock, self._relay.emptied, self._lost)
        if not self._outbox.emptied.is_set():
            log.error("ends.unconfirmed", count=len(self._in_flight))

    async def _deregister(self) -> None:
        async with asyncio.TaskGroup() as group:
            leaving = group.create_task(self._heartbeat_until_answered())
            given_up = group.create_task(self._clock.sleep(DEREGISTER_S))
            await asyncio.wait([leaving, given_up], return_when=asyncio.FIRST_COMPLETED)
            leaving.cancel()
            given_up.cancel()

    async def _heartbeat_until_answered(self) -> None:
        failures = 0
        while not await self._heartbeat(stopped=True):
            failures += 1
            await self._context.back_off(failures)

    async def _abandon(self) -> None:
        """Stop everything without a report: all of it was declared lost."""
        log.error("executor.lost", executor=str(self.id), running=len(self._live))
        live = list(self._live.values())
        for attempt in live:
            attempt.drop()
        await self._await_ends(live)

    def _lose(self) -> None:
        self._lost.set()

    async def _heartbeat_on(self) -> None:
        failures = 0
        while not self._lost.is_set():
            if await self._heartbeat():
                failures = 0
                await self._clock.sleep(self._settings.heartbeat_s)
            else:
                failures += 1
                await self._context.back_off(failures)

    async def _heartbeat(self, *, stopped: bool = False) -> bool:
        """Send a heartbeat; False if there was no answer. Refused at the very first, it raises."""
        ATTEMPTS_RUNNING.set(len(self._live))
        heartbeat = self._in_flight.picture(
            self.id, self._context.name, self._context.pools, self._settings.slots, stopped=stopped
        )
        # T1 counts from before the call: T2 may count from the moment at which it arrives.
        asked_at = self._clock.elapsed_s()
        try:
            answer = await self._context.link.heartbeat(heartbeat)
        except MatinsError as error:
            if not self._gateway_lease.was_made and not isinstance(error, UnavailableError):
                raise
            GATEWAY_ERRORS.inc()
            self._contact.failed(error)
            return False
        self._contact.worked()
        self._in_flight.heard(heartbeat)
        self._obey(answer, asked_at)
        return True

    def _obey(self, answer: HeartbeatAnswer, asked_at: float) -> None:
        if answer.lost:
            self._lose()
            return
        self._gateway_lease.hear(asked_at)
        self._context.on_contact(asked_at)
        for stop in answer.stop:
            self._stop(stop)

    def _stop(self, stop: Stop) -> None:
        live = self._live.get((stop.run_id, stop.number))
        if live is None:  # it has ended, and its end will tell
            return
        log.info("attempt.stopped", run_id=str(stop.run_id), number=stop.number, why=stop.why)
        if stop.why == "superseded":
            live.drop()
        else:
            live.cancel()

    async def _watch_contact(self) -> None:
        while True:
            await self._gateway_lease.established()
            while (left_s := self._gateway_lease.left_s()) > 0:
                await self._clock.sleep(left_s)
            log.error("executor.cut_off", executor=str(self.id), running=len(self._live))
            reason = f"executor could not reach the gateway for {self._settings.cut_off_s:g} s"
            await self._end(list(self._live.values()), reason)

    def _busy(self) -> int:
        return self._settings.slots if self._outbox.is_full else len(self._live)

    def _start(self, attempts: list[Attempt]) -> None:
        for attempt in attempts:
            live = LiveAttempt(attempt, self._relay.open(attempt))
            self._live[attempt.run_id, attempt.number] = live
            live.task = self._attempts.create_task(self._work(live))
        if attempts:
            self._idle.clear()

    async def _work(self, live: LiveAttempt) -> None:
        began = self._clock.elapsed_s()
        result = await live.execute(self._context.runners)
        name = (live.attempt.run_id, live.attempt.number)
        del self._live[name]
        if live.is_dropped:
            self._relay.forget(name)
            self._in_flight.evict([name])
        else:
            self._relay.end(name, result)
            self._outbox.add(End(*name, result, self._clock.elapsed_s() - began))
        self._polls.wake()
        if not self._live:
            self._idle.set()

    async def _end(self, live: Sequence[LiveAttempt], reason: str) -> None:
        for attempt in live:
            attempt.end(reason)
        await self._await_ends(live)

    async def _await_ends(self, live: Iterable[LiveAttempt]) -> None:
        """Wait for attempts that were told to end, and cut those that don't."""
        tasks = {attempt.task: attempt for attempt in live if attempt.task}
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=self._settings.grace_s + SLACK_S)
        for task in late:
            tasks[task].cut()
        if late:
            await asyncio.wait(late, timeout=SLACK_S)

    def _confirmed(self, ends: Sequence[End]) -> None:
        names = [(end.run_id, end.number) for end in ends]
        self._in_flight.evict(names)
        self._relay.confirmed(names)
        self._polls.wake()


async def _first(*events: asyncio.Event) -> None:
    """Wait until one of the events is set."""
    tasks = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
