"""An HTTP/1.1 client: connections are used again, and nothing is sent twice.

It calls the API and the gateway, webhooks, and the dead man's switch.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import NamedTuple

import httptools

from matins.kernel.clock import elapsed_s
from matins.kernel.connection import ConnectError, Connection, connect, converse, tls_context
from matins.kernel.request import Origin, read_url, request_bytes
from matins.kernel.resolver import Resolver

CONNECT_S = 5.0
"""The longest that making a connection may take, once the addresses are known."""

KEPT_S = 30.0
"""How long a connection is kept that nothing uses; servers keep theirs longer."""

AT_ONCE_MAX = 100
"""The most exchanges at one time; further ones wait for these, before their limits begin."""


class LostAnswerError(Exception):
    """The request was sent, or part of it, and there is no whole answer; its text says why."""


class _IdleConnection(NamedTuple):
    connection: Connection
    since_s: float


class HttpClient:
    """Exchanges requests for answers. It follows no redirect, keeps no cookie, and takes no proxy
    from the environment.
    """

    def __init__(self, headers: Mapping[str, str], tls: ssl.SSLContext | None = None) -> None:
        """`headers` go with every request.

        `tls` is what to trust instead of the host's certificate authorities.
        """
        self._headers = {"User-Agent": "matins", **headers}
        self._trusted = tls
        self._resolver = Resolver()
        self._slots = asyncio.Semaphore(AT_ONCE_MAX)
        self._idle: defaultdict[Origin, deque[_IdleConnection]] = defaultdict(deque)

    async def exchange(
        self,
        method: str,
        url: str,
        body: bytes | None,
        limit_s: float,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """Send one request within a time; return the status and the body of its answer.

        Raises ConnectError where nothing was sent, LostAnswerError where that is unknown, and
        ValueError where the URL or a header can't be used.
        """
        where = read_url(url)
        sent_headers = {**self._headers, **(headers or {})}
        request = request_bytes(method, where, sent_headers, body, is_last=False)
        async with self._slots:
            try:
                async with asyncio.timeout(limit_s):
                    connection = self._reused(where.origin) or await self._connected(where.origin)
                    answer = await self._answer(connection, where.origin, request)
            except TimeoutError as error:
                self._drop(where.origin)  # what has become silent may be the way to all of it
                raise LostAnswerError(f"no whole answer within {limit_s:g} s") from error
        return answer.status, b"".join(answer.body)

    @asynccontextmanager
    async def stream(
        self, url: str, idle_s: float, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[tuple[int, AsyncIterator[bytes]]]:
        """GET what goes on: gives the status, and the pieces of the body as they come.

        The connection is for this alone. Nothing is read ahead of who takes the pieces, and there
        is to be something to read at least every `idle_s`. Raises as `exchange` does.
        """
        where = read_url(url)
        request = request_bytes("GET", where, {**self._headers, **(headers or {})}, None)
        connection = await self._connected(where.origin)
        answer = _Answer()
        try:
            async with _told_as_lost(CONNECT_S):
                await connection.send(connection.begin(request))
            while not answer.status:
                await _read_on(connection, answer, idle_s)
            yield answer.status, _pieces(connection, answer, idle_s)
        finally:
            answer.close()
            connection.close()

    def close(self) -> None:
        """Close the connections that are kept."""
        for origin in self._idle:
            self._drop(origin)

    def _drop(self, origin: Origin) -> None:
        idle = self._idle[origin]
        while idle:
            idle.pop().connection.close()

    def _reused(self, origin: Origin) -> Connection | None:
        """Return a kept connection that still stands, the one used last; close the others."""
        idle = self._idle[origin]
        while idle and elapsed_s() - idle[0].since_s > KEPT_S:
            idle.popleft().connection.close()
        while idle:
            connection = idle.pop().connection
            if connection.is_idle():
                return connection
            connection.close()
        return None

    async def _connected(self, origin: Origin) -> Connection:
        """Connect. Raises ConnectError."""
        try:
            addresses = await self._resolver.resolve(origin.host, origin.port)
        except OSError as error:
            raise ConnectError(error.strerror or str(error)) from error
        try:
            async with asyncio.timeout(CONNECT_S):
                return await connect(origin, addresses, self._tls if origin.tls else None)
        except TimeoutError as error:
            raise ConnectError(f"no connection within {CONNECT_S:g} s") from error

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._trusted or tls_context()

    async def _answer(self, connection: Connection, origin: Origin, request: bytes) -> _Answer:
        """Send a request and return its whole answer. Raises LostAnswerError."""
        answer = _Answer()
        try:
            is_whole = await converse(connection, request, answer)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise LostAnswerError(f"the answer is not HTTP: {error}") from error
        except OSError as error:
            cause = error.strerror or str(error)
            raise LostAnswerError(f"the connection was lost: {cause}") from error
        finally:
            answer.close()
            if answer.leaves_open:
                self._idle[origin].append(_IdleConnection(connection, elapsed_s()))
            else:
                connection.close()
        if not is_whole:
            part = "before" if answer.status == 0 else "in the middle of"
            raise LostAnswerError(f"the connection was closed {part} the answer")
        return answer


async def _pieces(connection: Connection, answer: _Answer, idle_s: float) -> AsyncIterator[bytes]:
    while True:
        if answer.body:
            piece = b"".join(answer.body)
            answer.body.clear()
            yield piece
        elif answer.is_complete:
            return
        else:
            await _read_on(connection, answer, idle_s)


async def _read_on(connection: Connection, answer: _Answer, idle_s: float) -> None:
    """Take the next bytes of an answer. Raises LostAnswerError."""
    async with _told_as_lost(idle_s):
        data = await connection.receive()
        if data:
            answer.feed(data)
        elif not answer.end():
            raise LostAnswerError("the connection was closed in the middle of the answer")


@asynccontextmanager
async def _told_as_lost(limit_s: float) -> AsyncIterator[None]:
    """Raise LostAnswerError for whatever goes wrong on a connection, or takes too long."""
    try:
        async with asyncio.timeout(limit_s):
            yield
    except TimeoutError as error:
        raise LostAnswerError(f"nothing came for {limit_s:g} s") from error
    except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
        raise LostAnswerError(f"the answer is not HTTP: {error}") from error
    except OSError as error:
        raise LostAnswerError(f"the connection was lost: {error.strerror or str(error)}") from error


class _Answer:
    """An answer as it comes, by a parser that is as strict as shared connections need."""

    def __init__(self) -> None:
        self.status = 0
        self.body: list[bytes] = []
        self.is_complete = False
        self.leaves_open = False
        """It is whole, and the connection can be used again."""
        self._lasts_to_the_end = False
        self._has_length = False
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Take the next bytes. Raises HttpParserError, HttpParserUpgrade."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self.leaves_open = False
            if not self.is_complete:
                raise

    def end(self) -> bool:
        """Take the end of the connection; return whether the answer is whole with it."""
        self.is_complete = self.is_complete or self._lasts_to_the_end
        return self.is_complete

    def close(self) -> None:
        """Let go of the parser, which holds on to this answer."""
        del self._parser

    def on_message_begin(self) -> None:
        """Take nothing that comes after the answer."""
        self.leaves_open = False

    def on_header(self, name: bytes, _value: bytes) -> None:
        """Note whether the head says where the body ends."""
        self._has_length |= name.lower() in (b"content-length", b"transfer-encoding")

    def on_headers_complete(self) -> None:
        """Take the status, unless it is an interim one."""
        status = self._parser.get_status_code()
        if status >= 200 and not self.is_complete:
            self.status = status
            self._lasts_to_the_end = not self._has_length

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        if not self.is_complete:
            self.body.append(body)

    def on_message_complete(self) -> None:
        """Take the end of the answer, unless it is an interim one."""
        if self.status and not self.is_complete:
            self.is_complete = True
            self.leaves_open = self._parser.should_keep_alive()
