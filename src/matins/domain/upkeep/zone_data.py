"""What another version of the zone data makes of a job's next due time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from matins.domain.jobs.changes import JobRef
from matins.domain.runs.following import RecordedRun
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.next_due import NextDue, next_due
from matins.domain.values.errors import ScheduleError

AGAIN: Final = timedelta(hours=1)
"""How long after a comparison the next one follows, when the zone data stays the same."""

LOOK_BACK: Final = timedelta(days=2)
"""How far back a due time may lack its row: zone data moves none by more than a day and some hours
(Samoa left out a day in 2011). What lies before has its row, or had it once.
"""


class ComputedWith(NamedTuple):
    """The zone data with which next due times were computed last, and when; none before that."""

    version: str | None
    computed_at: datetime | None
    now: datetime

    def is_stale(self, ours: str) -> bool:
        """Return whether next due times are to be compared with what our zone data says."""
        if self.version is None or self.computed_at is None or self.version > ours:
            return False
        return self.version < ours or self.now - self.computed_at >= AGAIN


class Correction(NamedTuple):
    """What a job's next due time becomes.

    With `missing_after`, due times from then up to now may lack rows by the new rules.
    """

    job: JobRef
    was_due_at: datetime
    next_due: NextDue
    missing_after: datetime | None


class ScheduledJob(msgspec.Struct, frozen=True):
    """An active job with a next due time that lies ahead."""

    job: JobRef
    schedule: Schedule
    timing: Timing
    changed_at: datetime
    next_due_at: datetime
    next_fire_at: datetime | None
    fault: str = ""
    """Why it can't be read, if it can't; its schedule and timing mean nothing then."""

    def correction(self, now: datetime, newest_run: RecordedRun | None) -> Correction | None:
        """Return what is wrong with its next due time; None if nothing is. Raises ScheduleError.

        Due times up to the newest run have their rows.
        """
        if self.fault:
            raise ScheduleError(self.fault)
        timetable = self.timing.compile(self.schedule, self.job.id)
        recorded_until = max(self.timing.since, now - LOOK_BACK)
        if newest_run is not None:
            recorded_until = max(recorded_until, newest_run.due_until or newest_run.due_at)
        due = timetable.next_after(max(now, self.changed_at, recorded_until))
        correct = next_due(timetable, due)
        if (correct.due_at, correct.fire_at) == (self.next_due_at, self.next_fire_at):
            return None
        missing = timetable.next_after(recorded_until)
        is_missing = missing is not None and missing <= now
        return Correction(
            self.job, self.next_due_at, correct, recorded_until if is_missing else None
        )
