"""Jobs with `delete_after` are deleted so long after their last run has ended."""

from __future__ import annotations

import asyncio
from typing import Final
from uuid import UUID

import structlog

from matins.domain.ports.jobs import JobUpkeep
from matins.domain.ports.upkeep import EndedJobs
from matins.domain.upkeep.auto_delete import EndedJob
from matins.domain.values.errors import UnavailableError
from matins.kernel.metrics import JOBS_EXPIRED, UPKEEP_BROKEN

PAGE: Final = 1_000
"""The most jobs that are looked at in one statement."""

REASON: Final = "delete_after"
"""The reason of a job that was deleted so."""

_FIRST: Final = UUID(int=0)

log = structlog.get_logger()


class AutoDelete:
    """Walks over the jobs whose schedules have come to their end, and deletes what has expired."""

    def __init__(self, ended: EndedJobs, jobs: JobUpkeep, stopping: asyncio.Event) -> None:
        self._ended = ended
        self._jobs = jobs
        self._stopping = stopping
        self._after = _FIRST

    async def delete(self) -> None:
        """Delete those whose time has come, each as its owner would do it.

        The next call goes on behind a job that raised UnavailableError, so that it stops nobody.
        """
        full = True
        while full:
            page = await self._ended.ended_jobs(self._after, PAGE)
            for ended in page:
                if self._stopping.is_set():
                    return
                self._after = ended.job.id
                await self._delete_if_expired(ended)
            full = len(page) == PAGE
        self._after = _FIRST

    async def _delete_if_expired(self, ended: EndedJob) -> None:
        job = ended.job
        try:
            if ended.has_expired() and await self._jobs.delete_ended(job, REASON):
                JOBS_EXPIRED.inc()
                ids = {"job": str(job.id), "team": job.team, "name": job.name}
                log.info("job.deleted", **ids, reason=REASON)
        except UnavailableError:
            raise
        except Exception as error:  # whatever it is, it must not stop the others
            UPKEEP_BROKEN.inc()
            log.warning("upkeep.job_broken", job=str(job.id), error=str(error))
