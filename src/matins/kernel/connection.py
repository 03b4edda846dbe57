"""Connections of HTTP clients, on sockets of their own, so that nothing stands between the last
look at what may be sent and the sending.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from contextlib import suppress
from typing import Protocol

from aiohappyeyeballs import start_connection

from matins.kernel.request import Origin
from matins.kernel.resolver import AddressInfo

_EYEBALLS_S = 0.25
"""How long one address is tried before the next one is tried beside it (RFC 8305)."""

_PIECE = 64 * 1024


class Connection(Protocol):
    """A connection that stands."""

    def begin(self, data: bytes) -> bytes:
        """Send here and now what the socket takes; return what is left. Raises OSError."""

    async def send(self, data: bytes) -> None:
        """Send what `begin` has left. Raises OSError."""

    async def receive(self) -> bytes:
        """Return the next bytes; none at the end. Raises OSError."""

    def is_idle(self) -> bool:
        """Return whether all was sent, and the other side neither says anything nor has hung up."""

    def close(self) -> None:
        """Close it here and now."""


class Incoming(Protocol):
    """An answer as it comes."""

    @property
    def is_complete(self) -> bool:
        """Whether it is whole, so that no more is to be read."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""

    def end(self) -> bool:
        """Take the end of the connection; return whether the answer is whole with it."""


class ConnectError(Exception):
    """There is no connection, so nothing was sent; its text says why, and not with whom."""


def tls_context() -> ssl.SSLContext:
    """Return what trusts the host's certificate authorities, and those of SSL_CERT_FILE."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


async def connect(
    origin: Origin, addresses: list[AddressInfo], context: ssl.SSLContext | None
) -> Connection:
    """Connect to one of these addresses, and to no other. Raises ConnectError.

    `context` is what to trust, where the origin speaks TLS.
    """
    loop = asyncio.get_running_loop()
    try:
        sock = await start_connection(
            addresses, happy_eyeballs_delay=_EYEBALLS_S, interleave=1, loop=loop
        )
    except OSError as error:
        message = os.strerror(error.errno) if error.errno else str(error)
        raise ConnectError(message) from error
    plain = _Plain(loop, sock)
    if not origin.tls:
        return plain
    assert context is not None, "TLS needs to know what to trust"
    secured = _Tls(plain, context, origin.host)
    try:
        await secured.shake_hands()
    except ssl.SSLCertVerificationError as error:
        plain.close()
        raise ConnectError(f"{origin.host} is not trusted: {error}") from error
    except OSError as error:
        plain.close()
        raise ConnectError(f"TLS failed: {error}") from error
    except BaseException:
        plain.close()
        raise
    return secured


async def converse(connection: Connection, request: bytes, answer: Incoming) -> bool:
    """Send a request and read until the answer is whole, which may be before all was sent.

    The first bytes leave before anything else can happen in this process. Return whether the answer
    came whole. Raises OSError, and what the answer makes of its bytes.
    """
    rest = connection.begin(request)
    sending = asyncio.create_task(connection.send(rest)) if rest else None
    try:
        while not answer.is_complete:
            if data := await connection.receive():
                answer.feed(data)
            elif not answer.end():
                return False
    finally:
        if sending:
            sending.cancel()
            with suppress(OSError, asyncio.CancelledError):
                await sending
    return True


class _Plain:
    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket) -> None:
        self._loop = loop
        self._socket = sock
        self._is_sending = False
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def begin(self, data: bytes) -> bytes:
        """See `Connection`."""
        rest = data
        with suppress(BlockingIOError):
            rest = data[self._socket.send(data) :]
        self._is_sending = bool(rest)
        return rest

    async def send(self, data: bytes) -> None:
        """See `Connection`."""
        await self._loop.sock_sendall(self._socket, data)
        self._is_sending = False

    async def receive(self) -> bytes:
        """See `Connection`."""
        return await self._loop.sock_recv(self._socket, _PIECE)

    def is_idle(self) -> bool:
        """See `Connection`."""
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return not self._is_sending
        except OSError:
            return False
        return False

    def close(self) -> None:
        """See `Connection`."""
        self._socket.close()


class _Tls:
    """TLS over a plain connection."""

    def __init__(self, plain: _Plain, context: ssl.SSLContext, host: str) -> None:
        self._plain = plain
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._sending = asyncio.Lock()

    async def shake_hands(self) -> None:
        """Agree on keys, and see that the server is who it should be. Raises OSError."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                await self._flush()
                await self._fill()
            except ssl.SSLError:
                self._plain.begin(self._outgoing.read())  # the server is told why
                raise
            else:
                await self._flush()
                return

    def begin(self, data: bytes) -> bytes:
        """See `Connection`."""
        written = 0
        while written < len(data):
            written += self._tls.write(data[written:])
        return self._plain.begin(self._outgoing.read())

    async def send(self, data: bytes) -> None:
        """See `Connection`. What is left is ciphertext already."""
        async with self._sending:
            await self._plain.send(data)

    async def receive(self) -> bytes:
        """See `Connection`."""
        while True:
            try:
                return self._tls.read(_PIECE)
            except ssl.SSLWantReadError:
                await self._flush()  # as for an update of keys
                await self._fill()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""

    def is_idle(self) -> bool:
        """See `Connection`."""
        return not self._incoming.pending and not self._tls.pending() and self._plain.is_idle()

    def close(self) -> None:
        """See `Connection`."""
        with suppress(OSError):
            self._tls.unwrap()  # it writes the good-bye, and waits for no answer
        with suppress(OSError):
            self._plain.begin(self._outgoing.read())
        self._plain.close()

    async def _fill(self) -> None:
        if data := await self._plain.receive():
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    async def _flush(self) -> None:
        if self._outgoing.pending:
            async with self._sending:
                await self._plain.send(self._outgoing.read())
