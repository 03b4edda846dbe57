"""Next due times follow the zone data: a new version of it computes them anew, from now on.

They are compared again every hour, because a process that still has older data, while a new version
is rolled out, goes on to write what that says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from matins.domain.ports import Clock, Hints
from matins.domain.ports.jobs import JobUpkeep
from matins.domain.ports.upkeep import NextDueTimes
from matins.domain.runs.following import RecordedRun
from matins.domain.time.zones import data_version
from matins.domain.upkeep.zone_data import Correction, ScheduledJob
from matins.domain.values.errors import UnavailableError
from matins.kernel.hints import notify
from matins.kernel.metrics import DUE_CORRECTED, UPKEEP_BROKEN, ZONE_DATA_BEHIND
from matins.kernel.service import pause

PAGE: Final = 1_000
"""The most jobs that are read, and corrected, at once."""

REASON: Final = "zone data changed"
"""Why a due time does not run that new zone data puts before now."""

_PAUSE_S: Final = 1.0
"""After a page with corrections: schedulers read again all that changed in their last seconds."""

_SLICE: Final = 50
"""The most jobs that are looked at before the process yields to the event loop."""

_FIRST: Final = UUID(int=0)

log = structlog.get_logger()


class ZoneDataSync:
    """Walks over all jobs with a next due time. Any number of walks do no harm to each other."""

    def __init__(
        self,
        due_times: NextDueTimes,
        jobs: JobUpkeep,
        hints: Hints,
        clock: Clock,
        stopping: asyncio.Event,
    ) -> None:
        self._due_times = due_times
        self._jobs = jobs
        self._hints = hints
        self._clock = clock
        self._stopping = stopping

    async def sync(self) -> None:
        """Compare, and correct, if it is time. What was interrupted is done again by the next call.

        A job that can't be computed is left to its scheduler, which quarantines it.
        """
        last, ours = await self._due_times.computed_with(), data_version()
        is_behind = last.version is not None and last.version > ours
        ZONE_DATA_BEHIND.set(is_behind)
        if last.version is None:
            await self._due_times.record_version(ours)
        elif is_behind:
            log.error("zone_data.behind", ours=ours, recorded=last.version)
        elif last.is_stale(ours):
            await self._walk(last.version, ours)

    async def _walk(self, before: str, ours: str) -> None:
        """Look at all jobs, page by page; the version is recorded when nothing was left over."""
        begun_s = self._clock.elapsed_s()
        after, seen, corrected, unwritten = _FIRST, 0, 0, 0
        full = True
        while full:
            # Asked for each page: where another scheduler has newer data meanwhile, that one wins.
            last = await self._due_times.computed_with()
            if self._stopping.is_set() or (last.version or "") > ours:
                return
            page = await self._due_times.jobs_ahead(after, last.now, PAGE)
            wrong = await self._compare(page, last.now)
            ready = [
                correction
                for correction in wrong
                if await self._record_missing(correction, last.now)
            ]
            written = await self._correct(ready)
            seen, corrected = seen + len(page), corrected + written
            unwritten += len(ready) - written
            full = len(page) == PAGE
            if full:
                after = page[-1].job.id
                await pause(_PAUSE_S if written else 0, self._clock, self._stopping)
        if not unwritten:
            await self._due_times.record_version(ours)
        log.info(
            "zone_data.compared",
            before=before,
            now=ours,
            jobs=seen,
            corrected=corrected,
            left=unwritten,
            seconds=round(self._clock.elapsed_s() - begun_s, 3),
        )

    async def _compare(self, page: Sequence[ScheduledJob], now: datetime) -> list[Correction]:
        """Find what is to be corrected. A newest run is looked up only where it may matter."""
        suspects = []
        for index, job in enumerate(page):
            if index % _SLICE == _SLICE - 1:
                await self._clock.sleep(0)  # claims run in this event loop, too
            if _correction(job, now, None):
                suspects.append(job)
        if not suspects:
            return []
        newest = await self._due_times.newest_runs([suspect.job.id for suspect in suspects])
        corrections = [_correction(job, now, newest.get(job.job.id)) for job in suspects]
        return [correction for correction in corrections if correction is not None]

    async def _record_missing(self, wrong: Correction, now: datetime) -> bool:
        """Skip what is missing by the new rules; False if the job has changed, or is broken."""
        if wrong.missing_after is None:
            return True
        try:
            return await self._jobs.skip_missing(
                wrong.job, after=wrong.missing_after, now=now, reason=REASON
            )
        except UnavailableError:
            raise
        except Exception as error:  # whatever it is, it must not stop the others
            _broken(wrong.job.id, error)
        return False

    async def _correct(self, corrections: Sequence[Correction]) -> int:
        """Write corrections, and tell the schedulers; returns how many were written."""
        if not corrections:
            return 0
        count = await self._due_times.correct(corrections)
        DUE_CORRECTED.inc(count)
        await notify(self._hints, "jobs")
        return count


def _correction(
    job: ScheduledJob, now: datetime, newest_run: RecordedRun | None
) -> Correction | None:
    """Return what is to be corrected of a job; None also for one that can't be computed."""
    try:
        return job.correction(now, newest_run)
    except Exception as error:  # whatever it is, it must not stop the others
        _broken(job.job.id, error)
        return None


def _broken(job_id: UUID, error: Exception) -> None:
    UPKEEP_BROKEN.inc()
    log.warning("upkeep.job_broken", job=str(job_id), error=f"{type(error).__name__}: {error}")
