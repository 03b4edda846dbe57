"""The role `api`: owners' side, gateway and status."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from random import SystemRandom

from matins.api.app import build_api
from matins.cache.status import ValkeyStatusCache
from matins.engines.endpoints import ApiEndpoint, Endpoints
from matins.gateway.asgi import Gateway
from matins.kernel.clock import HostClock
from matins.kernel.http import HttpServer
from matins.kernel.service import Service, run_services
from matins.kernel.settings import Settings
from matins.roles.database import HOT_LOCK_S, open_database
from matins.roles.owners import postgres_owners
from matins.roles.process import run_role
from matins.store.dispatch import PostgresDispatch
from matins.store.hints import PostgresHints
from matins.store.migrate import check_database
from matins.store.server import Server, ServerWatch


def run_api(settings: Settings, *, demo: bool = False) -> None:
    """Run the API: owners' side, gateway and status. `demo` serves the demo's targets as well."""
    run_role("api", settings, lambda stopping: _api(settings, stopping, demo=demo))


async def _api(settings: Settings, stopping: asyncio.Event, *, demo: bool) -> None:
    endpoints = Endpoints(settings)
    server = Server(endpoints.postgres())
    await check_database(server)
    clock, rng = HostClock(), SystemRandom()
    async with AsyncExitStack() as stack:
        dequeues = await stack.enter_async_context(
            open_database(server, "dequeue", 2, by_key_only=True, lock_s=HOT_LOCK_S)
        )
        records = await stack.enter_async_context(
            open_database(server, "record", 2, by_key_only=True, lock_s=HOT_LOCK_S)
        )
        heartbeats = await stack.enter_async_context(
            open_database(server, "heartbeat", 4, by_key_only=True)
        )
        owners = await stack.enter_async_context(open_database(server, "owners", 8))
        hints = PostgresHints(owners)
        cache = ValkeyStatusCache(endpoints.valkey())
        stack.push_async_callback(cache.close)
        dispatch = PostgresDispatch(dequeues, records, heartbeats)
        token = endpoints.executor_token()
        gateway = Gateway(dispatch, hints, cache, clock, rng, token, settings)
        app = build_api(
            database=owners,
            hot=[dequeues, records, heartbeats, owners],
            owners=postgres_owners(owners, hints, rng),
            cache=cache,
            gateway=gateway,
            tokens=endpoints.tokens(),
            demo=demo,
        )
        door = HttpServer(app, settings.host, settings.port)
        endpoint = ApiEndpoint(door.url, os.getpid())
        endpoints.publish_api(endpoint)
        # Stopped last first: the waiting polls are answered before the server waits for them.
        services: list[Service] = [ServerWatch(server, clock), door, *gateway.services()]
        try:
            await run_services(services, stopping)
        finally:
            endpoints.withdraw_api(endpoint)
