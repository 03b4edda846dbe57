"""Up to when runs are too old, of each job; and the walk over all jobs that looks at it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from matins.domain.jobs.keeping import Kept

WALK_EVERY: Final = timedelta(days=1)
"""How often all jobs are looked at for single rows that are too old."""

FIRST: Final = UUID(int=0)


class Scope(msgspec.Struct, frozen=True):
    """For how many days any job keeps runs, and whether some keep theirs otherwise."""

    longest_days: int
    differs: bool
    now: datetime

    @property
    def oldest(self) -> datetime:
        """No run that was due before is kept by anybody."""
        return self.now - timedelta(days=self.longest_days)


class Walk(NamedTuple):
    """How far the walk over all jobs has come: behind a job, since it began."""

    after: UUID | None = None
    began_at: datetime | None = None

    def next(self, now: datetime) -> tuple[UUID, datetime] | None:
        """Return where to go on, and since when the walk lasts; None: it isn't time to begin
        anew.
        """
        if self.after is not None:
            return self.after, self.began_at or now
        if self.began_at is not None and now - self.began_at < WALK_EVERY:
            return None
        return FIRST, now


class JobRetention(msgspec.Struct, frozen=True):
    """What a job keeps, and up to when its runs were purged before, if they ever were."""

    job_id: UUID
    kept: Kept
    purged_until: datetime | None = None

    def differs(self, longest_days: int) -> bool:
        """Return whether runs of the job go before the table of their day does."""
        kept = self.kept
        return (
            min(kept.days, kept.others_days) < longest_days
            or kept.runs is not None
            or kept.others_runs is not None
        )

    def cut(self, now: datetime, newest: datetime | None, newest_other: datetime | None) -> Cut:
        """Return what goes. `newest`: when the oldest was due of the newest runs that it keeps."""
        succeeded_until, others_until = self.kept.until(now)
        return Cut(
            self.job_id,
            max(succeeded_until, newest or succeeded_until),
            max(others_until, newest_other or others_until),
            self.purged_until,
        )


class Cut(msgspec.Struct, frozen=True):
    """Up to when runs of a job are too old: those that succeeded, and the others."""

    job_id: UUID
    succeeded_until: datetime
    others_until: datetime
    since: datetime | None
    """Up to when that was purged before."""

    @property
    def until(self) -> datetime:
        """No run that was due later is too old."""
        return max(self.succeeded_until, self.others_until)

    def before(self, instant: datetime) -> Cut:
        """Return what goes of all that was due before an instant."""
        succeeded_until = min(self.succeeded_until, instant)
        others_until = min(self.others_until, instant)
        return Cut(self.job_id, succeeded_until, others_until, self.since)


class OldRun(msgspec.Struct, frozen=True):
    """A run that goes, with the line that the archive gets of it."""

    id: UUID
    due_at: datetime
    line: str


class DaySpan(NamedTuple):
    """Days in a row that one statement looks at: from a midnight to before another, in UTC."""

    first: datetime
    past: datetime
