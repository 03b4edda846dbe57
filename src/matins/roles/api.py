"""The role `api`: owners' side, gateway and status."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from functools import partial
from random import SystemRandom

from matins.alerts.channels.by_apprise import notify_by_apprise, send_by_apprise
from matins.alerts.channels.webhook import WebhookSender
from matins.alerts.delivering import DeliveryService
from matins.alerts.operators import OperatorAlerts
from matins.alerts.switch import DeadMansSwitch
from matins.alerts.watching import AlertWatch
from matins.api.app import Doors, Pools, build_api
from matins.api.dependencies import OutputPorts, dependencies_on
from matins.api.pings import Pings
from matins.api.principals import Principals
from matins.cache.output import ValkeyLiveOutput
from matins.cache.status import ValkeyStatusCache
from matins.domain.ports.status import Probe, StatusView
from matins.domain.runs.output import OutputBounds
from matins.engines.endpoints import ApiEndpoint, Endpoints
from matins.gateway.asgi import Gateway, GatewayPorts
from matins.kernel.clock import HostClock
from matins.kernel.http import HttpServer
from matins.kernel.sealing import Sealer
from matins.kernel.service import Service, run_services
from matins.kernel.settings import Settings
from matins.roles.database import HOT_LOCK_S, open_database
from matins.roles.deeds import postgres_deeds
from matins.roles.process import run_role
from matins.status.tallying import Tallying
from matins.status.watch import LOOK_S, StatusWatch
from matins.store.alerts import PostgresLookout
from matins.store.database import Database
from matins.store.dispatch import PostgresDispatch
from matins.store.hints import PostgresHints
from matins.store.locks import PostgresLocks
from matins.store.migrate import check_database
from matins.store.outbox import PostgresOutbox
from matins.store.output import PostgresKeptOutput
from matins.store.output_place import outside_output
from matins.store.server import Server, ServerWatch
from matins.store.status import PostgresStatusReads
from matins.store.timings import KnownCalendars
from matins.web.app import Web


def run_api(settings: Settings, *, demo: bool = False) -> None:
    """Run the API: owners' side, gateway and status. `demo` serves the demo's targets as well."""
    run_role("api", settings, lambda stopping: _api(settings, stopping, demo=demo))


async def _api(settings: Settings, stopping: asyncio.Event, *, demo: bool) -> None:
    endpoints = Endpoints(settings)
    server = Server(endpoints.postgres())
    await check_database(server)
    clock, rng = HostClock(), SystemRandom()
    async with AsyncExitStack() as stack:
        enter, pool = stack.enter_async_context, partial(open_database, server)
        hot = partial(pool, by_key_only=True)
        dequeues = await enter(hot("dequeue", 2, lock_s=HOT_LOCK_S))
        records = await enter(hot("record", 2, lock_s=HOT_LOCK_S))
        heartbeats = await enter(hot("heartbeat", 4))
        owners = await enter(pool("owners", 8))
        alerts = await enter(hot("alerts", 4))
        looks = await enter(hot("status", 1, deadline_s=LOOK_S))
        hints, cache = PostgresHints(owners), ValkeyStatusCache(endpoints.valkey())
        stack.push_async_callback(cache.close)
        dispatch = PostgresDispatch(dequeues, records, heartbeats, bounds=_bounds(settings))
        live = ValkeyLiveOutput(endpoints.valkey())
        stack.push_async_callback(live.close)
        outside = outside_output(settings.output_store)
        kept = outside or PostgresKeptOutput(await enter(pool("output", 2)))
        ports = GatewayPorts(dispatch, hints, cache, live, kept)
        gateway = Gateway(ports, clock, rng, endpoints.executor_token(), settings)
        sealer = Sealer(endpoints.secret_keys())
        system = _status_watch(looks, cache, outside, clock, settings)
        deeds = postgres_deeds(owners, hints, sealer, rng)
        dependencies = dependencies_on(owners, deeds, cache, OutputPorts(live, kept), system)
        principals = Principals(endpoints.tokens())
        web = Web(dependencies, principals, rng)
        app = build_api(
            Pools(owners, [dequeues, records, heartbeats]),
            dependencies,
            principals,
            Doors(gateway, Pings(deeds.checkins), web),
            demo=demo,
        )
        door = HttpServer(app, settings.host, settings.port)
        endpoints.publish_api(endpoint := ApiEndpoint(door.url, os.getpid()))
        # Stopped last first: the waiting polls are answered before the server waits for them.
        services: list[Service] = [
            ServerWatch(server, clock),
            *(system, Tallying(dependencies.tallies, clock), door, web, dependencies.outputs),
            *gateway.services(),
            *_alerting(alerts, sealer, clock, settings),
            *_telling(system, clock, settings),
        ]
        try:
            await run_services(services, stopping)
        finally:
            endpoints.withdraw_api(endpoint)


def _bounds(settings: Settings) -> OutputBounds:
    return OutputBounds(settings.output_bytes, settings.output_bytes_max)


def _alerting(
    database: Database, sealer: Sealer, clock: HostClock, settings: Settings
) -> list[Service]:
    """Return what finds out which jobs are bad, and what tells their owners."""
    known = KnownCalendars()
    database.server.when_changed(known.forget)
    outbox, webhooks = PostgresOutbox(database), WebhookSender()
    lookout, locks = PostgresLookout(database, known), PostgresLocks(database)
    return [
        AlertWatch(lookout, outbox, locks, clock, settings.alert_look_s),
        DeliveryService(
            outbox,
            sealer,
            {"webhook": webhooks, "apprise": send_by_apprise},
            clock,
            settings.poll_s,
        ),
    ]


def _status_watch(
    looks: Database,
    cache: ValkeyStatusCache,
    outputs: Probe | None,
    clock: HostClock,
    settings: Settings,
) -> StatusWatch:
    return StatusWatch(
        PostgresStatusReads(looks),
        cache,
        clock,
        outputs=outputs,
        every_s=settings.status_every_s,
        report_after_s=settings.status_after_s,
    )


def _telling(system: StatusView, clock: HostClock, settings: Settings) -> list[Service]:
    """Return what tells operators that something is wrong, and somebody outside that nothing is."""
    services: list[Service] = []
    if settings.operators_url is not None:
        notify = partial(notify_by_apprise, settings.operators_url)
        settle_s = settings.status_after_s
        services.append(OperatorAlerts(system, notify, clock, settle_s))
    if settings.switch_url is not None:
        url, every_s = settings.switch_url, settings.switch_every_s
        services.append(DeadMansSwitch(url, every_s, system, clock))
    return services
