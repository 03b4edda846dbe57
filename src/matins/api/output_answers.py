"""Answers who asks for the output of a run: with the text there is, or with events as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Final
from uuid import UUID

import msgspec
import structlog

from matins.api.following import RunFollower, SlowReaderError
from matins.api.status import StatusReader
from matins.domain.executors.protocol import RunStatus
from matins.domain.ports.output import LiveOutput
from matins.domain.run_events import RUN_EVENTS, EventPlace, OutputText, RunEvent, parse_place
from matins.domain.runs.output import last_lines
from matins.domain.runs.states import FINAL, RunState
from matins.domain.values.errors import MatinsError, NotFoundError, TooManyRequestsError
from matins.kernel.http import Receive, Scope, Send
from matins.kernel.streams import EVENTS, begin, cut, send_events, send_text, until_left
from matins.store.stored_output import StoredOutput

log = structlog.get_logger()

FOLLOWERS_MAX: Final = 4_000
"""The most that one process lets follow at once."""

_TEXT: Final = b"text/plain; charset=utf-8"
_WORDS: Final = {kind: name for name, kind in RUN_EVENTS.items()}


class OutputAnswers:
    """Outputs of runs, as text and as events. Stopped, it ends all that goes on."""

    def __init__(self, status: StatusReader, live: LiveOutput, stored: StoredOutput) -> None:
        self._stored = stored
        self._follower = RunFollower(status, live, stored)
        self._live = live
        self._stopping = asyncio.Event()
        self._followers = 0

    async def run(self) -> None:
        """Serve until stopped."""
        await self._stopping.wait()

    async def stop(self) -> None:
        """End all that goes on."""
        self._stopping.set()

    async def text(self, run_id: UUID, attempt: int | None, tail: int | None) -> TextAnswer:
        """Return what there is by now of the output of an attempt, or of the last one.

        Raises NotFoundError.
        """
        status = await self._standing(run_id, attempt)
        number = attempt or status.attempt
        if status.state is RunState.RUNNING and status.attempt == number:
            live = await self._live.so_far(run_id, number)
            if live.text and (live.offset == 0 or tail):
                return TextAnswer(number, _one(last_lines(live.text, tail or len(live.text))))
        if tail is not None:
            return TextAnswer(number, _one(await self._stored.last_lines(run_id, number, tail)))
        return TextAnswer(number, self._stored.pieces(run_id, number))

    async def events(self, run_id: UUID, attempt: int | None, last_id: str) -> EventAnswer:
        """Return what happens to a run until its end; `last_id` is of the last event that the
        caller has. Raises NotFoundError, TooManyRequestsError.
        """
        status = await self._standing(run_id, attempt)
        if self._followers >= FOLLOWERS_MAX:
            raise TooManyRequestsError(f"this process has {FOLLOWERS_MAX} followers already")
        return EventAnswer(self._encoded(status, attempt, parse_place(last_id)), self._stopping)

    async def _standing(self, run_id: UUID, attempt: int | None) -> RunStatus:
        status = await self._follower.status(run_id)
        if attempt is not None and attempt > status.attempt and status.state in FINAL:
            raise NotFoundError(f"run {run_id} has no attempt {attempt}; it had {status.attempt}")
        return status

    async def _encoded(
        self, status: RunStatus, attempt: int | None, place: EventPlace | None
    ) -> AsyncGenerator[bytes]:
        self._followers += 1
        try:
            async with aclosing(self._follower.follow(status, attempt, place)) as events:
                async for event in events:
                    yield _encoded(event)
        except SlowReaderError:
            log.info("output.dropped", run=str(status.id))
        except MatinsError as error:  # the caller comes again, from where it is
            log.info("output.broken_off", run=str(status.id), error=str(error))
        finally:
            self._followers -= 1


class TextAnswer:
    """Sends a text."""

    def __init__(self, number: int, pieces: AsyncIterator[str]) -> None:
        self._number = number
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await begin(send, _TEXT, [(b"matins-attempt", b"%d" % self._number)])
        try:
            await send_text(scope, receive, send, self._pieces)
        except MatinsError as error:  # it has begun: all that can be told is that it has no end
            log.info("output.broken_off", path=scope["path"], error=str(error))
            await cut(scope, until_left(receive))


class EventAnswer:
    """Sends events."""

    def __init__(self, events: AsyncGenerator[bytes], stopping: asyncio.Event) -> None:
        self._events = events
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await begin(send, EVENTS)
        await send_events(scope, receive, send, self._events, self._stopping)


async def _one(text: str) -> AsyncIterator[str]:
    yield text


def _encoded(event: RunEvent) -> bytes:
    """Return an event as it is sent; JSON has no line breaks."""
    name = f"event: {_WORDS[type(event)]}\n".encode()
    if isinstance(event, OutputText):
        name += f"id: {EventPlace(event.attempt, event.end)}\n".encode()
    return b"%bdata: %b\n\n" % (name, msgspec.json.encode(event))
