"""What needs no token: health, readiness, metrics, the description, and a page for browsers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.resources import files
from math import nan

import msgspec

from matins.domain.values.errors import NotFoundError, UnavailableError
from matins.kernel.http import MethodError, Scope, Send, respond
from matins.kernel.metrics import QUEUE_LAG, SCHEDULE_LAG, exposition
from matins.store.database import Database, check_writable
from matins.store.fleet import PostgresFleet

READY_S = 2.0
"""How long the database may take to answer."""

PATHS = frozenset({"/", "/health", "/ready", "/metrics", "/openapi.json"})

_METHODS = ("GET", "HEAD")
_JSON = b"application/json"
_HTML = b"text/html; charset=utf-8"


class Public:
    """Answers what anybody may ask."""

    def __init__(
        self, hot: Sequence[Database], fleet: PostgresFleet, description: dict[str, object]
    ) -> None:
        """`hot` are the pools without each of which the API is of no use."""
        self._hot = hot
        self._fleet = fleet
        self._description = msgspec.json.encode(description)
        self._welcome = (files("matins.api") / "welcome.html").read_bytes()

    async def __call__(self, scope: Scope, send: Send) -> None:
        """Answer a request. Raises NotFoundError, MethodError, UnavailableError."""
        path: str = scope["path"]
        if path in PATHS and scope["method"] not in _METHODS:
            raise MethodError(scope["method"], _METHODS)
        match path:
            case "/":
                await respond(send, 200, self._welcome, _HTML)
            case "/health":
                await respond(send, 200, b"ok\n")
            case "/ready":
                await respond(send, 200, await self._readiness())
            case "/metrics":
                await self._measure()
                await respond(send, 200, exposition())
            case "/openapi.json":
                await respond(send, 200, self._description, _JSON)
            case _:
                raise NotFoundError(f"nothing is at {path[:200]}")

    async def _readiness(self) -> bytes:
        """That the API can do its work, and what keeps the others from theirs, a line each.

        Without schedulers it is ready all the same: were it taken out of service, owners could not
        look, and executors could not report.
        """
        try:
            async with asyncio.timeout(READY_S):
                await check_writable(*self._hot)
                warnings = (await self._fleet.read()).warnings()
        except TimeoutError:
            raise UnavailableError(f"PostgreSQL did not answer within {READY_S:g} s") from None
        return "".join(f"{line}\n" for line in ["ready", *warnings]).encode()

    async def _measure(self) -> None:
        """Set the gauges that tell of all rows; nobody knows them while the database is away."""
        lags_s = (nan, nan)
        try:
            async with asyncio.timeout(READY_S):
                lags_s = await self._fleet.lags_s()
        except (TimeoutError, UnavailableError):
            pass
        for gauge, lag_s in zip((SCHEDULE_LAG, QUEUE_LAG), lags_s, strict=True):
            gauge.set(lag_s)
