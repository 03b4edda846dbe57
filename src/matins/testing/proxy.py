"""A proxy between a role and an engine or the API, that cuts, swallows, delays, or acts on the n-th
message.

    async with Proxy(("127.0.0.1", 5432), talk=PostgresTalk) as proxy:
        claimed = proxy.on_message(executes("INSERT INTO runs"), freeze_the_scheduler, nth=3)
        ... connect to 127.0.0.1:{proxy.port} ...
        await claimed.reached.wait()
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from matins.testing.hooks import (
    Action,
    Fate,
    Hold,
    Hook,
    Predicate,
    ReceivedMessage,
    answers,
    completes,
    executes,
    requests,
)
from matins.testing.messages import BodyPart, Direction, HttpTalk, PostgresTalk, RawTalk, Talk

__all__ = [
    "Address",
    "Direction",
    "Fate",
    "Hold",
    "HttpTalk",
    "PostgresTalk",
    "Proxy",
    "RawTalk",
    "ReceivedMessage",
    "answers",
    "completes",
    "executes",
    "requests",
]

Address = tuple[str, int] | Path
"""Host and port, or the path of a unix socket."""

_CHUNK = 64 * 1024


class Proxy:
    """Listens on a free port of 127.0.0.1, or on a unix socket, until its `async with` is left.

    `talk` cuts the connections into messages. What an action raises is raised at the end.
    """

    def __init__(
        self, upstream: Address, *, talk: Callable[[], Talk] = RawTalk, listen: Path | None = None
    ) -> None:
        self.upstream = upstream
        self.delay_s = 0.0
        """How long each read of bytes is kept back."""
        self.counts: Counter[Direction] = Counter()
        """How many messages have come, by direction."""
        self.connections = 0
        """How many connections were taken."""
        self._talk = talk
        self._listen = listen
        self._swallowed: set[Direction] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._hooks: list[Hook] = []
        self._links: set[_Link] = set()

    @property
    def port(self) -> int:
        """Where it listens on 127.0.0.1."""
        port: int = self._reserved.getsockname()[1]
        return port

    async def __aenter__(self) -> Self:
        if not self._listen:
            # bound but never listening: keeps the port ours while connections are refused
            self._reserved = _bind(0)
        await self._open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        carrying = [link.task for link in self._links]
        self.cut()
        await asyncio.gather(*carrying, return_exceptions=True)
        if self._listen:
            self._listen.unlink(missing_ok=True)
        else:
            self._reserved.close()
        for hook in self._hooks:
            await hook.close()
        errors = [raised for hook in self._hooks for raised in hook.errors]
        if errors and not error:
            raise errors[0]

    def on_message(self, predicate: Predicate, action: Action, *, nth: int | None = None) -> Hook:
        """Act on each message that the predicate finds, or on the n-th of them only."""
        hook = Hook(predicate, action, nth)
        self._hooks.append(hook)
        return hook

    def cut(self) -> None:
        """Reset all connections and refuse new ones, until healed."""
        self._server.close()
        for link in self._links:
            link.reset()

    def cut_connections(self) -> None:
        """Reset all connections that there are; new ones are taken."""
        for link in self._links:
            link.reset()

    def hole(self) -> None:
        """Swallow every byte, and the ends of connections too; new ones are taken by nobody."""
        self._swallowed = set(Direction)

    def swallow(self, direction: Direction) -> None:
        """Swallow what goes one way."""
        self._swallowed.add(direction)

    def stall(self) -> None:
        """Keep every byte back until healed, when all goes on: a network that was only slow."""
        self._flowing.clear()

    async def heal(self) -> None:
        """Pass everything again; connections that lost something are reset. Hooks stay."""
        self._swallowed = set()
        self._flowing.set()
        for link in self._links:
            if link.has_lost:
                link.reset()
        if not self._server.is_serving():
            await self._open()

    async def _open(self) -> None:
        if self._listen:
            self._listen.unlink(missing_ok=True)
            self._server = await asyncio.start_unix_server(self._take, self._listen)
        else:
            self._server = await asyncio.start_server(self._take, sock=_bind(self.port))

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection from a client, in a task of its own."""
        self.connections += 1
        link = _Link(self, self._talk(), self.connections, writer)
        self._links.add(link)
        link.task = asyncio.create_task(self._serve(link, reader))

    async def _serve(self, link: _Link, reader: asyncio.StreamReader) -> None:
        try:
            if self._swallowed == set(Direction):
                await link.vanish(reader)
            else:
                await link.carry(reader, *await _connect(self.upstream))
        except OSError:
            link.reset()
        finally:
            self._links.discard(link)
            link.close()

    async def judge(self, part: BodyPart, direction: Direction, connection: int) -> Fate:
        """Count a message, and let the hooks act; the first one that does not pass it decides."""
        self.counts[direction] += 1
        index, number = self.counts[direction], self.counts.total()
        message = ReceivedMessage(
            direction, part.kind, part.text, part.payload, index, number, connection
        )
        for hook in list(self._hooks):  # an action may add one
            verdict = await hook.judge(message)
            if verdict is not Fate.PASS:
                return verdict
        return Fate.PASS

    async def flow(self) -> None:
        """Wait while everything is stalled."""
        await self._flowing.wait()

    def swallows(self, direction: Direction) -> bool:
        """Return whether nothing gets through in a direction."""
        return direction in self._swallowed


