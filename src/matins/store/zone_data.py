"""Next due times, and the zone data with which they were computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import asyncpg

from matins.domain.jobs.authors import ENGINE
from matins.domain.jobs.changes import JobRef
from matins.domain.runs.following import RecordedRun
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.upkeep.zone_data import ComputedWith, Correction, ScheduledJob
from matins.store.database import Database
from matins.store.past import newest_runs, recorded
from matins.store.queries import load_queries
from matins.store.timings import KnownCalendars, Versions, schedule_of, timing_of

_Q = load_queries("zone_data.sql")


class PostgresNextDueTimes:
    """See `domain.ports.upkeep.NextDueTimes`."""

    def __init__(self, database: Database, calendars: KnownCalendars) -> None:
        self._database = database
        self._calendars = calendars

    async def computed_with(self) -> ComputedWith:
        """See `domain.ports.upkeep.NextDueTimes`."""
        [row] = await self._database.fetch(_Q["computed_with"])
        return ComputedWith(**row)

    async def record_version(self, version: str) -> None:
        """See `domain.ports.upkeep.NextDueTimes`."""
        await self._database.fetch(_Q["record_version"], version=version)

    async def jobs_ahead(self, after: UUID, now: datetime, limit: int) -> list[ScheduledJob]:
        """See `domain.ports.upkeep.NextDueTimes`."""
        rows = await self._database.fetch(_Q["jobs_ahead"], after=after, at=now, limit=limit)
        versions = await self._calendars.versions(self._database.fetch, rows)
        return [_scheduled_job(row, versions) for row in rows]

    async def newest_runs(self, job_ids: Collection[UUID]) -> Mapping[UUID, RecordedRun]:
        """See `domain.ports.upkeep.NextDueTimes`."""
        rows = await newest_runs(self._database.fetch, job_ids)
        return {job_id: recorded(row) for job_id, row in rows.items()}

    async def correct(self, corrections: Sequence[Correction]) -> int:
        """See `domain.ports.upkeep.NextDueTimes`."""
        rows = await self._database.fetch(
            _Q["correct"],
            author=ENGINE,
            job_ids=[correction.job.id for correction in corrections],
            revisions=[correction.job.revision for correction in corrections],
            was_due_ats=[correction.was_due_at for correction in corrections],
            next_due_ats=[correction.next_due.due_at for correction in corrections],
            next_fire_ats=[correction.next_due.fire_at for correction in corrections],
        )
        return len(rows)


def _scheduled_job(row: asyncpg.Record, versions: Versions) -> ScheduledJob:
    schedule, timing, fault = Schedule(), Timing(row["anchor"], row["anchor"]), ""
    try:
        schedule, timing = schedule_of(row["schedule"]), timing_of(row, versions)
    except Exception as error:  # whatever somebody has put there
        fault = f"the stored job can't be read: {error}"
    return ScheduledJob(
        job=JobRef(row["team"], row["name"], row["id"], row["revision"]),
        schedule=schedule,
        timing=timing,
        changed_at=row["changed_at"],
        next_due_at=row["next_due_at"],
        next_fire_at=row["next_fire_at"],
        fault=fault,
    )
