"""What needs no token: health, readiness, metrics and the description."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from matins.domain.ports.status import StatusView
from matins.domain.values.errors import NotFoundError, UnavailableError
from matins.kernel.http import SAFE_METHODS, MethodError, Scope, Send, respond
from matins.kernel.metrics import exposition
from matins.store.database import Database, check_writable

READY_S = 2.0
"""How long the database may take to answer."""

PATHS = frozenset({"/health", "/ready", "/metrics", "/openapi.json"})

_JSON = b"application/json"


class Public:
    """Answers what anybody may ask."""

    def __init__(
        self,
        hot: Sequence[Database],
        system: StatusView,
        describe: Callable[[], dict[str, object]],
    ) -> None:
        """`hot` are the pools without each of which the API is of no use. `describe` gives the
        description of the API, and is called once somebody asks: it takes a third of a start.
        """
        self._hot = hot
        self._system = system
        self._describe = describe
        self._describing = asyncio.Lock()
        self._description = b""

    async def __call__(self, scope: Scope, send: Send) -> None:
        """Answer a request. Raises NotFoundError, MethodError, UnavailableError."""
        path: str = scope["path"]
        if path in PATHS and scope["method"] not in SAFE_METHODS:
            raise MethodError(scope["method"], SAFE_METHODS)
        match path:
            case "/health":
                await respond(send, 200, b"ok\n")
            case "/ready":
                await respond(send, 200, await self._readiness())
            case "/metrics":
                await self._system.status()  # which sets the gauges that tell of all rows
                await respond(send, 200, exposition())
            case "/openapi.json":
                await respond(send, 200, await self._described(), _JSON)
            case _:
                raise NotFoundError(f"nothing is at {path[:200]}")

    async def _described(self) -> bytes:
        async with self._describing:
            if not self._description:  # made in a thread, or all others would wait
                self._description = msgspec.json.encode(await asyncio.to_thread(self._describe))
        return self._description

    async def _readiness(self) -> bytes:
        """That the API can do its work, and what keeps the others from theirs, a line each.

        Without schedulers it is ready all the same: were it taken out of service, owners could not
        look, and executors could not report.
        """
        try:
            async with asyncio.timeout(READY_S):
                await check_writable(*self._hot)
        except TimeoutError:
            raise UnavailableError(f"PostgreSQL did not answer within {READY_S:g} s") from None
        findings = (await self._system.status()).findings
        lines = ["ready", *(finding.what for finding in findings)]
        return "".join(f"{line}\n" for line in lines).encode()
