"""The book of loads of all active jobs: read once, then only what has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import asyncpg
import structlog

from matins.domain.jobs.spec import JobState
from matins.insight.forecast.book import LoadBook
from matins.insight.forecast.sorting import Booking
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
"""The most jobs that are booked before others of this process have their turn."""

_FIRST: Final = UUID(int=0)

_Q = load_queries("bookings.sql")

log = structlog.get_logger()


class KeptBook:
    """A book, how often it has changed, and how far it has been read. For one caller at a time."""

    def __init__(
        self, database: Database, calendars: KnownCalendars, now: datetime, since: int
    ) -> None:
        self.book = LoadBook(since)
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
            await self._book(rows)
            self._read_until = rows[-1]["id"] if len(rows) == PAGE else None
        since, after, is_full = self._seen_at - OVERLAP, _FIRST, True
        while is_full:
            rows = await self._database.fetch(_Q["changed"], since=since, after=after, limit=PAGE)
            await self._book(rows)
            is_full = len(rows) == PAGE
            if is_full:
                since, after = rows[-1]["effective_at"], rows[-1]["id"]
        self._seen_at = now

    async def _book(self, rows: Sequence[asyncpg.Record]) -> None:
        versions = await self._calendars.versions(self._database.fetch, rows)
        for index, row in enumerate(rows):
            if index % _SLICE == _SLICE - 1:
                await asyncio.sleep(0)
            self.changes += self._book_one(row, versions)

    def _book_one(self, row: asyncpg.Record, versions: Versions) -> bool:
        """Book a job, or take it out; tells whether that changed anything.

        One that can't be read is its scheduler's business.
        """
        job_id = row["id"]
        if row["state"] != JobState.ACTIVE or row["schedule"] is None:
            return self.book.remove(job_id)
        try:
            schedule = schedule_of(row["schedule"])
            timing = timing_of(row, versions)
            return self.book.add(Booking(job_id, row["team"], row["pool"], schedule, timing))
        except Exception as error:  # whatever it is, it must not stop the others
            log.warning("forecast.job_unreadable", job=str(job_id), error=str(error))
            return self.book.remove(job_id)
