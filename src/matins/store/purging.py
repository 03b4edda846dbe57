"""Runs that are too old are purged, and what else nobody asks for any more.

A day of which nothing is kept is dropped as a whole, which costs the same whatever is in it. Only
where a job or a team keeps less than others, or so many runs and no more, single rows are deleted:
of days that are over, so that nothing of it meets those who claim, hand out and record.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from uuid import UUID

import asyncpg
import msgspec
import structlog

from matins.domain.jobs.keeping import DAYS, Keep, Kept, kept
from matins.domain.ports import Clock
from matins.store.alone import alone
from matins.store.archiving import Archive
from matins.store.database import Database, Fetch
from matins.store.dispatch import PostgresWatch
from matins.store.past import Stretch, around, stretches
from matins.store.queries import load_queries

PAGE = 1000
"""So many jobs are looked at, and so many rows deleted, in a statement."""

WORK_S = 20.0
"""A call begins with nothing further after so long."""

LOCK_MS = 100
"""How long reads may be held up, at the most, by a drop that waits for another read."""

_WALK_EVERY = timedelta(days=1)
_FIRST = UUID(int=0)
_Q = load_queries("purging.sql")

log = structlog.get_logger()


class _Cut(NamedTuple):
    """Up to when runs of a job are too old: those that succeeded, and the others."""

    job_id: UUID
    succeeded_until: datetime
    others_until: datetime
    since: datetime | None
    """Up to when that was done before."""


class Purge:
    """Purges what is too old; one process does it at a time.

    The sessions of `database` need a long deadline. Without an `archive` what is purged is gone.
    """

    def __init__(
        self, database: Database, archive: Archive | None, clock: Clock, stopping: asyncio.Event
    ) -> None:
        self._database = database
        self._archive = archive
        self._clock = clock
        self._stopping = stopping
        self._until_s = 0.0

    async def purge(self) -> None:
        """Purge; what takes long is left for the next call. Raises OSError of the archive."""
        self._until_s = self._clock.elapsed_s() + WORK_S
        async with alone(self._database, "days") as session:
            if session is None:
                return

            async def fetch(query: object, **given: object) -> list[asyncpg.Record]:
                return await self._database.run(session, query, **given)  # type: ignore[arg-type]

            [row] = await fetch(_Q["longest"], days=DAYS)
            oldest: datetime = row["now"] - timedelta(days=row["days"])
            await self._drop_days(session, fetch, oldest)
            if row["differs"]:
                await self._walk(fetch, row["now"], row["days"])
            await self._forget(fetch, oldest, row["now"])

    async def _drop_days(
        self, session: asyncpg.pool.PoolConnectionProxy, fetch: Fetch, oldest: datetime
    ) -> None:
        for row in await fetch(_Q["too_old"], before=oldest.astimezone(UTC).date()):
            if self._is_over():
                return
            day: date = row["day"]
            if self._archive:
                await self._archive_day(self._archive, fetch, day)
            try:
                async with session.transaction():
                    await session.execute(f"SET LOCAL lock_timeout = {LOCK_MS}")
                    await fetch(_Q["drop_day"], day=day)
            except asyncpg.LockNotAvailableError:
                log.info("day.busy", day=str(day))
                continue
            log.info("day.dropped", day=str(day))

    async def _archive_day(self, archive: Archive, fetch: Fetch, day: date) -> None:
        query = _of(day).pin(_Q["lines"])
        after = _FIRST
        while rows := await fetch(query, after=after, limit=PAGE):
            await archive.add(day, [row["line"] for row in rows])
            after = rows[-1]["id"]

    async def _walk(self, fetch: Fetch, now: datetime, longest_days: int) -> None:
        """Purge single rows, of all jobs once a day; goes on where the last call ended."""
        [row] = await fetch(_Q["walk"])
        after, began_at = row["walked_to"], row["walk_began_at"]
        if after is None:
            if began_at is not None and now - began_at < _WALK_EVERY:
                return
            after, began_at = _FIRST, now
        while after is not None and not self._is_over():
            jobs = await fetch(_Q["jobs"], after=after, limit=PAGE)
            cuts = [await self._cut(fetch, job, now) for job in jobs if _differs(job, longest_days)]
            if not await self._purge_rows(fetch, cuts):
                return  # these jobs again at the next call
            after = jobs[-1]["id"] if len(jobs) == PAGE else None
            await fetch(_Q["walked"], walked_to=after, walk_began_at=began_at)

    async def _cut(self, fetch: Fetch, job: asyncpg.Record, now: datetime) -> _Cut:
        keeps = _kept(job)
        succeeded_until, others_until = keeps.until(now)
        if keeps.runs is not None:
            newest = await _nth_newest(fetch, job["id"], keeps.runs, succeeded=True)
            succeeded_until = max(succeeded_until, newest or succeeded_until)
        if keeps.others_runs is not None:
            newest = await _nth_newest(fetch, job["id"], keeps.others_runs, succeeded=False)
            others_until = max(others_until, newest or others_until)
        done = (job["succeeded_until"], job["others_until"])
        since = None if None in done else min(done)
        return _Cut(job["id"], succeeded_until, others_until, since)

    async def _purge_rows(self, fetch: Fetch, cuts: Sequence[_Cut]) -> bool:
        """Purge the rows of some jobs up to their cuts, oldest first; False if some are left."""
        if not cuts:
            return True
        untils = [max(it.succeeded_until, it.others_until) for it in cuts]
        sinces = [it.since for it in cuts if it.since]
        since = min(sinces) if len(sinces) == len(cuts) else None
        spans = [it async for it in stretches(fetch, max(untils))]
        given = {
            "job_ids": [it.job_id for it in cuts],
            "succeeded_untils": [it.succeeded_until for it in cuts],
            "others_untils": [it.others_until for it in cuts],
        }
        for days in reversed(spans):
            if since is not None and days.past <= since:
                continue
            query = days.pin(_Q["rows_too_old"])
            while rows := await fetch(query, limit=PAGE, **given):
                if self._is_over():
                    return False
                await self._delete(fetch, days, rows)
        await fetch(_Q["purged"], **given)
        return True

    async def _delete(self, fetch: Fetch, days: Stretch, rows: Sequence[asyncpg.Record]) -> None:
        if self._archive:
            lines: dict[date, list[str]] = defaultdict(list)
            for row in rows:
                lines[row["due_at"].date()].append(row["line"])
            for day, of_day in lines.items():
                await self._archive.add(day, of_day)
        run_ids = [row["id"] for row in rows]
        await fetch(days.pin(_Q["delete_attempts"]), run_ids=run_ids)
        await fetch(days.pin(_Q["delete_runs"]), run_ids=run_ids)

    async def _forget(self, fetch: Fetch, oldest: datetime, now: datetime) -> None:
        """Purge hand-outs and rows of executors that ended, and revisions that were replaced."""
        watch = PostgresWatch(self._database)
        for row in await fetch(_Q["ended_with_handouts"], before=now - _WALK_EVERY, limit=PAGE):
            await watch.forget(row["id"])
        while not self._is_over():
            if len(await fetch(_Q["delete_executors"], before=oldest, limit=PAGE)) < PAGE:
                break
        while not self._is_over():
            [row] = await fetch(_Q["delete_revisions"], before=oldest, limit=PAGE)
            if row["looked_at"] < PAGE:
                break

    def _is_over(self) -> bool:
        return self._stopping.is_set() or self._clock.elapsed_s() > self._until_s


async def _nth_newest(
    fetch: Fetch, job_id: UUID, count: int, *, succeeded: bool
) -> datetime | None:
    """When the oldest of a job's newest runs was due; None if there are not so many."""
    async for days in stretches(fetch):
        query = days.pin(_Q["newest_ends"])
        rows = await fetch(query, job_id=job_id, succeeded=succeeded, limit=count)
        count -= len(rows)
        if count == 0:
            due_at: datetime = rows[-1]["due_at"]
            return due_at
    return None


def _differs(job: asyncpg.Record, longest_days: int) -> bool:
    """Whether rows of a job go before the table of their day does."""
    keeps = _kept(job)
    return (
        min(keeps.days, keeps.others_days) < longest_days
        or keeps.runs is not None
        or keeps.others_runs is not None
    )


def _kept(job: asyncpg.Record) -> Kept:
    """What a job keeps; what can't be read keeps as much as is usual."""
    try:
        said = [
            None if text is None else msgspec.json.decode(text, type=Keep)
            for text in (job["keep"], job["team_keep"])
        ]
    except msgspec.MsgspecError:
        log.exception("keep.unreadable", job=str(job["id"]))
        return kept()
    return kept(*said)


def _of(day: date) -> Stretch:
    midnight = datetime.combine(day, time.min, UTC)
    return around(midnight, midnight)