class _Link:
    """Both ends of one connection."""

    def __init__(self, proxy: Proxy, talk: Talk, number: int, client: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._talk = talk
        self._number = number
        self._writers = [client]
        self.task: asyncio.Task[None]
        self.has_lost = False
        """Whether a byte, or the end, of it was swallowed."""

    async def carry(
        self, client: asyncio.StreamReader, server: asyncio.StreamReader, to: asyncio.StreamWriter
    ) -> None:
        """Carry both directions until both have ended. Raises OSError."""
        self._writers.append(to)
        pumps = [
            asyncio.create_task(self._pump(Direction.TO_SERVER, client, to)),
            asyncio.create_task(self._pump(Direction.TO_CLIENT, server, self._writers[0])),
        ]
        try:
            await asyncio.gather(*pumps)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def vanish(self, client: asyncio.StreamReader) -> None:
        """Take what the client says and answer nothing, until it is reset."""
        self.has_lost = True
        while await client.read(_CHUNK):
            pass
        await _for_ever()

    def reset(self) -> None:
        """Drop both ends with a RST."""
        self.task.cancel()
        at_once = struct.pack("ii", 1, 0)
        for writer in self._writers:
            if not writer.is_closing():
                end = writer.get_extra_info("socket")
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            writer.transport.abort()

    def close(self) -> None:
        """Close both ends, after what they still have to send."""
        for writer in self._writers:
            writer.close()

    async def _pump(
        self, direction: Direction, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while data := await reader.read(_CHUNK):
            await asyncio.sleep(self._proxy.delay_s)
            for part in self._talk.cut(direction, data):
                await self._pass_on(part, direction, writer)
        await self._proxy.flow()
        if self._proxy.swallows(direction):
            self.has_lost = True
            await _for_ever()
        writer.write(self._talk.rest(direction))
        writer.write_eof()

    async def _pass_on(
        self, part: BodyPart, direction: Direction, writer: asyncio.StreamWriter
    ) -> None:
        verdict = await self._proxy.judge(part, direction, self._number)
        if verdict is Fate.CUT:
            raise ConnectionAbortedError("cut by a hook")
        await self._proxy.flow()
        if self._proxy.swallows(direction):
            self.has_lost = True
        elif verdict is Fate.PASS:
            writer.write(part.payload)
            await writer.drain()


async def _for_ever() -> None:
    await asyncio.Event().wait()


def _bind(port: int) -> socket.socket:
    # asyncio turns Nagle's delay off only where the protocol is named; 40 ms a round trip otherwise
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    bound.bind(("127.0.0.1", port))
    return bound


async def _connect(upstream: Address) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if isinstance(upstream, Path):
        return await asyncio.open_unix_connection(upstream)
    return await asyncio.open_connection(*upstream)
