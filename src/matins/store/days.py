"""Inserts of runs, for which the table of a day may be missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import date, datetime
from typing import TypeVar

import asyncpg
import structlog

from matins.domain.values.errors import BlockedError
from matins.store.database import Database
from matins.store.queries import load_queries

log = structlog.get_logger()

_Q = load_queries("days.sql")
_T = TypeVar("_T")


async def with_days(
    database: Database, dues: Iterable[datetime], insert: Callable[[], Awaitable[_T]]
) -> _T:
    """Insert rows; when the table of a day is missing, make it and insert again.

    `dues` are the due times that the insert may write, in UTC. Raises BlockedError when a table is
    missing and can't be made, so that whoever inserts for several days goes on with the others.
    """
    try:
        return await insert()
    except asyncpg.CheckViolationError as error:
        if not is_day_missing(error):
            raise
    days = sorted({due.date() for due in dues})
    try:
        for day in days:
            await database.fetch(_Q["ensure_days"], first=day, last=day)
        return await insert()
    except asyncpg.CheckViolationError as error:
        if not is_day_missing(error):
            raise
        raise _blocked(days, error) from error
    except (asyncpg.SyntaxOrAccessError, asyncpg.ObjectNotInPrerequisiteStateError) as error:
        raise _blocked(days, error) from error


def is_day_missing(error: asyncpg.CheckViolationError) -> bool:
    """Return whether no table takes the row: the one such violation that names no constraint.

    Its text would tell, too, but in the language of the server's `lc_messages`.
    """
    return error.constraint_name is None


def _blocked(days: Sequence[date], error: asyncpg.PostgresError) -> BlockedError:
    names = ", ".join(day.isoformat() for day in days)
    log.error("day.missing", days=names, error=str(error))
    return BlockedError(f"the tables of {names} are missing, and can't be made: {error}")
