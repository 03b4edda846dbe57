"""When a job with `delete_after` has expired."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from matins.domain.jobs.changes import JobRef
from matins.domain.runs.following import RecordedRun
from matins.domain.values.durations import parse_duration


class EndedJob(msgspec.Struct, frozen=True):
    """A job with `delete_after` whose schedule has come to its end."""

    job: JobRef
    delete_after: str
    changed_at: datetime
    newest_run: RecordedRun | None
    now: datetime
    """When it was looked at."""

    def has_expired(self) -> bool:
        """Return whether its last scheduled run ended long enough ago. Raises ScheduleError.

        Without a run it counts from when the job was written as it is.
        """
        ended_at = self.newest_run.finished_at if self.newest_run else self.changed_at
        if ended_at is None:
            return False
        return self.now - ended_at >= timedelta(seconds=parse_duration(self.delete_after))
