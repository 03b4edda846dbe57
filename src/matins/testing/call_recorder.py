"""The call recorder: the HTTP target of fault tests, which knows what was really called.

It has each arrival on the disk before it answers. The path says how it answers (see
`answers.ANSWERS`), the headers `Matins-*` say who calls. Run it in the test's process in
`async with CallRecorder(file)`, or apart:
`python -m matins.testing.call_recorder --file F --port 0`.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import struct
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, cast
from uuid import UUID, uuid4

import httptools
import uvloop

from matins.kernel.clock import wall_ns
from matins.kernel.service import stop_on_signals
from matins.testing.answers import AnswerBrokenError, Request, answer_to
from matins.testing.calls import Arrived, Call, CallEnded, CallsFile, End, read_calls

__all__ = ["Call", "CallRecorder", "read_calls"]


T = TypeVar("T")


class CallRecorder:
    """Serves on a port of its own (or a given one) until its `async with` is left."""

    def __init__(
        self,
        file: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        now_ns: Callable[[], int] = wall_ns,
    ) -> None:
        self._host = host
        self.port = port
        self._file = CallsFile(file)
        self._now_ns = now_ns
        self._name = uuid4().hex[:12]
        self._numbers = count(1)
        self._connections: set[_Connection] = set()

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        return f"http://{self._host}:{self.port}"

    async def __aenter__(self) -> Self:
        await self._file.__aenter__()
        self._server = await asyncio.get_running_loop().create_server(
            lambda: _Connection(self), self._host, self.port, backlog=2048
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.close()
        await asyncio.gather(*[connection.close() for connection in self._connections])
        await self._file.__aexit__(kind, error, at)

    def enter(self, connection: _Connection) -> None:
        """Count a connection in."""
        self._connections.add(connection)

    def leave(self, connection: _Connection) -> None:
        """Count a connection out."""
        self._connections.discard(connection)

    async def serve(self, request: Request, connection: _Connection) -> None:
        """Note the arrival, answer once that is on the disk, note the end. Raises OSError."""
        call = f"{self._name}/{next(self._numbers)}"
        how: End = "left"
        sent_ns = None
        try:
            await self._file.commit(_arrival(call, self._now_ns(), request))
            async for part in answer_to(request):
                sent_ns = self._now_ns()
                await connection.send(part)
            how = "answered"
        except AnswerBrokenError:
            how = "broken"
            connection.reset()
        except asyncio.CancelledError:
            sent_ns = None
            raise
        finally:
            self._file.append(CallEnded(call, sent_ns or self._now_ns(), how))


def _arrival(call: str, at_ns: int, request: Request) -> Arrived:
    """Return what the headers say of the caller; what they lack, or what can't be read, stays
    empty.
    """
    headers = request.headers
    return Arrived(
        call,
        at_ns,
        _read(UUID, headers.get("matins-run-id", "")),
        _read(int, headers.get("matins-attempt", "")) or 0,
        _read(datetime.fromisoformat, headers.get("matins-due-at", "")),
        headers.get("matins-job", ""),
        headers.get("matins-team", ""),
        headers.get("matins-kind", ""),
        request.method,
        request.path,
        len(request.body),
    )


def _read(parse: Callable[[str], T], text: str) -> T | None:
    try:
        return parse(text)
    except ValueError:
        return None


class _Connection(asyncio.Protocol):
    """One connection; its requests are served one after the other, until the caller goes away."""

    def __init__(self, server: CallRecorder) -> None:
        self._server = server
        self._parser = httptools.HttpRequestParser(self)
        self._requests: asyncio.Queue[Request] = asyncio.Queue()
        self._writable = asyncio.Event()
        self._writable.set()
        self._begin()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # not checked: uvloop's transports are no subclasses
        self._transport = cast("asyncio.Transport", transport)
        self._server.enter(self)
        self._task = asyncio.get_running_loop().create_task(self._run())

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._transport.close()

    def connection_lost(self, _error: Exception | None) -> None:
        self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def on_url(self, url: bytes) -> None:
        self._path += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        method = self._parser.get_method().decode("latin-1")
        keep_alive = self._parser.should_keep_alive()
        request = Request(method, self._path, self._headers, bytes(self._body), keep_alive)
        self._requests.put_nowait(request)
        self._begin()

    def _begin(self) -> None:
        self._path = ""
        self._headers: dict[str, str] = {}
        self._body = bytearray()

    async def _run(self) -> None:
        try:
            while True:
                request = await self._requests.get()
                await self._server.serve(request, self)
                if not request.keep_alive:
                    return
        finally:
            self._transport.close()
            self._server.leave(self)

    async def send(self, part: bytes) -> None:
        """Send a part of an answer, no faster than it is taken."""
        self._transport.write(part)
        await self._writable.wait()

    def reset(self) -> None:
        """Drop the connection with a RST."""
        at_once = struct.pack("ii", 1, 0)
        self._transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, at_once
        )
        self._transport.abort()

    async def close(self) -> None:
        """Drop the connection, and wait until the end of its call is noted."""
        self._transport.abort()
        self._task.cancel()
        await asyncio.wait([self._task])


async def serve_until_stopped(arguments: argparse.Namespace) -> None:
    """Serve until SIGTERM or SIGINT; the port goes to stdout and, if asked for, into a file."""
    stopping = asyncio.Event()
    stop_on_signals(stopping)
    async with CallRecorder(arguments.file, host=arguments.host, port=arguments.port) as server:
        print(server.port, flush=True)
        if arguments.port_file:
            partial = arguments.port_file.with_suffix(".partial")
            partial.write_text(f"{server.port}\n")
            partial.rename(arguments.port_file)
        await stopping.wait()


def main(argv: Sequence[str] | None = None) -> None:
    """Run a call recorder as a process of its own."""
    parser = argparse.ArgumentParser(
        prog="python -m matins.testing.call_recorder", description=__doc__
    )
    parser.add_argument("--file", type=Path, required=True, help="where calls are noted")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 for a free one")
    parser.add_argument("--port-file", type=Path, help="where to write the port once it listens")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve_until_stopped(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
