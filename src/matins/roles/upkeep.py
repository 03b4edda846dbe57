"""The upkeep of a scheduler, on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from random import Random

from matins.domain.jobs.limits import Quotas
from matins.domain.ports import Clock, Hints
from matins.kernel.settings import Settings
from matins.roles.owners import postgres_owners
from matins.store.archiving import FileArchive
from matins.store.auto_delete import PostgresEndedJobs
from matins.store.database import Database
from matins.store.day_tables import PostgresDayTables
from matins.store.healing import PostgresRepairs
from matins.store.leftovers import PostgresLeftovers
from matins.store.limits import PostgresLimits
from matins.store.locks import PostgresLocks
from matins.store.output_place import outside_output
from matins.store.retention import PostgresRetention
from matins.store.snapshots import PostgresSnapshots
from matins.store.timings import KnownCalendars
from matins.store.zone_data import PostgresNextDueTimes
from matins.upkeep.auto_delete import AutoDelete
from matins.upkeep.days import DaysOver
from matins.upkeep.healing import Healing
from matins.upkeep.retention import Purge
from matins.upkeep.snapshots import SnapshotWatch
from matins.upkeep.upkeep import Upkeep
from matins.upkeep.zone_data import ZoneDataSync


def make_upkeep(
    database: Database,
    history: Database,
    hints: Hints,
    clock: Clock,
    rng: Random,
    settings: Settings,
) -> Upkeep:
    """Wire all tasks. `history` is for statements that take minutes over whole days."""
    stopping = asyncio.Event()
    known = KnownCalendars()
    database.server.when_changed(known.forget)
    owners = postgres_owners(database, hints, rng)
    due_times = PostgresNextDueTimes(database, known)
    outputs = outside_output(settings.output_store)
    locks, days = PostgresLocks(history), PostgresDayTables(history, outputs)
    purge = Purge(
        locks,
        days,
        PostgresRetention(history, settings.keep_days, outputs),
        PostgresLeftovers(history),
        FileArchive(settings.archive) if settings.archive else None,
        clock,
        stopping,
    )
    # A line for each task.
    tasks: dict[str, Callable[[], Awaitable[object]]] = {
        "zone_data": ZoneDataSync(due_times, owners.upkeep, hints, clock, stopping).sync,
        "calendars": owners.calendars.keep_up,
        "delete_after": AutoDelete(PostgresEndedJobs(database), owners.upkeep, stopping).delete,
        "snapshots": SnapshotWatch(PostgresSnapshots(database), clock).look,
        "healing": Healing(PostgresRepairs(history), clock, stopping).heal,
        "days": DaysOver(locks, days, clock, stopping).detach,
        "purge": purge.purge,
        "quotas": partial(PostgresLimits(database).write_defaults, _quotas(settings)),
    }
    return Upkeep(tasks, clock, settings.upkeep_s, stopping)


def _quotas(settings: Settings) -> Quotas:
    """Return what teams have that have no quotas of their own."""
    return Quotas(settings.max_jobs, settings.max_running, settings.starts_per_minute)
