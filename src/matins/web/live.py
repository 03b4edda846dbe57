"""Live parts of pages: server-sent events that bring a part anew whenever it has changed.

A part is drawn once for all who look at it. Who reads slowly gets the newest state of it and misses
those between; who reads nothing at all is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Final, NamedTuple

import structlog

from matins.api.dependencies import Dependencies
from matins.domain.values.errors import MatinsError, NotFoundError, TooManyRequestsError
from matins.kernel.clock import elapsed_s
from matins.kernel.http import Receive, Scope, Send
from matins.kernel.metrics import LIVE_VIEWS
from matins.kernel.streams import EVENTS, begin, send_events

log = structlog.get_logger()

PREFIX: Final = "/live/"
VIEWS_MAX: Final = 4_000
"""The most views that one process serves."""

_STALE = b"event: stale\ndata:\n\n"
"""The part can't be drawn now: what is shown of it grows old."""


class LivePart(NamedTuple):
    """A part of a page: how to draw it, of what (the rest of its address), and how often.

    `look`, if there is one, is a short read beside that: as long as it gives the same, the part is
    drawn only every `unseen_s`, for what changes all the same.
    """

    name: str
    draw: Callable[[Dependencies, str], Awaitable[str]]
    every_s: float = 2.0
    look: Callable[[Dependencies, str], Awaitable[object]] | None = None
    unseen_s: float = 10.0


class _View:
    """What all who look at one part share: its newest state, and the wait for the next."""

    def __init__(self) -> None:
        self.event = b""
        self.changed = asyncio.Event()
        self.viewers = 0
        self.drawing: asyncio.Task[None] | None = None

    def show(self, event: bytes) -> None:
        """Wake all who wait for a new state."""
        self.event = event
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


class Live:
    """Answers GET /live/<part>/<of what>. Stopped, it ends all streams."""

    def __init__(self, parts: Mapping[str, LivePart], dependencies: Dependencies) -> None:
        self._parts = parts
        self._dependencies = dependencies
        self._views: dict[str, _View] = {}
        self._viewers = 0
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End all streams."""
        self._stopping.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Raises NotFoundError, TooManyRequestsError."""
        key = scope["path"].removeprefix(PREFIX)
        name, _, argument = key.partition("/")
        part = self._parts.get(name)
        if part is None:
            raise NotFoundError(f"there is no live part {name[:100]!r}")
        if self._viewers >= VIEWS_MAX:
            raise TooManyRequestsError(f"this process serves {VIEWS_MAX} live views already")
        self._viewers += 1
        LIVE_VIEWS.inc()
        view = self._views.setdefault(key, _View())
        view.viewers += 1
        try:
            if view.drawing is None:
                view.drawing = asyncio.create_task(self._draw(part, argument, view))
            await begin(send, EVENTS)
            await send_events(scope, receive, send, _events(view), self._stopping)
        finally:
            self._viewers -= 1
            LIVE_VIEWS.dec()
            view.viewers -= 1
            if not view.viewers and view.drawing is not None:
                view.drawing.cancel()
                self._views.pop(key, None)

    async def _draw(self, part: LivePart, argument: str, view: _View) -> None:
        """Draw a part again and again for as long as anybody looks."""
        shown, drawn = "", ""
        seen: object = None
        drawn_s = 0.0
        while True:
            try:
                before = seen
                seen = part.look and await part.look(self._dependencies, argument)
                is_old = elapsed_s() - drawn_s >= part.unseen_s
                if seen is None or seen != before or is_old or not drawn:
                    drawn_s = elapsed_s()
                    drawn = await part.draw(self._dependencies, argument)
            except MatinsError as error:
                log.info("live.failed", part=part.name, error=str(error))
                drawn = ""
            except Exception:
                log.exception("live.failed", part=part.name)
                drawn = ""
            if drawn != shown:
                shown = drawn
                view.show(_event(drawn) if drawn else _STALE)
            await asyncio.sleep(part.every_s)


async def _events(view: _View) -> AsyncGenerator[bytes]:
    """Give each state that there is when the reader is ready for it."""
    sent = b""
    while True:
        changed = view.changed
        if view.event == sent:
            await changed.wait()
        else:
            sent = view.event
            yield sent


def _event(html: str) -> bytes:
    lines = "".join(f"data: {line}\n" for line in html.splitlines())
    return f"event: part\n{lines}\n".encode()
