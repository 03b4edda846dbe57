"""What has happened in each minute. See `domain.ports.status.TallyBook`."""

from __future__ import annotations

from datetime import datetime, timedelta

import asyncpg
import msgspec

from matins.domain.status.tallies import KEPT, LAG_BOUNDS_S, Minute, Tallies, Tally
from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("tallies.sql")
_CLASSES = len(LAG_BOUNDS_S) + 1
_HOUR = timedelta(minutes=61)


class PostgresTallies:
    """The minutes of the last days."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, tally: Tally) -> None:
        """See `domain.ports.status.TallyBook`."""
        counts = msgspec.structs.asdict(tally)
        await self._database.fetch(_Q["add"], **counts, kept=KEPT)

    async def read(self) -> Tallies:
        """Return the last hour, minute by minute, and this day. A replica will do."""
        [known] = await self._database.fetch(_Q["known"])
        now = known["now"]
        minutes = await self._database.fetch(_Q["minutes"], since=now - _HOUR)
        [today] = await self._database.fetch(_Q["total"], since=_midnight(now))
        return Tallies(
            now,
            [Minute(row["minute"], _tally(row)) for row in minutes],
            _tally(today),
            known["since"],
        )


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _tally(row: asyncpg.Record) -> Tally:
    """Return what a row holds; another version may have counted lags in other classes."""
    counts = dict(row)
    counts.pop("minute", None)
    lags = [*counts.pop("lags"), *(0 for _ in range(_CLASSES))]
    return Tally(**counts, lags=tuple(lags[:_CLASSES]))
