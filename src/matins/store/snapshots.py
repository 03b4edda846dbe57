"""An alarm for old snapshots: they keep every version of every row, and make all reads dearer."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import structlog

from matins.domain.ports import Clock
from matins.kernel.metrics import OLD_SNAPSHOT
from matins.store.database import Database
from matins.store.queries import load_queries

log = structlog.get_logger()

_Q = load_queries("snapshots.sql")

OLD: Final = timedelta(minutes=5)
"""A snapshot that is held for so long is told of."""


class SnapshotWatch:
    """Looks who holds the oldest snapshot: a report, a backup, a forgotten BEGIN, a standby."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._seen: tuple[str, str] = ("", "")
        self._seen_s = 0.0

    async def look(self) -> None:
        """Look once; name in the log who holds back the clean-up, and tell the metric for how long.

        What does not say since when it is held counts from when it was seen first.
        """
        row = await self._database.fetchrow(_Q["oldest"])
        now_s = self._clock.elapsed_s()
        held = (row["holder"], row["xmin"]) if row else ("", "")
        if held != self._seen:
            self._seen, self._seen_s = held, now_s
        age_s = now_s - self._seen_s if row else 0.0
        if row and row["since"]:
            age_s = max(age_s, (row["now"] - row["since"]).total_seconds())
        OLD_SNAPSHOT.set(age_s)
        if age_s >= OLD.total_seconds():
            log.error("snapshot.old", holder=held[0], age_s=round(age_s), xmin=held[1])
