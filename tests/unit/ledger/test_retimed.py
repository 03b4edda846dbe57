"""What a change keeps of what decides about due times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest

from matins.domain.jobs.changes import LockedJob, retimed
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.schedules.schedule import Override, Schedule
from matins.domain.timetables.compiling import Timing

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NOW = NOON + timedelta(minutes=90)
HOURLY = Schedule(cron="0 * * * *")
SPEC = JobSpec("job", Target(command=CommandTarget(["true"])), HOURLY)
AT_THREE = Override(NOON + timedelta(hours=3))


def changed(schedule: Schedule | None) -> Timing:
    """Return the timing of a job that was due hourly since noon, after a change of its schedule."""
    timing = Timing(NOON, NOON, overrides=(AT_THREE,))
    job = LockedJob(UUID(int=1), "team", 1, 1, 1, JobState.ACTIVE, SPEC, timing, (), NOON, NOW)
    return retimed(job, msgspec.structs.replace(SPEC, schedule=schedule), (), NOW)


def test_runs_are_counted_on_while_the_schedule_stays() -> None:
    assert changed(HOURLY).since == NOON


def test_runs_are_counted_anew_for_a_new_schedule() -> None:
    assert changed(Schedule(cron="0 * * * *", jitter="1m")).since == NOW


@pytest.mark.parametrize(
    ("cron", "kept"), [("0 15 * * *", (AT_THREE,)), ("30 * * * *", ())], ids=str
)
def test_overrides_stay_where_the_new_schedule_is_due(
    cron: str, kept: tuple[Override, ...]
) -> None:
    assert changed(Schedule(cron=cron)).overrides == kept


def test_the_anchor_never_changes() -> None:
    assert changed(Schedule(every="7m")).anchor == NOON
