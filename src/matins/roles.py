"""The composition root: the only place that wires ports to adapters, and makes random generators.

Each role is a process that runs until SIGTERM or SIGINT, any number of times side by side.
"""

from __future__ import annotations

import asyncio
import gc
import os
import platform
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from random import SystemRandom
from uuid import uuid4

import structlog
import uvloop

from matins.api.app import build_api
from matins.cache.status import ValkeyStatusCache
from matins.client.gateway_link import HttpGatewayLink
from matins.domain.schedules.zones import data_version
from matins.engines.places import ApiPlace, Places
from matins.executor.accounts import Accounts
from matins.executor.contact import Contact
from matins.executor.fleet import Executor
from matins.executor.keeper.frames import Limits
from matins.executor.keeper.link import Keeper
from matins.executor.keeper.proc import hide
from matins.executor.targets import runners
from matins.gateway.asgi import Gateway
from matins.kernel.clock import DatabaseClock, HostClock
from matins.kernel.http import HttpServer, health_app
from matins.kernel.lease_file import LeaseFile
from matins.kernel.logs import set_up_logs
from matins.kernel.metrics import SCHEDULE_LAG, ZONE_DATA
from matins.kernel.service import Service, run_services, stop_on_signals
from matins.kernel.settings import Settings
from matins.scheduler.role import Era, SchedulerRole
from matins.scheduler.scheduler import Scheduler
from matins.store.agenda import PostgresAgenda
from matins.store.database import DEADLINE_S, Database, can_write
from matins.store.days import DayKeeper
from matins.store.dispatch import PostgresDispatch, PostgresWatch
from matins.store.hints import PostgresHints
from matins.store.leases import PostgresLeases
from matins.store.migrate import check_database, migrate
from matins.store.server import Server, ServerWatch
from matins.store.upkeep import Upkeep

log = structlog.get_logger()

HOT_LOCK_S = 0.25
"""How long claims and ends wait for a lock before they go on without what is locked."""

READ_LOCK_S = 1.0
"""How long the other statements of a scheduler wait for one."""


def run_api(settings: Settings, *, demo: bool = False) -> None:
    """Run the API: owners' side, gateway and status. `demo` serves the demo's targets as well."""
    run_role("api", settings, lambda stopping: _api(settings, stopping, demo=demo))


def run_scheduler(settings: Settings) -> None:
    """Run a scheduler."""
    run_role("scheduler", settings, lambda stopping: _scheduler(settings, stopping))


def run_executor(settings: Settings) -> None:
    """Run an executor."""
    run_role("executor", settings, lambda stopping: _executor(settings, stopping))


def run_migrate(settings: Settings) -> list[str]:
    """Bring the schema up to date; gives the names of the migrations that were applied."""
    set_up_logs("migrate", level=settings.log_level)
    return asyncio.run(migrate(Places(settings).postgres()))


def run_role(
    role: str, settings: Settings, main: Callable[[asyncio.Event], Awaitable[None]]
) -> None:
    """Run a role's `main` until it ends; the event is set when it should."""

    async def work() -> None:
        # Thousands of small values live for milliseconds. Looking for rings among them at every 700
        # allocations, as is usual, finds none and took a sixth of the API's CPU under load.
        gc.freeze()
        gc.set_threshold(50_000, 50, 100)
        stopping = asyncio.Event()
        stop_on_signals(stopping)
        if settings.stop_with_stdin:
            await _stop_with_stdin(stopping)
        await main(stopping)

    hide()  # the tokens and passwords in this process are nobody else's
    set_up_logs(role, level=settings.log_level)
    ZONE_DATA.info({"version": data_version()})
    uvloop.run(work())


async def _api(settings: Settings, stopping: asyncio.Event, *, demo: bool) -> None:
    places = Places(settings)
    server = Server(places.postgres())
    await check_database(server)
    clock, rng = HostClock(), SystemRandom()
    async with AsyncExitStack() as stack:
        takes = await stack.enter_async_context(_database(server, "take", 2, by_key_only=True))
        records = await stack.enter_async_context(
            _database(server, "record", 2, by_key_only=True, lock_s=HOT_LOCK_S)
        )
        beats = await stack.enter_async_context(_database(server, "beat", 4, by_key_only=True))
        owners = await stack.enter_async_context(_database(server, "owners", 8))
        hints = PostgresHints(owners)
        cache = ValkeyStatusCache(places.valkey())
        stack.push_async_callback(cache.close)
        dispatch = PostgresDispatch(takes, records, beats)
        token = places.executor_token()
        gateway = Gateway(dispatch, hints, cache, clock, rng, token, settings)
        app = build_api(
            database=owners,
            hot=[takes, records, beats, owners],
            hints=hints,
            cache=cache,
            gateway=gateway,
            admin_token=places.admin_token(),
            demo=demo,
        )
        door = HttpServer(app, settings.host, settings.port)
        place = ApiPlace(door.url, os.getpid())
        places.publish_api(place)
        # Stopped last first: the waiting polls are answered before the server waits for them.
        services: list[Service] = [ServerWatch(server, clock), door, *gateway.services()]
        try:
            await run_services(services, stopping)
        finally:
            places.withdraw_api(place)


