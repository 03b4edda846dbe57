"""The index of all active jobs, for forecasts: read once, then only what has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import asyncpg
import structlog

from matins.domain.jobs.spec import JobState
from matins.insight.forecast.groups import Entry
from matins.insight.forecast.index import JobIndex
from matins.store.database import Database
from matins.store.queries import load_queries
from matins.store.timings import KnownCalendars, Versions, schedule_of, timing_of

PAGE: Final = 1_000
"""The most jobs that are read at once."""

OVERLAP: Final = timedelta(seconds=30)
"""How far back changes are read again: one is seen only when its transaction has ended, which its
deadlines bound.
"""

_SLICE: Final = 25
"""The most jobs that are added before the event loop runs other tasks."""

_FIRST: Final = UUID(int=0)

_Q = load_queries("forecast_index.sql")

log = structlog.get_logger()


class LiveIndex:
    """An index, how often it changed, and how far it was read. For one caller at a time."""

    def __init__(
        self, database: Database, calendars: KnownCalendars, now: datetime, since: int
    ) -> None:
        self.index = JobIndex(since)
        self.changes = 0
        self._database = database
        self._calendars = calendars
        self._seen_at = now
        self._read_until: UUID | None = _FIRST

    async def refresh(self, now: datetime) -> None:
        """Read what is new since the last time; `now` is the database's time before this call.

        Whoever cancels it loses nothing: the next call goes on from there.
        """
        while self._read_until is not None:
            rows = await self._database.fetch(_Q["page"], after=self._read_until, limit=PAGE)
            await self._update(rows)
            self._read_until = rows[-1]["id"] if len(rows) == PAGE else None
        since, after, is_full = self._seen_at - OVERLAP, _FIRST, True
        while is_full:
            rows = await self._database.fetch(_Q["changed"], since=since, after=after, limit=PAGE)
            await self._update(rows)
            is_full = len(rows) == PAGE
            if is_full:
                since, after = rows[-1]["effective_at"], rows[-1]["id"]
        self._seen_at = now

    async def _update(self, rows: Sequence[asyncpg.Record]) -> None:
        versions = await self._calendars.versions(self._database.fetch, rows)
        for number, row in enumerate(rows):
            if number % _SLICE == _SLICE - 1:
                await asyncio.sleep(0)
            self.changes += self._update_one(row, versions)

    def _update_one(self, row: asyncpg.Record, versions: Versions) -> bool:
        """Add a job, or remove it; return whether that changed anything.

        A job that can't be read is its scheduler's business.
        """
        job_id = row["id"]
        if row["state"] != JobState.ACTIVE or row["schedule"] is None:
            return self.index.remove(job_id)
        try:
            schedule = schedule_of(row["schedule"])
            timing = timing_of(row, versions)
            return self.index.add(Entry(job_id, row["team"], row["pool"], schedule, timing))
        except Exception as error:  # whatever it is, it must not stop the others
            log.warning("forecast.job_unreadable", job=str(job_id), error=str(error))
            return self.index.remove(job_id)
