"""Answers that go on: a piece at a time, to readers that may hang up or stop reading."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Final

import structlog

from matins.kernel.http import Receive, Send

log = structlog.get_logger()

SEND_S: Final = 10.0
"""Who has not taken what was sent for so long is dropped."""

BEAT_S: Final = 15.0
"""An empty comment is sent where nothing came for so long, so that no proxy hangs up."""

BEAT: Final = b":\n\n"
EVENTS: Final = b"text/event-stream; charset=utf-8"

_HEADERS: Final = [(b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]


async def begin(
    send: Send, content_type: bytes, headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    """Begin an answer whose length is not known."""
    head = [(b"content-type", content_type), *_HEADERS, *(headers or [])]
    await send({"type": "http.response.start", "status": 200, "headers": head})


async def until_left(receive: Receive) -> None:
    """Wait until the client hangs up."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def is_taken(send: Send, piece: bytes, *, more: bool = True) -> bool:
    """Send, and return whether the reader has taken it in time."""
    try:
        async with asyncio.timeout(SEND_S):
            await send({"type": "http.response.body", "body": piece, "more_body": more})
    except TimeoutError:
        log.info("stream.dropped")
        return False
    return True


async def send_text(send: Send, pieces: AsyncIterator[str]) -> None:
    """Send pieces of a text, and then the end; to a slow reader no end, by which it knows."""
    async for piece in pieces:
        if not await is_taken(send, piece.encode()):
            return
    await is_taken(send, b"", more=False)


async def send_events(
    receive: Receive, send: Send, events: AsyncGenerator[bytes], stopping: asyncio.Event
) -> None:
    """Send events as they come until they end, the client hangs up, or we stop."""
    leaving = asyncio.create_task(until_left(receive))
    stopped = asyncio.create_task(stopping.wait())
    upcoming: asyncio.Task[bytes | None] | None = None
    async with aclosing(events):
        try:
            while not (leaving.done() or stopped.done()):
                upcoming = upcoming or asyncio.create_task(_next(events))
                done, _ = await asyncio.wait(
                    [upcoming, leaving, stopped],
                    timeout=BEAT_S,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                event: bytes | None = BEAT
                if upcoming in done:
                    event, upcoming = upcoming.result(), None
                elif done:
                    break
                if event is None or not await is_taken(send, event):
                    break
            if not leaving.done():
                await is_taken(send, b"", more=False)
        finally:
            for task in (leaving, stopped, upcoming):
                if task is not None:
                    task.cancel()
            if upcoming is not None:
                await asyncio.gather(upcoming, return_exceptions=True)


async def _next(events: AsyncGenerator[bytes]) -> bytes | None:
    return await anext(events, None)
