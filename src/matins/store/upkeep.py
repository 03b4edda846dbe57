"""The slow upkeep of jobs, on which no claim depends: each task may be repeated at any moment, by
any number of schedulers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from matins.domain.ports import Clock, Hints
from matins.domain.values.errors import UnavailableError
from matins.kernel.metrics import UPKEEP_FAILED
from matins.kernel.service import repeat
from matins.kernel.settings import Settings
from matins.store.archiving import Archive
from matins.store.calendars import PostgresCalendars
from matins.store.database import Database
from matins.store.healing import Healing
from matins.store.owners import PostgresOwners
from matins.store.passing import PassingJobs
from matins.store.purging import Purge
from matins.store.retiring import RetiringDays
from matins.store.snapshots import SnapshotWatch
from matins.store.timings import KnownCalendars
from matins.store.zone_data import ZoneKeeper

log = structlog.get_logger()


class Upkeep:
    """Does all tasks one after the other, again every `every_s`. See `kernel.service.Service`."""

    def __init__(
        self,
        database: Database,
        history: Database,
        hints: Hints,
        clock: Clock,
        settings: Settings,
    ) -> None:
        """`history` is for statements that take minutes over whole days."""
        archive = Archive(settings.archive) if settings.archive else None
        self._clock = clock
        self._every_s = settings.upkeep_s
        self._stopping = asyncio.Event()
        known = KnownCalendars()
        database.server.when_changed(known.forget)
        owners = PostgresOwners(database, known, hints)
        # A line for each task; one that runs for long looks at `_stopping` between its pages.
        self._tasks: dict[str, Callable[[], Awaitable[object]]] = {
            "zone_data": ZoneKeeper(database, known, hints, clock, self._stopping).follow,
            "calendars": PostgresCalendars(database, owners).keep_up,
            "delete_after": PassingJobs(database, known, hints, self._stopping).delete,
            "snapshots": SnapshotWatch(database, clock).look,
            "healing": Healing(history, clock, self._stopping).heal,
            "days": RetiringDays(history, clock, self._stopping).retire,
            "purge": Purge(history, archive, clock, self._stopping).purge,
        }

    async def run(self) -> None:
        """Work until stopped."""
        await repeat(self.work, self._every_s, self._clock, self._stopping, name="upkeep")

    async def stop(self) -> None:
        """End soon."""
        self._stopping.set()

    async def work(self) -> None:
        """Do each task once; one that fails holds up none of the others, and no claim."""
        for name, task in self._tasks.items():
            try:
                await task()
            except UnavailableError as error:
                log.warning("upkeep.unavailable", task=name, error=str(error))
            except Exception:  # a mistake of ours: the scheduler must go on claiming
                UPKEEP_FAILED.inc()
                log.exception("upkeep.failed", task=name)
