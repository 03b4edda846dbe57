"""What a change finds of a job that follows the ends of its runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.following import RecordedRun, missing_after_end
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.next_due import NextDue

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SCHEDULE = Schedule(every="1m", after="end")
SPEC = JobSpec("job", Target(command=CommandTarget(["true"])), SCHEDULE)
NOW = NOON + 10 * MINUTE


def missing(state: JobState, run: RecordedRun | None, follows: datetime | None) -> list[datetime]:
    """Return what is missing now of a job that was changed last four minutes after noon."""
    timing = Timing(NOON, NOON)
    where = (UUID(int=1), "team", 1, 1, 1)
    dates = (NOON, NOON + 4 * MINUTE)
    job = LockedJob(*where, state, SPEC, timing, (), *dates, next_due=NextDue(follows=follows))
    return missing_after_end(job, timing.compile(SCHEDULE, job.id), run, 0, NOW)


@pytest.mark.parametrize(
    ("state", "ended", "due"),
    [
        (JobState.ACTIVE, 2, [3]),
        (JobState.ACTIVE, 8, [9]),
        (JobState.ACTIVE, 9.5, []),
        (JobState.QUARANTINED, 2, [3]),
        (JobState.QUARANTINED, 8, []),
    ],
)
def test_what_follows_an_end_is_missing_if_it_came_while_the_job_was_active(
    state: JobState, ended: float, due: list[int]
) -> None:
    run = RecordedRun(NOON, finished_at=NOON + ended * MINUTE)
    assert missing(state, run, NOON) == [NOON + minute * MINUTE for minute in due]


def test_nothing_is_missing_while_the_run_goes_on_or_when_nothing_is_awaited() -> None:
    assert missing(JobState.ACTIVE, RecordedRun(NOON), NOON) == []
    assert missing(JobState.ACTIVE, None, None) == []


def test_a_due_time_that_was_not_claimed_is_missing_itself() -> None:
    assert missing(JobState.ACTIVE, None, NOON + MINUTE) == [NOON + MINUTE]
