"""Runs in the history, and what is kept of them. See `domain.ports.upkeep.Retention`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, time
from uuid import UUID

import asyncpg
import msgspec
import structlog

from matins.domain.jobs.keeping import Keep, Kept, kept
from matins.domain.ports.output import OutsideOutput
from matins.domain.upkeep.retention import Cut, DaySpan, JobRetention, OldRun, Scope, Walk
from matins.store.database import Database
from matins.store.past import DayRange, around, day_ranges
from matins.store.queries import load_queries

_Q = load_queries("retention.sql")

log = structlog.get_logger()


class PostgresRetention:
    """Reads and deletes runs of days that are over, some days at a time.

    The sessions of `database` need a long deadline. `usual_days` is how long runs are kept where
    neither their job nor its team says it. `outputs`: where whole outputs are kept, if not in the
    tables.
    """

    def __init__(
        self, database: Database, usual_days: int, outputs: OutsideOutput | None = None
    ) -> None:
        self._database = database
        self._outputs = outputs
        self._usual_days = usual_days

    async def scope(self) -> Scope:
        """See `domain.ports.upkeep.Retention`."""
        [row] = await self._database.fetch(_Q["scope"], usual_days=self._usual_days)
        return Scope(**row)

    async def runs_of(self, day: date, after: UUID, limit: int) -> list[OldRun]:
        """See `domain.ports.upkeep.Retention`."""
        midnight = datetime.combine(day, time.min, UTC)
        query = around(midnight, midnight).pin(_Q["runs_of"])
        return _old_runs(await self._database.fetch(query, after=after, limit=limit))

    async def walk(self) -> Walk:
        """See `domain.ports.upkeep.Retention`."""
        [row] = await self._database.fetch(_Q["walk"])
        return Walk(**row)

    async def record_walk(self, after: UUID | None, began_at: datetime) -> None:
        """See `domain.ports.upkeep.Retention`."""
        await self._database.fetch(_Q["record_walk"], after=after, began_at=began_at)

    async def jobs(self, after: UUID, limit: int) -> list[JobRetention]:
        """See `domain.ports.upkeep.Retention`. What can't be read keeps as much as is usual."""
        rows = await self._database.fetch(_Q["jobs"], after=after, limit=limit)
        return [
            JobRetention(row["id"], _kept(row, self._usual_days), row["purged_until"])
            for row in rows
        ]

    async def nth_newest(self, job_id: UUID, nth: int, *, succeeded: bool) -> datetime | None:
        """See `domain.ports.upkeep.Retention`."""
        async for days in day_ranges(self._database.fetch):
            query = days.pin(_Q["newest_ends"])
            rows = await self._database.fetch(query, job_id=job_id, succeeded=succeeded, limit=nth)
            nth -= len(rows)
            if nth == 0:
                due_at: datetime = rows[-1]["due_at"]
                return due_at
        return None

    async def spans(self, until: datetime) -> list[DaySpan]:
        """See `domain.ports.upkeep.Retention`."""
        newest_first = [DaySpan(*days) async for days in day_ranges(self._database.fetch, until)]
        return newest_first[::-1]

    async def old_runs(self, span: DaySpan, cuts: Sequence[Cut], limit: int) -> list[OldRun]:
        """See `domain.ports.upkeep.Retention`."""
        query = DayRange(*span).pin(_Q["old_runs"])
        return _old_runs(await self._database.fetch(query, limit=limit, **_columns(cuts)))

    async def delete_runs(self, span: DaySpan, run_ids: Collection[UUID]) -> None:
        """See `domain.ports.upkeep.Retention`."""
        if self._outputs:
            await self._outputs.forget(run_ids)
        for name in ("delete_outputs", "delete_attempts", "delete_runs"):
            await self._database.fetch(DayRange(*span).pin(_Q[name]), run_ids=[*run_ids])

    async def record_purged(self, cuts: Sequence[Cut]) -> None:
        """See `domain.ports.upkeep.Retention`."""
        await self._database.fetch(_Q["record_purged"], **_columns(cuts))


def _old_runs(rows: Sequence[asyncpg.Record]) -> list[OldRun]:
    return [OldRun(row["id"], row["due_at"], row["line"]) for row in rows]


def _columns(cuts: Sequence[Cut]) -> dict[str, object]:
    return {
        "job_ids": [cut.job_id for cut in cuts],
        "succeeded_untils": [cut.succeeded_until for cut in cuts],
        "others_untils": [cut.others_until for cut in cuts],
    }


def _kept(row: asyncpg.Record, usual_days: int) -> Kept:
    try:
        job, team = (
            None if text is None else msgspec.json.decode(text, type=Keep)
            for text in (row["keep"], row["team_keep"])
        )
    except msgspec.MsgspecError:
        log.exception("keep.unreadable", job=str(row["id"]))
        return kept(usual_days=usual_days)
    return kept(job, team, usual_days)
