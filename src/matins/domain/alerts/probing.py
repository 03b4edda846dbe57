"""Of which bad jobs is asked whether they have changed: so seldom that it costs next to nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

YOUNG: Final = timedelta(minutes=10)
"""What turned bad no longer ago is asked each time, too; all have their turn once a minute."""

YOUNG_MAX: Final = 1_000
"""So many of what turned bad last, or a burst of failures would be asked over and over."""

SLICES: Final = 60
"""Of all jobs: another one each second."""

RUNS: Final = 50
"""So many of a job's newest runs say whether it has changed."""


def slice_of(job_id: UUID) -> int:
    """Return the slice of a job, as `alerts.sql` does."""
    return job_id.bytes[15] % SLICES


def slices_between(woken_until: datetime, now: datetime) -> list[int]:
    """Return those whose turn it is; all of them where the clock was put back."""
    last = int(now.timestamp())
    first = int(woken_until.timestamp()) + 1 if woken_until <= now else 0
    return [second % SLICES for second in range(max(first, last - SLICES + 1), last + 1)]
