"""Runs that are too old are purged, and what else nobody asks for any more.

A day of which nothing is kept is dropped as a whole, which costs the same whatever is in it. Only
where a job or a team keeps less than others, or so many runs and no more, single rows are deleted:
of days that are over, so that nothing of it meets those who claim, hand out and record.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final
from uuid import UUID

import structlog

from matins.domain.ports import Clock
from matins.domain.ports.upkeep import Archive, DayTables, Leftovers, Locks, Retention
from matins.domain.upkeep.retention import (
    FIRST,
    WALK_EVERY,
    Cut,
    DaySpan,
    JobRetention,
    OldRun,
    Scope,
)
from matins.domain.values.errors import BlockedError
from matins.upkeep.days import WORK

PAGE: Final = 1000
"""So many jobs are looked at, and so many rows deleted, in a statement."""

KEYS_KEPT: Final = timedelta(days=1)
"""For so long, at least, an idempotency key stands for its run."""

WORK_S: Final = 20.0
"""A call begins with nothing further after so long."""

log = structlog.get_logger()


class Purge:
    """Purges what is too old; one process does it at a time.

    Without an `archive` what is purged is gone.
    """

    def __init__(
        self,
        locks: Locks,
        days: DayTables,
        retention: Retention,
        leftovers: Leftovers,
        archive: Archive | None,
        clock: Clock,
        stopping: asyncio.Event,
    ) -> None:
        self._locks = locks
        self._days = days
        self._retention = retention
        self._leftovers = leftovers
        self._archive = archive
        self._clock = clock
        self._stopping = stopping
        self._until_s = 0.0

    async def purge(self) -> None:
        """Purge; what takes long is left for the next call. Raises OSError of the archive."""
        self._until_s = self._clock.elapsed_s() + WORK_S
        async with self._locks.alone(WORK) as is_alone:
            if not is_alone:
                return
            scope = await self._retention.scope()
            await self._drop_days(scope.oldest)
            if scope.differs:
                await self._walk(scope)
            await self._forget(scope)

    async def _drop_days(self, oldest: datetime) -> None:
        for day in await self._days.past_days(oldest.astimezone(UTC).date()):
            if self._is_over():
                return
            if self._archive:
                await self._archive_day(self._archive, day)
            try:
                await self._days.drop(day)
            except BlockedError:
                log.info("day.busy", day=str(day))
            else:
                log.info("day.dropped", day=str(day))

    async def _archive_day(self, archive: Archive, day: date) -> None:
        after = FIRST
        while runs := await self._retention.runs_of(day, after, PAGE):
            await archive.add(day, [run.line for run in runs])
            after = runs[-1].id

    async def _walk(self, scope: Scope) -> None:
        """Purge single rows, of all jobs once a day; goes on where the last call ended."""
        place = (await self._retention.walk()).next(scope.now)
        if place is None:
            return
        after: UUID | None
        after, began_at = place
        while after is not None and not self._is_over():
            jobs = await self._retention.jobs(after, PAGE)
            cuts = [
                await self._cut(job, scope.now) for job in jobs if job.differs(scope.longest_days)
            ]
            if not await self._purge_rows(cuts):
                return  # these jobs again at the next call
            after = jobs[-1].job_id if len(jobs) == PAGE else None
            await self._retention.record_walk(after, began_at)

    async def _cut(self, job: JobRetention, now: datetime) -> Cut:
        newest = await self._nth_newest(job.job_id, job.kept.runs, succeeded=True)
        newest_other = await self._nth_newest(job.job_id, job.kept.others_runs, succeeded=False)
        return job.cut(now, newest, newest_other)

    async def _nth_newest(
        self, job_id: UUID, nth: int | None, *, succeeded: bool
    ) -> datetime | None:
        if nth is None:
            return None
        return await self._retention.nth_newest(job_id, nth, succeeded=succeeded)

    async def _purge_rows(self, cuts: Sequence[Cut]) -> bool:
        """Purge the rows of some jobs up to their cuts, oldest first; False if some are left."""
        if not cuts:
            return True
        sinces = [cut.since for cut in cuts if cut.since]
        since = min(sinces) if len(sinces) == len(cuts) else None
        for span in await self._retention.spans(max(cut.until for cut in cuts)):
            if since is not None and span.past < since:
                continue
            while runs := await self._retention.old_runs(span, cuts, PAGE):
                if self._is_over():
                    return False
                # first, since whoever audits in between is not to miss what is gone
                await self._retention.record_purged([cut.before(span.past) for cut in cuts])
                await self._delete(span, runs)
        await self._retention.record_purged(cuts)
        return True

    async def _delete(self, span: DaySpan, runs: Sequence[OldRun]) -> None:
        if self._archive:
            lines: dict[date, list[str]] = defaultdict(list)
            for run in runs:
                lines[run.due_at.astimezone(UTC).date()].append(run.line)
            for day, of_day in lines.items():
                await self._archive.add(day, of_day)
        await self._retention.delete_runs(span, [run.id for run in runs])

    async def _forget(self, scope: Scope) -> None:
        """Purge hand-outs and rows of executors, backfills and replays that ended, revisions that
        were replaced, and idempotency keys.
        """
        leftovers = self._leftovers
        await leftovers.forget_handouts(scope.now - WALK_EVERY, PAGE)
        for delete, before in (
            (leftovers.delete_executors, scope.oldest),
            (leftovers.delete_revisions, scope.oldest),
            (leftovers.delete_backfills, scope.oldest),
            (leftovers.delete_replays, scope.oldest),
            (leftovers.delete_trigger_keys, scope.now - KEYS_KEPT),
        ):
            while not self._is_over() and await delete(before, PAGE) == PAGE:
                pass

    def _is_over(self) -> bool:
        return self._stopping.is_set() or self._clock.elapsed_s() > self._until_s
