"""Addresses of names, by the host's own rules, for who may not wait for other people's names.

The host's resolver (getaddrinfo) knows /etc/hosts, nsswitch.conf and search domains, and can
neither be bounded nor be cancelled. So each look-up has a thread of its own, and who waits for it
can be: a thread that a silent name server holds holds up nobody else.
"""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread
from typing import Any, NamedTuple

from matins.kernel.clock import elapsed_s

AddressInfo = tuple[int, int, int, str, tuple[Any, ...]]
"""Family, type, protocol, canonical name and socket address, as getaddrinfo gives them."""

LOOKUP_S = 10.0
"""The longest that anybody waits for a name."""

STALE_AFTER_S = 1.0
"""So long a look-up is waited for where an older answer is known; then that one is taken."""

ASKER_MAX = 64
"""The most look-ups of one asker that run at once; its further ones wait for these."""

_FRESH_S = 10.0
_NAMES_MAX = 10_000
_UNKNOWN = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})


class _Resolved(NamedTuple):
    addresses: Sequence[AddressInfo]
    at_s: float


def look_up(host: str) -> Sequence[AddressInfo]:
    """Ask the host's resolver; blocks. Raises OSError."""
    return socket.getaddrinfo(host.encode(), 0, type=socket.SOCK_STREAM)


class Resolver:
    """Finds addresses, each name once at a time, and remembers them for some seconds.

    What was known before serves on when the name servers don't answer, but not when they say that
    there is no such name. Askers wait in queues of their own.
    """

    def __init__(
        self, look_up: Callable[[str], Sequence[AddressInfo]] = look_up, fresh_s: float = _FRESH_S
    ) -> None:
        self._look_up = look_up
        self._fresh_s = fresh_s
        self._known: OrderedDict[str, _Resolved] = OrderedDict()
        self._in_flight: dict[str, asyncio.Future[Sequence[AddressInfo]]] = {}
        self._slots: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(ASKER_MAX)
        )

    async def resolve(self, host: str, port: int, asker: str = "") -> list[AddressInfo]:
        """Return the addresses of a name, or the one that it is, with the port in them.

        Raises OSError; cancelled, it returns at once.
        """
        return [_with_port(address, port) for address in await self._addresses(host, asker)]

    async def _addresses(self, host: str, asker: str) -> Sequence[AddressInfo]:
        with suppress(OSError):
            return _numeric(host)
        known = self._known.get(host)
        if known and elapsed_s() - known.at_s < self._fresh_s:
            return known.addresses
        try:
            async with asyncio.timeout(STALE_AFTER_S if known else LOOKUP_S):
                return await self._found(host, asker)
        except TimeoutError:
            if known:
                return known.addresses
            message = f"no name server has answered within {LOOKUP_S:g} s"
            raise socket.gaierror(socket.EAI_AGAIN, message) from None
        except socket.gaierror as error:
            if known is None or error.errno in _UNKNOWN:
                raise
            return known.addresses

    async def _found(self, host: str, asker: str) -> Sequence[AddressInfo]:
        if host not in self._in_flight:
            slots = self._slots[asker]
            await slots.acquire()
            if host in self._in_flight:  # since we began to wait
                slots.release()
            else:
                self._start(host, slots)
        return await asyncio.shield(self._in_flight[host])

    def _start(self, host: str, slots: asyncio.Semaphore) -> None:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Sequence[AddressInfo]] = loop.create_future()
        self._in_flight[host] = answer

        def finish(result: Sequence[AddressInfo] | OSError) -> None:
            del self._in_flight[host]
            slots.release()
            self._learn(host, result)
            if isinstance(result, OSError):
                answer.set_exception(result)
                answer.exception()  # all who asked may have gone
            else:
                answer.set_result(result)

        def work() -> None:
            result: Sequence[AddressInfo] | OSError
            try:
                result = self._look_up(host)
            except OSError as error:
                result = error
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(finish, result)

        try:
            Thread(target=work, name=f"look up {host}", daemon=True).start()
        except RuntimeError as error:  # the host allows no more threads
            finish(OSError(str(error)))

    def _learn(self, host: str, result: Sequence[AddressInfo] | OSError) -> None:
        if not isinstance(result, OSError):
            self._known[host] = _Resolved(result, elapsed_s())
            self._known.move_to_end(host)
            if len(self._known) > _NAMES_MAX:
                self._known.popitem(last=False)
        elif isinstance(result, socket.gaierror) and result.errno in _UNKNOWN:
            self._known.pop(host, None)


def _numeric(host: str) -> Sequence[AddressInfo]:
    """Return the address that a text is. Raises OSError if it is a name; asks nobody."""
    flags = socket.AI_NUMERICHOST
    return socket.getaddrinfo(host.encode(), 0, type=socket.SOCK_STREAM, flags=flags)


def _with_port(address: AddressInfo, port: int) -> AddressInfo:
    family, kind, protocol, name, (ip, _, *rest) = address
    return family, kind, protocol, name, (ip, port, *rest)
