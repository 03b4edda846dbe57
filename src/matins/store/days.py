"""The daily tables of runs and attempts: made some days ahead, and at need for any other day."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import date, datetime, timedelta
from typing import TypeVar

import asyncpg

from matins.kernel.service import Stopwatch, repeat
from matins.store.database import Database
from matins.store.queries import load_queries

AHEAD_DAYS = 7
_EVERY_S = 3600.0

_Q = load_queries("days.sql")
_T = TypeVar("_T")


class DayKeeper:
    """Makes the tables of the coming days, again every hour. See `kernel.service.Service`."""

    def __init__(self, database: Database, clock: Stopwatch) -> None:
        self._database = database
        self._clock = clock
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Work until stopped."""
        await repeat(
            lambda: ensure_days_ahead(self._database),
            _EVERY_S,
            self._clock,
            self._stopping,
            name="days.ahead",
        )

    async def stop(self) -> None:
        """End soon."""
        self._stopping.set()


async def ensure_days_ahead(database: Database) -> None:
    """Make the tables of yesterday up to a week ahead, where they are missing."""
    row = await database.fetchrow(_Q["today"])
    assert row is not None
    today: date = row["today"]
    first, last = today - timedelta(days=1), today + timedelta(days=AHEAD_DAYS)
    await database.fetch(_Q["ensure_days"], first=first, last=last)


async def with_days(
    database: Database, dues: Iterable[datetime], insert: Callable[[], Awaitable[_T]]
) -> _T:
    """Insert rows; when the table of a day is missing, make it and insert again.

    `dues` are the due times that the insert may write, in UTC.
    """
    try:
        return await insert()
    except asyncpg.CheckViolationError as error:
        # By its fields, not its text, which is in the language of the server's `lc_messages`: that
        # no table takes the row is the one violation that comes without the name of a constraint.
        if error.constraint_name is not None:
            raise
    for day in sorted({due.date() for due in dues}):
        await database.fetch(_Q["ensure_days"], first=day, last=day)
    return await insert()
