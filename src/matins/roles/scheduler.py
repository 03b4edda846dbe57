"""The role `scheduler`: it claims what is due, and does the upkeep."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from random import SystemRandom
from uuid import uuid4

from matins.domain.ports import Hints
from matins.engines.endpoints import Endpoints
from matins.kernel.clock import DatabaseClock, HostClock
from matins.kernel.lease_file import LeaseFile
from matins.kernel.metrics import SCHEDULE_LAG
from matins.kernel.service import Service, run_services
from matins.kernel.settings import Settings
from matins.roles.database import HOT_LOCK_S, open_database
from matins.roles.owners import postgres_owners
from matins.roles.process import health, run_role
from matins.roles.upkeep import make_upkeep
from matins.scheduler.role import Era, SchedulerRole
from matins.scheduler.scheduler import Scheduler
from matins.status.tallying import Tallying
from matins.store.agenda import PostgresAgenda
from matins.store.backfills import PostgresBackfills
from matins.store.database import DEADLINE_S, Database, can_write
from matins.store.day_tables import PostgresDayTables
from matins.store.half_sent import HalfSent
from matins.store.hints import PostgresHints
from matins.store.leases import PostgresLeases
from matins.store.migrate import check_database
from matins.store.pools import PostgresQueues
from matins.store.replays import PostgresReplays
from matins.store.restores import PostgresRestores
from matins.store.server import Server, ServerWatch
from matins.store.tallies import PostgresTallies
from matins.store.waiting import PostgresWaitingRoom
from matins.store.watch import PostgresWatch
from matins.upkeep.days import DaysAhead
from matins.upkeep.pauses import PauseEnds

READ_LOCK_S = 1.0
"""How long the other statements of a scheduler wait for one."""


HOT_POOLS = ("agenda", "upkeep", "dequeue", "record", "heartbeat", "owners")
"""The pools of all roles whose calls have the usual deadline: all but leases and claims."""


def run_scheduler(settings: Settings) -> None:
    """Run a scheduler."""
    run_role("scheduler", settings, lambda stopping: _scheduler(settings, stopping))


async def _scheduler(settings: Settings, stopping: asyncio.Event) -> None:
    server = Server(Endpoints(settings).postgres())
    await check_database(server)
    term_s = settings.lease_term_s
    async with AsyncExitStack() as stack:
        enter, pool = stack.enter_async_context, partial(open_database, server)
        # Nothing may wait for as long as a lease lasts; leases and claims wait for nobody else, nor
        # claims for whoever holds a lock.
        leases = await enter(pool("lease", 2, by_key_only=True, deadline_s=term_s / 3))
        claims = await enter(
            pool("claim", 4, by_key_only=True, deadline_s=term_s / 2, lock_s=HOT_LOCK_S)
        )
        reads = await enter(pool("agenda", 4, by_key_only=True, lock_s=READ_LOCK_S))
        slow = await enter(pool("upkeep", 1, by_key_only=True))
        history = await enter(pool("history", 2, deadline_s=300))
        clock, hints = HostClock(), PostgresHints(reads)
        lease_file = stack.enter_context(LeaseFile(settings.lease_file))

        def begin() -> Era:
            holding = PostgresLeases(leases.pinned())
            agenda = PostgresAgenda(claims.pinned(), reads.pinned(), holding)
            scheduler = Scheduler(
                lease_file.note(uuid4()),
                leases=holding,
                agenda=agenda,
                room=PostgresWaitingRoom(claims.pinned(), reads.pinned()),
                queues=PostgresQueues(reads.pinned()),
                watch=PostgresWatch(reads.pinned()),
                backfills=PostgresBackfills(claims.pinned(), reads.pinned()),
                replays=PostgresReplays(claims.pinned(), reads.pinned()),
                restores=PostgresRestores(reads.pinned()),
                notes=lease_file,
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

        upkeep = make_upkeep(slow, history, hints, clock, SystemRandom(), settings)
        services: list[Service] = [ServerWatch(server, clock), _half_sent(reads, clock, term_s)]
        services += [DaysAhead(PostgresDayTables(reads), clock), upkeep, _tallying(slow, clock)]
        services += [_pauses(reads, hints, clock, settings), role, *health(settings, is_ready)]
        await run_services(services, stopping)


def _pauses(database: Database, hints: Hints, clock: HostClock, settings: Settings) -> PauseEnds:
    owners = postgres_owners(database, hints, SystemRandom())
    return PauseEnds(owners.upkeep, clock, settings.poll_s)


def _tallying(database: Database, clock: HostClock) -> Tallying:
    return Tallying(PostgresTallies(database), clock)


def _half_sent(database: Database, clock: HostClock, term_s: float) -> HalfSent:
    return HalfSent(database, clock, _transactions_s(term_s), term_s / 4)


def _transactions_s(term_s: float) -> dict[str, float]:
    """Return how long a transaction of each pool may last: two of its deadlines."""
    return dict.fromkeys(HOT_POOLS, 2 * DEADLINE_S) | {"lease": 2 * term_s / 3, "claim": term_s}
