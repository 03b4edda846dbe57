"""The last few runs of many jobs at once, for lists of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import msgspec

from matins.domain.runs.recent import RecentRun
from matins.store.database import Fetch
from matins.store.past import day_ranges
from matins.store.queries import load_queries

RANGES_FOR_ALL: Final = 4
"""So many ranges of days are looked at for jobs that have runs, but fewer than are asked for: ten
weeks at least, the last ten runs of a weekly job.
"""

RANGES_MAX: Final = 8
"""So many for jobs of which no run was found yet: over half a year, at some 7 us for a day and job.
"""

_Q = load_queries("recent.sql")


async def recent_runs(
    fetch: Fetch, job_ids: Sequence[UUID], count: int
) -> dict[UUID, list[RecentRun]]:
    """Return the last runs, `count` at most, of each of the jobs that has any; newest first.

    However long the history is, so many days are looked at and no more: a job that is due once in
    a month has fewer than it has had, and a job that ran a year ago has none.
    """
    found: dict[UUID, list[RecentRun]] = {job_id: [] for job_id in job_ids}
    looked = 0
    async for days in day_ranges(fetch):
        looked += 1
        enough = count if looked <= RANGES_FOR_ALL else 1
        wanted = [job_id for job_id, runs in found.items() if len(runs) < enough]
        if not wanted or looked > RANGES_MAX:
            break
        for row in await fetch(days.pin(_Q["recent_runs"]), job_ids=wanted, count=count):
            run = dict(row)
            found[run.pop("job_id")].append(msgspec.convert(run, RecentRun))
    return {job_id: _newest(runs, count) for job_id, runs in found.items() if runs}


def _newest(runs: list[RecentRun], count: int) -> list[RecentRun]:
    return sorted(runs, key=lambda run: (run.due_at, run.kind), reverse=True)[:count]
