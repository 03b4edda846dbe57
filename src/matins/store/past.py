"""Rows of runs that may lie far back: `all_runs`, read a range of days at a time, newest first.

Each statement is pinned to its range: it is planned for the tables of those days, and locks no
others. A plan for all days of two years takes a third of a second to make.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import UTC, date, datetime, time
from typing import NamedTuple
from uuid import UUID

import asyncpg

from matins.domain.runs.following import RecordedRun
from matins.store.database import Fetch
from matins.store.queries import Query, load_queries

_Q = load_queries("past.sql")
_FIRST_RANGE = 12
_RANGE = 32
_EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)

LATEST = datetime(9999, 12, 30, tzinfo=UTC)
"""No run is due later."""


class DayRange(NamedTuple):
    """Some days in a row: from the beginning of one, before the beginning of another, in UTC."""

    first: datetime
    past: datetime

    def pin(self, query: Query) -> Query:
        """Return a query with `:first` and `:past` written out, to be planned for these days."""
        return query.pinned(first=self.first, past=self.past)


def around(first: datetime, last: datetime) -> DayRange:
    """Return the days from that of one instant to that of another."""
    return DayRange(_midnight(_day(first)), _midnight(_day(last) + 1))


async def day_ranges(fetch: Fetch, until: datetime | None = None) -> AsyncIterator[DayRange]:
    """Yield all days that have rows, up to that of `until`, newest first.

    The first range holds all that is recent. The others begin on fixed days, so that readers
    share plans. Those ahead of today that hold nothing are left out.
    """
    [bounds] = await fetch(_Q["bounds"])
    if bounds["oldest"] is None:
        return
    newest: int = bounds["newest"].toordinal()
    past = (newest if until is None else min(_day(until), newest)) + 1
    first = past - _FIRST_RANGE
    blocks = frozenset[int](bounds["blocks"])
    while past > bounds["oldest"].toordinal():
        is_ahead = first > bounds["today"].toordinal()
        if not is_ahead or not blocks.isdisjoint(range(first // _RANGE, (past - 1) // _RANGE + 1)):
            yield DayRange(_midnight(first), _midnight(past))
        past, first = first, (first - 1) // _RANGE * _RANGE
    if bounds["kept"] is not None and bounds["kept"].toordinal() < past:
        yield DayRange(_midnight(bounds["kept"].toordinal()), _midnight(past))


async def newest_runs(fetch: Fetch, job_ids: Iterable[UUID]) -> dict[UUID, asyncpg.Record]:
    """Return the newest scheduled row of each of the jobs that has any."""
    return await newest_runs_before(fetch, dict.fromkeys(job_ids, LATEST))


def recorded(row: asyncpg.Record) -> RecordedRun:
    """Return what a run's row says of its due times."""
    return RecordedRun(row["due_at"], row["due_until"], row["finished_at"])


async def newest_runs_before(
    fetch: Fetch, befores: Mapping[UUID, datetime], begins: Mapping[UUID, datetime] | None = None
) -> dict[UUID, asyncpg.Record]:
    """Return the newest scheduled row before an instant of each of the jobs that has any.

    `begins` says of jobs since when there are any; before that nothing is looked for.
    """
    begins = begins or {}
    newest: dict[UUID, asyncpg.Record] = {}
    async for days in day_ranges(fetch, max(befores.values(), default=None)):
        missing = {
            job_id: at
            for job_id, at in befores.items()
            if job_id not in newest and begins.get(job_id, days.first) < days.past
        }
        if not missing:
            break
        args = {"job_ids": list(missing), "befores": list(missing.values())}
        for row in await fetch(days.pin(_Q["newest_runs"]), **args):
            newest[row["job_id"]] = row
    return newest


async def run_counts(fetch: Fetch, since: Mapping[UUID, datetime]) -> Counter[UUID]:
    """Return how many scheduled rows of jobs lie after an instant of each."""
    counts: Counter[UUID] = Counter()
    async for days in day_ranges(fetch):
        if not since or days.past <= min(since.values()):
            break
        args = {"job_ids": list(since), "sinces": list(since.values())}
        for row in await fetch(days.pin(_Q["run_counts"]), **args):
            counts[row["job_id"]] += row["run_count"]
    return counts


def _day(instant: datetime) -> int:
    return min(max(instant, _EARLIEST), LATEST).astimezone(UTC).toordinal()


def _midnight(ordinal: int) -> datetime:
    return datetime.combine(date.fromordinal(ordinal), time.min, UTC)
