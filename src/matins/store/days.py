"""The daily tables of runs and attempts: made some days ahead, and at need for any other day."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import date, datetime, timedelta
from typing import TypeVar

import asyncpg

from matins.store.database import Database
from matins.store.queries import load_queries

AHEAD_DAYS = 7

_Q = load_queries("days.sql")
_T = TypeVar("_T")


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
        if "no partition of relation" not in str(error):
            raise
    for day in sorted({due.date() for due in dues}):
        await database.fetch(_Q["ensure_days"], first=day, last=day)
    return await insert()
