"""The owners' side of the API as one ASGI application, with the gateway beside it on its paths.

Order of the doors: the gateway and pings with their own tokens, then the owners' token for all of
`/v1/`, with the status of a run before Litestar; what needs no token; and pages for all the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from typing import NamedTuple

from litestar import Litestar, Router
from litestar.openapi import OpenAPIConfig
from litestar.routes import HTTPRoute

from matins.api import (
    alerts,
    backfills,
    calendars,
    channels,
    checkins,
    dead,
    demo,
    explanations,
    fleet,
    forecasts,
    jobs,
    limits,
    outputs,
    pings,
    previews,
    restores,
    runs,
    selections,
    sign_ins,
    system,
    teams,
    windows,
)
from matins.api.dependencies import Dependencies
from matins.api.openapi import describe
from matins.api.parameters import refuse_unknown
from matins.api.principals import Principals
from matins.api.problems import BODY_MAX, details_of, to_response
from matins.api.public import PATHS, Public
from matins.api.status import StatusReader, run_asked_for
from matins.kernel.http import (
    App,
    MethodError,
    Receive,
    Scope,
    Send,
    respond,
    respond_problem,
    whole_body,
)
from matins.store.database import Database

RESOURCES = (
    *(jobs, selections, backfills, teams, limits, calendars, windows),
    *(channels, alerts, checkins),
    *(previews, forecasts, runs, outputs, dead, explanations, fleet, restores, system),
    sign_ins,
)
"""The modules whose routers are the API."""

GATEWAY_PREFIX = "/v1/executors/"
_JSON = b"application/json"


class Pools(NamedTuple):
    """The sessions of an API: it is ready if all of these can write."""

    owners: Database
    others: Sequence[Database]


class Doors(NamedTuple):
    """What is behind doors with tokens of their own: executors, pings, and the web page."""

    gateway: App
    pings: App
    pages: App


def build_api(
    pools: Pools,
    dependencies: Dependencies,
    principals: Principals,
    doors: Doors,
    *,
    demo: bool = False,
) -> App:
    """Build the API. `demo` serves the targets of the demo's jobs."""
    resources = _resources(dependencies)
    hot = [*pools.others, pools.owners]
    public = Public(hot, dependencies.system, partial(describe, resources))
    return _Front(resources, doors, public, dependencies.status, principals, has_demo=demo)


def _resources(dependencies: Dependencies) -> Litestar:
    return Litestar(
        [Router("/v1", route_handlers=[part.ROUTER for part in RESOURCES])],
        dependencies=dependencies.provided(),
        exception_handlers={Exception: to_response},
        before_request=refuse_unknown,
        request_max_body_size=BODY_MAX,
        openapi_config=OpenAPIConfig("Matins", version("matins"), path="/openapi"),
    )


class _Front:
    """Sends each request to whom it is for. Raises nothing: every error is answered."""

    def __init__(
        self,
        resources: Litestar,
        doors: Doors,
        public: Public,
        status: StatusReader,
        principals: Principals,
        *,
        has_demo: bool,
    ) -> None:
        self._resources = resources
        self._doors = doors
        self._public = public
        self._status = status
        self._principals = principals
        self._has_demo = has_demo
        self._methods = _methods(resources)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        try:
            await self._route(scope, receive, send)
        except Exception as error:
            await respond_problem(send, details_of(error), error)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path.startswith(GATEWAY_PREFIX):
            await self._doors.gateway(scope, receive, send)
        elif path.startswith(pings.PREFIX):
            await self._doors.pings(scope, receive, send)
        elif path.startswith("/v1/"):
            await self._owners(scope, receive, send)
        elif self._has_demo and path.startswith(demo.PREFIX):
            await demo.demo(scope, receive, send)
        elif path in PATHS:
            await self._public(scope, send)
        else:
            await self._doors.pages(scope, receive, send)

    async def _owners(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._principals.admit(scope)
        run_id = run_asked_for(scope)
        if run_id is None:
            self._check_method(scope["method"], scope["path"])
            receive = whole_body(receive)
            await self._resources(scope, receive, send)  # type: ignore[arg-type] # the same messages
        else:
            await respond(send, 200, await self._status.read(run_id), _JSON)

    def _check_method(self, method: str, path: str) -> None:
        for pattern, methods in self._methods:
            if pattern.fullmatch(path) and method not in methods:
                raise MethodError(method, methods)


def _methods(resources: Litestar) -> list[tuple[re.Pattern[str], list[str]]]:
    """Return the methods of each path."""
    methods: list[tuple[re.Pattern[str], list[str]]] = []
    for route in resources.routes:
        if isinstance(route, HTTPRoute):
            pattern = re.sub(r"\{\w+\}", "[^/]+", route.path_format)
            methods.append(
                (re.compile(pattern + "/?"), sorted({*map(str, route.methods)} - {"OPTIONS"}))
            )
    return methods
