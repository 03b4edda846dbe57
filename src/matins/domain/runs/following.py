"""What a change finds of a job that follows the ends of its runs, and what is next after it.

Such a job has a single due time ahead at most, which depends on one run alone: `NextDue.follows`.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.spec import JobState
from matins.domain.timetables.next_due import NextDue, next_due
from matins.domain.timetables.timetable import Timetable


class RecordedRun(msgspec.Struct, frozen=True):
    """A row of the ledger: for its due time, or for all up to `due_until`."""

    due_at: datetime
    due_until: datetime | None = None
    finished_at: datetime | None = None


def missing_after_end(
    job: LockedJob, timetable: Timetable, run: RecordedRun | None, run_count: int, now: datetime
) -> list[datetime]:
    """Return the due time that has passed and may lack its row.

    `run` is that of `follows`. A claim of it that is under way is waited for by whoever inserts its
    row: it has the same key.
    """
    due = job.next_due.follows
    if due is None:
        return []
    if run is not None:
        if run.finished_at is None:
            return []
        due = timetable.next_after_end(run.finished_at, run_count)
    # Nothing is due while it is stopped: the delay begins anew when it goes on.
    until = now if job.state is JobState.ACTIVE else job.changed_at
    return [due] if due is not None and due <= until else []


def next_after_change(
    job: LockedJob,
    timetable: Timetable,
    newest: RecordedRun | None,
    run_count: int,
    now: datetime,
    *,
    goes_on: bool,
) -> NextDue:
    """Return what a job awaits after a change, once all that was missing has its row.

    A schedule that `goes_on` keeps what it awaits; one that begins, or begins again, counts its
    delay from now, or from the end of the newest run if that still goes on.
    """
    follows = job.next_due.follows
    if goes_on and (follows is None or follows > now):
        return next_due(timetable, follows)
    if newest is not None and (goes_on or newest.finished_at is None):
        return NextDue(follows=newest.due_at)
    return next_due(timetable, timetable.next_after_end(now, run_count))
