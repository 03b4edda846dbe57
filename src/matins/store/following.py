"""What lies ahead of a job that is changed, above all of one that follows the ends of its runs.

That one has a single due time ahead at most, which depends on the run of `LockedJob.follows` alone.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.timetable import Timetable
from matins.store.database import Fetch
from matins.store.past import find_run, newest_runs, run_counts


class Ahead(NamedTuple):
    """What the row of a job says of its future."""

    next_due_at: datetime | None = None
    next_fire_at: datetime | None = None
    follows: datetime | None = None
    """The due time of the run whose end the next due time follows."""


def ahead(timetable: Timetable | None, due: datetime | None) -> Ahead:
    """A due time that is to be claimed; None: there is none."""
    if timetable is None or due is None:
        return Ahead()
    follows = None if timetable.following is None else due
    return Ahead(due, timetable.fire_time(due), follows)


async def owed(fetch: Fetch, job: LockedJob, timetable: Timetable, now: datetime) -> list[datetime]:
    """The due time that has passed by now and may lack its row.

    A claim of it that is under way is waited for by whoever inserts its row: it has the same key.
    """
    if job.follows is None:
        return []
    due: datetime | None = job.follows
    run = await find_run(fetch, job.id, job.follows)
    if run:
        ended: datetime | None = run["finished_at"]
        if ended is None:
            return []
        count = await _run_count(fetch, job, job.spec, job.timing)
        due = timetable.next_after_end(ended, count)
    # Nothing is due while it is stopped: the delay begins anew when it goes on.
    until = now if job.state is JobState.ACTIVE else job.changed_at
    return [due] if due is not None and due <= until else []


async def first(
    fetch: Fetch,
    job: LockedJob,
    spec: JobSpec,
    timing: Timing,
    timetable: Timetable | None,
    now: datetime,
) -> Ahead:
    """What lies ahead of a job after a change, once all that was owed has its row.

    Where it follows ends, a schedule that goes on keeps what it awaits; one that begins, or begins
    again, counts its delay from now, or from the end of the newest run if that still goes on.
    """
    if timetable is None or timetable.following is None:
        return ahead(timetable, timetable.next_after(now) if timetable else None)
    goes_on = job.state is JobState.ACTIVE and spec.schedule == job.spec.schedule
    if goes_on and (job.follows is None or job.follows > now):
        return ahead(timetable, job.follows)
    newest = (await newest_runs(fetch, [job.id])).get(job.id)
    if newest and (goes_on or newest["finished_at"] is None):
        return Ahead(follows=newest["due_at"])
    count = await _run_count(fetch, job, spec, timing)
    return ahead(timetable, timetable.next_after_end(now, count))


async def _run_count(fetch: Fetch, job: LockedJob, spec: JobSpec, timing: Timing) -> int:
    """How many due times the schedule has had, where it matters."""
    if spec.schedule is None or spec.schedule.max_runs is None:
        return 0
    return (await run_counts(fetch, {job.id: timing.since}))[job.id]
