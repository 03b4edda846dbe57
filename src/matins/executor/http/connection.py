"""One connection for one request, on a socket of its own, so that nothing stands between the last
look at what may be sent and the sending.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from typing import Protocol

from aiohappyeyeballs import start_connection

from matins.executor.http.request import Origin
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

    def close(self) -> None:
        """Close it here and now."""


class ConnectError(Exception):
    """There is no connection, so nothing was sent; its text says why."""


async def connect(
    origin: Origin, addresses: list[AddressInfo], context: ssl.SSLContext
) -> Connection:
    """Connect to one of these addresses, and to no other. Raises ConnectError."""
    loop = asyncio.get_running_loop()
    try:
        sock = await start_connection(
            addresses, happy_eyeballs_delay=_EYEBALLS_S, interleave=1, loop=loop
        )
    except OSError as error:
        told = error.strerror or str(error)
        raise ConnectError(f"no connection to {origin.host}:{origin.port}: {told}") from error
    plain = _Plain(loop, sock)
    if not origin.tls:
        return plain
    secured = _Tls(plain, context, origin.host)
    try:
        await secured.shake_hands()
    except ssl.SSLCertVerificationError as error:
        plain.close()
        told = f"TLS: {origin.host} is not trusted: {error}"
        raise ConnectError(told) from error
    except OSError as error:
        plain.close()
        told = f"TLS with {origin.host}:{origin.port} failed: {error}"
        raise ConnectError(told) from error
    except BaseException:
        plain.close()
        raise
    return secured


class _Plain:
    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket) -> None:
        self._loop = loop
        self._socket = sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def begin(self, data: bytes) -> bytes:
        """See `Connection`."""
        try:
            return data[self._socket.send(data) :]
        except BlockingIOError:
            return data

    async def send(self, data: bytes) -> None:
        """See `Connection`."""
        await self._loop.sock_sendall(self._socket, data)

    async def receive(self) -> bytes:
        """See `Connection`."""
        return await self._loop.sock_recv(self._socket, _PIECE)

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
