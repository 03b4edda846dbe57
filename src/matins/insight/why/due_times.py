"""When a job was due, and by which of its revisions: each due time belongs to the last one that
began before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple
from uuid import UUID

from matins.domain.audit import Revision
from matins.domain.jobs.changes import timetable_of
from matins.domain.jobs.spec import JobState
from matins.domain.time.instants import SECOND, epoch_s
from matins.domain.timetables.timetable import Timetable

LOOKED_AT: Final = 50
"""How many revisions, or due times that will not run, are looked at for the nearest due time."""

_TICK: Final = timedelta(microseconds=1)


class ExplainedDueTime(NamedTuple):
    """A due time of a job, by the revision that was in force."""

    at: datetime
    fire_at: datetime
    skip_reason: str


def in_force(revisions: Sequence[Revision], at: datetime) -> Revision | None:
    """Return the revision to which a due time at that instant belongs; None: the job was not
    there.
    """
    began = [revision for revision in revisions if revision.effective_at < at]
    return began[-1] if began else None


class DueTimes:
    """The due times of one job over its revisions. Methods raise ScheduleError for a revision that
    can't be computed.
    """

    def __init__(self, job_id: UUID, revisions: Sequence[Revision]) -> None:
        self._job_id = job_id
        self._revisions = revisions

    def at(self, instant: datetime) -> ExplainedDueTime | None:
        """Return the due time at an instant; None: the job is not due then."""
        timetable = self._timetable(in_force(self._revisions, instant))
        if timetable is None or timetable.next_after(instant - SECOND) != instant:
            return None
        return _due_time(timetable, instant)

    def before(self, instant: datetime) -> ExplainedDueTime | None:
        """Return the last due time before an instant."""
        until = instant
        revisions = [revision for revision in self._revisions if revision.effective_at < instant]
        for revision in islice(reversed(revisions), LOOKED_AT):
            timetable = self._timetable(revision)
            due = timetable.previous_before(until) if timetable else None
            if timetable is not None and due is not None and due > revision.effective_at:
                return _due_time(timetable, due)
            until = min(until, revision.effective_at + _TICK)
        return None

    def after(self, instant: datetime) -> ExplainedDueTime | None:
        """Return the first due time after an instant."""
        ends = [revision.effective_at for revision in self._revisions[1:]]
        spans = zip(self._revisions, [*ends, None], strict=True)
        later = [(revision, end) for revision, end in spans if end is None or end > instant]
        for revision, end in later[:LOOKED_AT]:
            timetable = self._timetable(revision)
            since = max(instant, revision.effective_at)
            due = timetable.next_after(since) if timetable else None
            if timetable is not None and due is not None and (end is None or due <= end):
                return _due_time(timetable, due)
        return None

    def next_to_run(self, instant: datetime) -> ExplainedDueTime | None:
        """Return the first due time after an instant that is not skipped, of the next few dozen."""
        due = self.after(instant)
        for _ in range(LOOKED_AT):
            if due is None or not due.skip_reason:
                return due
            due = self.after(due.at)
        return None

    def _timetable(self, revision: Revision | None) -> Timetable | None:
        if revision is None or revision.state is JobState.DELETED:
            return None
        return timetable_of(revision.spec, self._job_id, revision.timing)


def _due_time(timetable: Timetable, at: datetime) -> ExplainedDueTime:
    return ExplainedDueTime(at, timetable.fire_time(at), timetable.skip_reason(epoch_s(at)))