async def _scheduler(settings: Settings, stopping: asyncio.Event) -> None:
    server = Server(Places(settings).postgres())
    await check_database(server)
    term_s = settings.lease_term_s
    async with AsyncExitStack() as stack:
        # Nothing may wait for as long as a lease lasts; leases and claims wait for nobody else, nor
        # claims for whoever holds a lock.
        leases = await stack.enter_async_context(
            _database(server, "lease", 2, by_key_only=True, deadline_s=term_s / 3)
        )
        claims = await stack.enter_async_context(
            _database(
                server, "claim", 4, by_key_only=True, deadline_s=term_s / 2, lock_s=HOT_LOCK_S
            )
        )
        reads = await stack.enter_async_context(
            _database(server, "agenda", 4, by_key_only=True, lock_s=READ_LOCK_S)
        )
        slow = await stack.enter_async_context(_database(server, "upkeep", 1, by_key_only=True))
        history = await stack.enter_async_context(_database(server, "history", 1, deadline_s=300))
        clock, hints = HostClock(), PostgresHints(reads)

        lease_file = stack.enter_context(LeaseFile(settings.lease_file))

        def begin() -> Era:
            agenda = PostgresAgenda(claims.pinned(), reads.pinned())
            scheduler = Scheduler(
                lease_file.note(uuid4()),
                leases=PostgresLeases(leases.pinned()),
                agenda=agenda,
                watch=PostgresWatch(reads.pinned()),
                hints=hints,
                clock=DatabaseClock(agenda.database_time),
                rng=SystemRandom(),
                settings=settings,
            )
            return Era(scheduler, partial(server.changed, server.era))

        role = SchedulerRole(begin, lease_file.predecessor)
        SCHEDULE_LAG.set_function(role.lag_s)

        async def is_ready() -> bool:
            return role.is_ready() and await can_write(leases, claims, reads)

        days = DayKeeper(reads, clock)
        upkeep = Upkeep(slow, history, hints, clock, settings)
        services: list[Service] = [ServerWatch(server, clock), days, upkeep, role]
        services += _health(settings, is_ready)
        await run_services(services, stopping)


async def _executor(settings: Settings, stopping: asyncio.Event) -> None:
    places = Places(settings)
    accounts = Accounts(settings.run_as, settings.slots)
    limits = Limits(
        cut_off_s=settings.cut_off_s,
        grace_s=settings.grace_s,
        apart=settings.namespaces,
        processes=settings.processes,
    )
    keeper = Keeper(limits)
    link = HttpGatewayLink(places.api_url().split(","), places.executor_token())
    clock = HostClock()
    contact = Contact(clock, settings.cut_off_s)

    def on_contact(asked_at: float) -> None:
        keeper.contact(asked_at)
        contact.hear(asked_at)

    executor = Executor(
        link,
        runners(keeper, contact, accounts),
        clock,
        SystemRandom(),
        settings,
        settings.name or platform.node() or "executor",
        on_contact,
    )

    async def is_ready() -> bool:
        return executor.is_ready()

    try:
        await keeper.start()
        await run_services([executor, *_health(settings, is_ready)], stopping)
    finally:
        await keeper.close()
        await link.close()


def _health(settings: Settings, ready: Callable[[], Awaitable[bool]]) -> list[Service]:
    if settings.health_port is None:
        return []
    app = health_app(ready)
    return [HttpServer(app, settings.host, settings.health_port, setting="health_port")]


@asynccontextmanager
async def _database(
    server: Server,
    name: str,
    size: int,
    *,
    by_key_only: bool = False,
    deadline_s: float = DEADLINE_S,
    lock_s: float | None = None,
) -> AsyncIterator[Database]:
    database = Database(
        server, name=name, size=size, by_key_only=by_key_only, deadline_s=deadline_s, lock_s=lock_s
    )
    try:
        yield database
    finally:
        await database.close()


async def _stop_with_stdin(stopping: asyncio.Event) -> None:
    """Stop when standard input ends: the pipe of a parent that may die without a word."""

    class Ended(asyncio.Protocol):
        def connection_lost(self, exc: Exception | None) -> None:
            del exc
            stopping.set()

    await asyncio.get_running_loop().connect_read_pipe(Ended, sys.stdin)
