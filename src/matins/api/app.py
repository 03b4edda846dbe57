"""The owners' side of the API as one ASGI application, with the gateway beside it on its paths.

Order of the doors: what needs no token, the gateway and pings with their own tokens, then the
owners' token, the status of a run, and everything else in Litestar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import NamedTuple

from litestar import Litestar, Router
from litestar.di import Provide
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
    pings,
    previews,
    restores,
    runs,
    system,
    teams,
    windows,
)
from matins.api.openapi import describe
from matins.api.parameters import refuse_unknown
from matins.api.principals import Principals, principal_of
from matins.api.problems import BODY_MAX, details_of, to_response
from matins.api.public import Public
from matins.api.status import StatusReader, run_asked_for
from matins.domain.ports import StatusCache
from matins.domain.ports.status import StatusView
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
from matins.owners.alert_rules import TeamRules
from matins.owners.channels import Channels
from matins.owners.checkins import Checkins
from matins.owners.owners import Owners
from matins.store.alert_reads import PostgresAlerts
from matins.store.audits import PostgresAudits
from matins.store.backfills import PostgresBackfillChanges
from matins.store.calendars import PostgresCalendars
from matins.store.channels import PostgresChannels
from matins.store.checkins import PostgresCheckins
from matins.store.cluster import PostgresCluster
from matins.store.database import Database
from matins.store.dead import PostgresDeadLetters
from matins.store.explanations import PostgresExplanations
from matins.store.failures import PostgresFailures
from matins.store.forecasts import PostgresForecasts
from matins.store.limits import PostgresLimits
from matins.store.outlooks import PostgresOutlooks
from matins.store.previews import PostgresPreviews
from matins.store.reads import PostgresReads
from matins.store.replays import PostgresReplayChanges
from matins.store.revisions import PostgresRevisions
from matins.store.teams import PostgresTeams
from matins.store.timings import KnownCalendars
from matins.store.windows import PostgresWindows

RESOURCES = (
    *(jobs, backfills, teams, limits, calendars, windows),
    *(channels, alerts, checkins),
    *(previews, forecasts, runs, dead, explanations, fleet, restores, system),
)
"""The modules whose routers are the API."""

GATEWAY_PREFIX = "/v1/executors/"
_JSON = b"application/json"


class Pools(NamedTuple):
    """The sessions of an API: it is ready if all of these can write."""

    owners: Database
    others: Sequence[Database]


def build_api(  # noqa: PLR0913 # what stands behind each of its doors
    *,
    pools: Pools,
    owners: Owners,
    deeds: Channels,
    checkin_deeds: Checkins,
    cache: StatusCache,
    gateway: App,
    system: StatusView,
    tokens: Mapping[str, str],
    demo: bool = False,
) -> App:
    """Build the API. `gateway` answers executors; `demo` serves the targets of the demo's jobs.

    `tokens` are those of owners, by name, and `deeds` what they do to channels;
    `checkin_deeds` takes pings. `system` tells
    whether all is well.
    """
    database = pools.owners
    reads = PostgresReads(database)
    status = StatusReader(reads, cache)
    known = KnownCalendars()
    database.server.when_changed(known.forget)
    forecasts = PostgresForecasts(database, known)
    database.server.when_changed(forecasts.forget)
    dependencies = {
        "reads": reads,
        "cluster": PostgresCluster(database),
        "owners": owners,
        "calendars": PostgresCalendars(database),
        "windows": PostgresWindows(database),
        **_of_alerts(database, deeds, checkin_deeds),
        "backfills": PostgresBackfillChanges(database, known),
        **_of_dead_runs(database, reads),
        "limits": PostgresLimits(database),
        "previews": PostgresPreviews(database, known, forecasts),
        "forecasts": forecasts,
        "explanations": PostgresExplanations(database, reads, known),
        "audits": PostgresAudits(database, known),
        "revisions": PostgresRevisions(database, reads),
        "teams": PostgresTeams(database),
        "outlooks": PostgresOutlooks(database),
        "status": status,
        "system": system,
    }
    resources = _resources(dependencies)
    public = Public([*pools.others, database], system, partial(describe, resources))
    doors = _Doors(gateway, pings.Pings(checkin_deeds))
    return _Front(resources, doors, public, status, Principals(tokens), has_demo=demo)


def _of_alerts(database: Database, deeds: Channels, checkin_deeds: Checkins) -> dict[str, object]:
    return {
        "deeds": deeds,
        "checkin_deeds": checkin_deeds,
        "alerts": PostgresAlerts(database),
        "rule_deeds": TeamRules(PostgresAlerts(database)),
        "channels": PostgresChannels(database),
        "checkins": PostgresCheckins(database),
    }


def _of_dead_runs(database: Database, reads: PostgresReads) -> dict[str, object]:
    return {
        "letters": PostgresDeadLetters(database),
        "replays": PostgresReplayChanges(database),
        "failures": PostgresFailures(database, reads),
    }


def _resources(dependencies: dict[str, object]) -> Litestar:
    def give(part: object) -> Provide:
        return Provide(lambda: part, sync_to_thread=False)

    return Litestar(
        [Router("/v1", route_handlers=[part.ROUTER for part in RESOURCES])],
        dependencies={name: give(part) for name, part in dependencies.items()}
        | {"principal": Provide(principal_of, sync_to_thread=False)},
        exception_handlers={Exception: to_response},
        before_request=refuse_unknown,
        request_max_body_size=BODY_MAX,
        openapi_config=OpenAPIConfig("Matins", version("matins"), path="/openapi"),
    )


class _Doors(NamedTuple):
    """What admits by tokens of its own."""

    gateway: App
    pings: App


class _Front:
    """Sends each request to whom it is for. Raises nothing: every error is answered."""

    def __init__(
        self,
        resources: Litestar,
        doors: _Doors,
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
        else:
            await self._public(scope, send)

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
