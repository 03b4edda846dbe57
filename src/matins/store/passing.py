"""Jobs with `delete_after` are deleted so long after their last run has ended."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Final
from uuid import UUID

import asyncpg
import structlog

from matins.domain.jobs.spec import JobState
from matins.domain.ports import Hints
from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import UnavailableError
from matins.kernel.metrics import JOBS_PASSED, UPKEEP_BROKEN
from matins.store.changes import Change, Wanted
from matins.store.database import Database
from matins.store.hints import tell
from matins.store.past import newest_runs
from matins.store.queries import load_queries
from matins.store.timings import KnownCalendars

PAGE: Final = 1_000
"""The most jobs that are looked at in one statement."""

REASON: Final = "delete_after"
"""The reason of a job that was deleted so."""

_FIRST: Final = UUID(int=0)

_Q = load_queries("passing.sql")

log = structlog.get_logger()


class PassingJobs:
    """The jobs whose schedules have come to their end and say that the job is to be deleted."""

    def __init__(
        self,
        database: Database,
        calendars: KnownCalendars,
        hints: Hints,
        stopping: asyncio.Event,
    ) -> None:
        self._database = database
        self._calendars = calendars
        self._hints = hints
        self._stopping = stopping
        self._after = _FIRST

    async def delete(self) -> None:
        """Delete those whose time has come, each as its owner would do it.

        The next call goes on behind a job that raised UnavailableError, so that it stops nobody.
        """
        full = True
        while full:
            rows = await self._database.fetch(_Q["page"], after=self._after, limit=PAGE)
            newest = await newest_runs(self._database.fetch, [row["id"] for row in rows])
            for row in rows:
                if self._stopping.is_set():
                    return
                self._after = row["id"]
                await self._delete_if_passed(row, newest.get(row["id"]))
            full = len(rows) == PAGE
        self._after = _FIRST

    async def _delete_if_passed(self, row: asyncpg.Record, newest: asyncpg.Record | None) -> None:
        try:
            if has_passed(row, newest) and await self._delete(row):
                JOBS_PASSED.inc()
                log.info(
                    "job.deleted",
                    job=str(row["id"]),
                    team=row["team"],
                    name=row["name"],
                    reason=REASON,
                )
        except UnavailableError:
            raise
        except Exception as error:  # whatever it is, it must not stop the others
            UPKEEP_BROKEN.inc()
            log.warning("upkeep.job_broken", job=str(row["id"]), error=str(error))

    async def _delete(self, row: asyncpg.Record) -> bool:
        """Delete a job in one transaction, unless it was changed or a run of any kind goes on."""
        async with self._database.transaction() as session:
            change = Change(self._database, session, self._calendars, [])
            found = await change.lock(row["team"], row["name"])
            if found is None:
                return False
            standing, job = found
            if (job.id, job.revision, job.next_due_at) != (row["id"], row["revision"], None):
                return False
            [runs] = await self._database.run(session, _Q["unfinished"], job_id=job.id)
            if runs["unfinished"]:
                return False
            await change.update(job, standing, Wanted(job.spec, JobState.DELETED, "deleted"))
            await self._database.run(session, _Q["say_why"], job_id=job.id, reason=REASON)
        await tell(self._hints, "jobs", str(job.id))
        return True


def has_passed(row: asyncpg.Record, newest: asyncpg.Record | None) -> bool:
    """Whether the last scheduled run of a job at its end is over for long enough.

    Without a run it counts from when the job was written as it is.
    """
    ended_at = newest["finished_at"] if newest else row["changed_at"]
    if ended_at is None:
        return False
    kept = timedelta(seconds=parse_duration(row["delete_after"]))
    is_over: bool = row["now"] - ended_at >= kept
    return is_over
