"""Answers that go on, to readers that hang up, or read nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, MutableMapping
from typing import Any

import pytest

from matins.kernel import streams
from matins.kernel.http import DROP
from matins.kernel.streams import BEAT, send_events

Message = MutableMapping[str, Any]


class Connection:
    """A client, as an ASGI server shows it."""

    def __init__(self, *, reads: bool = True) -> None:
        self.got: list[bytes] = []
        self.is_over = False
        self.hung_up = asyncio.Event()
        self.is_cut = False
        self._reads = reads

    def cut(self) -> None:
        self.is_cut = True
        self.hung_up.set()

    async def receive(self) -> Message:
        await self.hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if not self._reads:
            await asyncio.Event().wait()
        self.got += [message["body"]] if message["body"] else []
        self.is_over = not message["more_body"]


class Events:
    """Events that come, and whether they were let go of."""

    def __init__(self, *events: bytes, then_waits: bool = True) -> None:
        self._events = events
        self._then_waits = then_waits
        self.is_closed = False

    async def give(self) -> AsyncGenerator[bytes]:
        try:
            for event in self._events:
                yield event
            if self._then_waits:
                await asyncio.Event().wait()
        finally:
            self.is_closed = True


async def sent(connection: Connection, events: Events, stopping: asyncio.Event) -> None:
    async with asyncio.timeout(20):
        scope = {"path": "/", "extensions": {DROP: connection.cut}}
        await send_events(scope, connection.receive, connection.send, events.give(), stopping)
    assert events.is_closed


async def test_events_are_sent_up_to_their_end() -> None:
    connection = Connection()
    await sent(connection, Events(b"one", b"two", then_waits=False), asyncio.Event())
    assert (connection.got, connection.is_over) == ([b"one", b"two"], True)
    assert not connection.is_cut


async def test_who_hangs_up_is_sent_nothing_more() -> None:
    connection = Connection()
    asyncio.get_running_loop().call_later(0.05, connection.hung_up.set)
    await sent(connection, Events(b"one"), asyncio.Event())
    assert (connection.got, connection.is_over) == ([b"one"], False)


async def test_a_process_that_stops_ends_its_streams() -> None:
    connection, stopping = Connection(), asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, stopping.set)
    await sent(connection, Events(b"one"), stopping)
    assert (connection.got, connection.is_over) == ([b"one"], True)


async def test_who_reads_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "SEND_S", 0.05)
    connection = Connection(reads=False)
    await sent(connection, Events(b"one"), asyncio.Event())
    assert connection.is_cut
    assert not connection.is_over


async def test_a_silent_stream_shows_that_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BEAT_S", 0.01)
    connection, stopping = Connection(), asyncio.Event()
    asyncio.get_running_loop().call_later(0.2, stopping.set)
    await sent(connection, Events(), stopping)
    assert set(connection.got) == {BEAT}
