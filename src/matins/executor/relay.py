"""Carries what running attempts tell to the gateway: in batches, bounded, and off everybody's way.

What is live may be lost, and is sent once. What is to be kept is sent until the gateway has it.
What there is no room for is left out, and a line says how much.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from uuid import UUID

import structlog

from matins.domain.executors.protocol import CHUNKS_MAX, Output
from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.output import LiveChunk, OutputChunk
from matins.domain.values.errors import InvalidInputError, MatinsError
from matins.executor.context import Context
from matins.executor.in_flight import AttemptName
from matins.executor.news import News, Tell
from matins.executor.unsent import UnsentKept, UnsentLive
from matins.kernel.metrics import GATEWAY_ERRORS

log = structlog.get_logger()

EVERY_S = 0.25
"""From one message to the next."""

QUIET_S = 0.5
"""How long an attempt runs before it is told of: most are over by then, and cost nothing here."""

MESSAGE_TEXT = 1_000_000
"""The most characters in one message, or one chunk more: the gateway's limit of 8 MiB is never
reached."""

KEPT_MAX = 16_000_000
"""The most characters that wait to be kept, of all attempts together."""


class Relay:
    """Sends a message when there are news, one at a time, at most every `EVERY_S`."""

    def __init__(self, context: Context, executor: UUID) -> None:
        self._context = context
        self._clock = context.clock
        self._executor = executor
        self._live: dict[AttemptName, UnsentLive] = {}
        self._kept: dict[AttemptName, UnsentKept] = {}
        self._told: dict[AttemptName, None] = {}
        """Whose live text has news, or is over."""
        self._over: dict[AttemptName, None] = {}
        """Whose end is recorded, and was not told."""
        self._unconfirmed: list[OutputChunk] = []
        self._kept_size = 0
        self._came = asyncio.Event()
        self.emptied = asyncio.Event()
        """Set while nothing waits to be kept."""
        self.emptied.set()

    def open(self, attempt: Attempt) -> Tell:
        """Return what takes the news of an attempt that begins now.

        Of one that tells nothing, nothing is kept here.
        """
        return partial(self._take, attempt, self._clock.elapsed_s() + QUIET_S)

    def end(self, name: AttemptName, result: Result) -> None:
        """Note the end of an attempt; what its result does not hold of it is to be kept now."""
        if (live := self._live.get(name)) and not live.has_begun:
            self._drop_live(name)
        if kept := self._kept.get(name):
            size = kept.size
            kept.close(is_whole_elsewhere=not result.output_cut)
            self._count_kept(kept.size - size)
            if kept.is_done:
                del self._kept[name]
            else:
                self._came.set()

    def confirmed(self, names: Iterable[AttemptName]) -> None:
        """Tell those who follow these attempts that their ends are recorded, once what is to be
        kept of them is kept: they look for it then.
        """
        for name in names if self._live else ():
            if name in self._live:
                self._over[name] = None
                self._came.set()

    def forget(self, name: AttemptName) -> None:
        """Drop what there is of an attempt with which others go on."""
        self._drop_live(name)
        if kept := self._kept.pop(name, None):
            self._count_kept(-kept.size)

    async def run(self) -> None:
        """Send, until cancelled."""
        failures = 0
        while True:
            await self._came.wait()
            self._came.clear()
            message = self._next()
            is_full = bool(message.live or message.kept) and self._is_due()
            if message.live or message.kept:
                failures = 0 if await self._send(message) else failures + 1
            if failures:
                await self._context.back_off(failures)
            elif not is_full:
                await self._clock.sleep(EVERY_S)
            if self._told or self._over or self._kept_size:
                self._came.set()

    def _take(self, attempt: Attempt, quiet_until: float, news: News) -> None:
        name = (attempt.run_id, attempt.number)
        text = news.output + news.live
        if text or news.progress:
            live = self._live.get(name)
            if live is None:
                live = self._live[name] = UnsentLive(*name, quiet_until)
            live.add(text, news.progress)
            self._told[name] = None
        whole = news.output + news.kept
        if whole and attempt.keep_output:
            kept = self._kept.get(name)
            if kept is None:
                kept = self._kept[name] = UnsentKept(*name, attempt.keep_output)
            size = kept.size
            kept.add(whole, self._clock.elapsed_s(), KEPT_MAX - self._kept_size)
            self._count_kept(kept.size - size)
        self._came.set()

    def _close(self) -> None:
        """Let those be told of the end of whom all is kept."""
        unkept = {(chunk.run_id, chunk.number) for chunk in self._unconfirmed} | self._kept.keys()
        for name in self._over.keys() - unkept:
            self._live[name].close()
            self._told[name] = None
            del self._over[name]

    def _next(self) -> Output:
        self._close()
        now = self._clock.elapsed_s()
        live: list[LiveChunk] = []
        room = MESSAGE_TEXT - sum(len(chunk.text) for chunk in self._unconfirmed)
        for name in [name for name in self._told if self._live[name].is_due(now)]:
            if room <= 0 or len(live) >= CHUNKS_MAX:
                break
            live.append(self._live[name].next())
            room -= len(live[-1].text)
            if live[-1].is_last:
                self._drop_live(name)
            else:
                del self._told[name]
        for name, kept in list(self._kept.items()):
            while room > 0 and len(self._unconfirmed) < CHUNKS_MAX and kept.is_due(now):
                self._unconfirmed.append(kept.next())
                room -= len(self._unconfirmed[-1].text)
            if kept.is_done:
                del self._kept[name]
        return Output(self._executor, live, self._unconfirmed)

    def _is_due(self) -> bool:
        """Return whether there is more than a message took."""
        now = self._clock.elapsed_s()
        return any(self._live[name].is_due(now) for name in self._told) or any(
            kept.is_due(now) for kept in self._kept.values()
        )

    async def _send(self, message: Output) -> bool:
        """Send a message; False if it is unknown whether it has arrived."""
        try:
            await self._context.link.output(message)
        except InvalidInputError:
            log.exception("output.refused")
        except MatinsError as error:
            GATEWAY_ERRORS.inc()
            log.debug("output.failed", error=str(error))
            return False
        self._count_kept(-sum(len(chunk.text) for chunk in self._unconfirmed))
        self._unconfirmed = []
        return True

    def _drop_live(self, name: AttemptName) -> None:
        self._live.pop(name, None)
        self._told.pop(name, None)
        self._over.pop(name, None)

    def _count_kept(self, change: int) -> None:
        """Count what waits to be kept: what was not sent, and what is not confirmed."""
        self._kept_size += change
        if self._kept_size:
            self.emptied.clear()
        else:
            self.emptied.set()
