"""Jobs with `delete_after` are deleted so long after their last run has ended."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Final
from uuid import UUID

import asyncpg
import structlog

from matins.domain.ports.jobs import JobRef, JobUpkeep
from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import UnavailableError
from matins.kernel.metrics import JOBS_PASSED, UPKEEP_BROKEN
from matins.store.database import Database
from matins.store.past import newest_runs
from matins.store.queries import load_queries

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
        jobs: JobUpkeep,
        stopping: asyncio.Event,
    ) -> None:
        self._database = database
        self._jobs = jobs
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
            if has_passed(row, newest) and await self._jobs.delete_ended(_ref(row), REASON):
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


def _ref(row: asyncpg.Record) -> JobRef:
    return JobRef(row["team"], row["name"], row["id"], row["revision"])


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
