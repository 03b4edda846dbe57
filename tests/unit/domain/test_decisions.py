"""What the deeds of owners make of a job."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest

from matins.domain.jobs import decisions
from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.decisions import JobChange, Moment
from matins.domain.jobs.misfire import COUNT_MAX, Missed
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.schedules.schedule import Override, Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.next_due import NextDue
from matins.domain.values.errors import ConflictError

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
ONE = NOON + timedelta(hours=1)
HOURLY = JobSpec("job", Target(command=CommandTarget(["true"])), Schedule(cron="0 * * * *"))
DAILY = msgspec.structs.replace(HOURLY, schedule=Schedule(cron="0 2 * * *"))
HASTY = msgspec.structs.replace(HOURLY, timeout="1s")
ACTIVE, PAUSED, QUARANTINED = JobState.ACTIVE, JobState.PAUSED, JobState.QUARANTINED
NOW = Moment(NOON, NOON)


def job(state: JobState = ACTIVE, *overrides: Override, is_behind: bool = False) -> LockedJob:
    """Return a job that is due hourly."""
    timing = Timing(NOON, NOON, overrides=overrides)
    due = NextDue(ONE, ONE) if state is ACTIVE else NextDue()
    where = (UUID(int=1), "team", 1, 1, 1)
    return LockedJob(
        *where, state, HOURLY, timing, (), NOON, NOON, next_due=due, is_behind=is_behind
    )


@pytest.mark.parametrize(
    ("state", "spec", "becomes", "reason"),
    [
        (ACTIVE, DAILY, ACTIVE, "changed"),
        (ACTIVE, HASTY, ACTIVE, None),
        (PAUSED, DAILY, PAUSED, "paused"),
        (PAUSED, HASTY, PAUSED, None),
        (QUARANTINED, DAILY, ACTIVE, "quarantined"),
        (QUARANTINED, HASTY, ACTIVE, "quarantined"),
        (QUARANTINED, HOURLY, ACTIVE, "quarantined"),
    ],
)
def test_a_new_spec_stops_no_job_and_skips_only_for_another_schedule(
    state: JobState, spec: JobSpec, becomes: JobState, reason: str | None
) -> None:
    assert decisions.replace(job(state), spec) == JobChange(spec, becomes, "changed", reason)


@pytest.mark.parametrize("state", [ACTIVE, PAUSED])
def test_an_equal_spec_changes_nothing(state: JobState) -> None:
    assert decisions.replace(job(state), HOURLY) is None


def test_a_pause_skips_what_lay_before_it_and_a_second_one_changes_nothing() -> None:
    assert decisions.pause(job()) == JobChange(HOURLY, PAUSED, "paused", "paused")
    assert decisions.pause(job(PAUSED)) is None


@pytest.mark.parametrize(("missed", "run_max"), [("skip", 0), ("last", 1), ("all", COUNT_MAX)])
@pytest.mark.parametrize("state", [PAUSED, QUARANTINED])
def test_a_job_goes_on_with_so_much_of_what_it_missed(
    state: JobState, missed: Missed, run_max: int
) -> None:
    expected = JobChange(HOURLY, ACTIVE, "resumed", state, run_max)
    assert decisions.resume(job(state), missed) == expected


def test_a_job_that_goes_on_already_is_not_resumed() -> None:
    assert decisions.resume(job(), "all") is None


@pytest.mark.parametrize(
    ("state", "reason"), [(ACTIVE, "deleted"), (PAUSED, "paused"), (QUARANTINED, "quarantined")]
)
def test_what_a_deleted_job_missed_is_skipped_for_what_stopped_it(
    state: JobState, reason: str
) -> None:
    assert decisions.delete(job(state)) == JobChange(HOURLY, JobState.DELETED, "deleted", reason)


def test_the_reason_of_a_quarantine_stays_until_the_job_is_mended() -> None:
    broken = job(QUARANTINED, Override(ONE))
    deeds: list[Callable[[], object]] = [
        lambda: decisions.pause(broken),
        lambda: decisions.override(broken, Override(ONE), NOW),
        lambda: decisions.restore(broken, ONE, NOW),
    ]
    for decide in deeds:
        with pytest.raises(ConflictError, match="quarantined"):
            decide()


def test_an_override_leaves_the_schedule_going_on() -> None:
    change = decisions.override(job(), Override(ONE), NOW)
    assert change == JobChange(HOURLY, ACTIVE, "changed", overrides=(Override(ONE),))
    assert decisions.override(job(ACTIVE, Override(ONE)), Override(ONE), NOW) is None
    assert decisions.restore(job(ACTIVE, Override(ONE)), ONE, NOW).overrides == ()


def test_only_an_active_job_behind_its_calendars_takes_the_new_ones() -> None:
    expected = JobChange(HOURLY, ACTIVE, "changed", "changed")
    assert decisions.sync_calendars(job(is_behind=True)) == expected
    assert decisions.sync_calendars(job()) is None
    assert decisions.sync_calendars(job(PAUSED, is_behind=True)) is None
