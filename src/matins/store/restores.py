"""Restores from a backup, in PostgreSQL. See `domain.ports.restores`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import asyncpg

from matins.domain.runs.admission.waiting import TO_BE_ADMITTED
from matins.domain.runs.restores import (
    JITTER_MAX,
    LEFT_OUT,
    UNCERTAIN,
    Restore,
    Resumed,
    Resumption,
    Watermarks,
)
from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("restores.sql")
_BEGINNING: Final = datetime(1, 1, 1, tzinfo=UTC)


class PostgresRestores:
    """See `domain.ports.restores.RestoreMarks` and `RestoreChanges`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def watermarks(self) -> Watermarks | None:
        """See `domain.ports.restores.RestoreMarks`."""
        [row] = await self._database.fetch(_Q["watermarks"])
        return None if row["newest"] is None else Watermarks(row["oldest"], row["newest"])

    async def note_restore(self, lost_since: datetime, seen_until: datetime) -> None:
        """See `domain.ports.restores.RestoreMarks`."""
        await self._database.fetch(_Q["note_restore"], lost_since=lost_since, seen_until=seen_until)

    async def unresolved_restore(self) -> Restore | None:
        """See `domain.ports.restores.RestoreMarks`."""
        return _restore(await self._database.fetchrow(_Q["unresolved_restore"]))

    async def newest_restore(self) -> Restore | None:
        """See `domain.ports.restores.RestoreChanges`."""
        return _restore(await self._database.fetchrow(_Q["newest_restore"]))

    async def count_uncertain(self, restore: Restore, resumption: Resumption) -> Resumed:
        """See `domain.ports.restores.RestoreChanges`."""
        [row] = await self._database.fetch(_Q["count_uncertain"], **_asked(restore, resumption))
        uncertain, to_run = row["uncertain"], row["to_run"]
        return Resumed(restore, uncertain, row["jobs"], to_run, uncertain - to_run)

    async def resolve(self, restore: Restore) -> None:
        """See `domain.ports.restores.RestoreChanges`."""
        await self._database.fetch(_Q["resolve"], noticed_at=restore.noticed_at)

    async def resume(self, restore: Restore, resumption: Resumption, limit: int) -> tuple[int, int]:
        """See `domain.ports.restores.RestoreChanges`."""
        [row] = await self._database.fetch(
            _Q["resume"],
            limit=limit,
            to_be_admitted=TO_BE_ADMITTED,
            left_out=LEFT_OUT,
            **_asked(restore, resumption),
        )
        return row["to_run"], row["left_out"]


def _asked(restore: Restore, resumption: Resumption) -> dict[str, object]:
    return {
        "lost_since": restore.lost_since - JITTER_MAX,
        "seen_until": restore.seen_until,
        "uncertain": UNCERTAIN,
        "missed": resumption.missed,
        "since": resumption.since or _BEGINNING,
    }


def _restore(row: asyncpg.Record | None) -> Restore | None:
    return None if row is None else Restore(**dict(row))
