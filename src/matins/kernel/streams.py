"""Answers that go on: a piece at a time, to readers that may hang up or stop reading."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import aclosing
from typing import Final

import structlog

from matins.kernel.http import DROP, Receive, Scope, Send

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


async def cut(scope: Scope, left: Awaitable[None]) -> None:
    """Cut the connection: there is no end, by which the reader knows that it does not have all.

    What waits for a slow reader goes with it. Who returns without an end before the server has seen
    that the client `left` is taken for broken.
    """
    scope["extensions"][DROP]()
    await left


async def is_taken(send: Send, piece: bytes, *, more: bool = True) -> bool:
    """Send, and return whether the reader has taken it in time."""
    try:
        async with asyncio.timeout(SEND_S):
            await send({"type": "http.response.body", "body": piece, "more_body": more})
    except TimeoutError:
        return False
    return True


async def send_text(scope: Scope, receive: Receive, send: Send, pieces: AsyncIterator[str]) -> None:
    """Send pieces of a text, and then the end; a slow reader is dropped."""
    async for piece in pieces:
        if not await is_taken(send, piece.encode()):
            break
    else:
        if await is_taken(send, b"", more=False):
            return
    log.info("stream.dropped", path=scope["path"])
    await cut(scope, until_left(receive))


async def send_events(
    scope: Scope,
    receive: Receive,
    send: Send,
    events: AsyncGenerator[bytes],
    stopping: asyncio.Event,
) -> None:
    """Send events as they come until they end, the client hangs up, or we stop; a slow reader is
    dropped.
    """
    leaving = asyncio.create_task(until_left(receive))
    stopped = asyncio.create_task(stopping.wait())
    upcoming: asyncio.Task[bytes | None] | None = None
    async with aclosing(events):
        try:
            is_read = True
            while is_read and not (leaving.done() or stopped.done()):
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
                if event is None:
                    break
                is_read = await is_taken(send, event)
            if not leaving.done() and not (is_read and await is_taken(send, b"", more=False)):
                log.info("stream.dropped", path=scope["path"])
                await cut(scope, leaving)
        finally:
            for task in (leaving, stopped, upcoming):
                if task is not None:
                    task.cancel()
            if upcoming is not None:
                await asyncio.gather(upcoming, return_exceptions=True)


async def _next(events: AsyncGenerator[bytes]) -> bytes | None:
    return await anext(events, None)
