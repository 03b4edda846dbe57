"""What the deeds of owners make of a job."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.jobs import decisions
from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.decisions import JobChange, Moment
from matins.domain.jobs.misfire import COUNT_MAX, RUN_MAX, Missed, split_pending
from matins.domain.jobs.pausing import NO_END, Pause
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.schedules.schedule import Override, Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.next_due import NextDue
from matins.domain.values.errors import ConflictError, InvalidInputError

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ONE = NOON + HOUR
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


def test_a_pause_skips_what_lay_before_it_and_an_equal_one_changes_nothing() -> None:
    wanted = Pause("why", NOW.now + HOUR, "last")
    for pause in (NO_END, wanted):
        expected = JobChange(HOURLY, PAUSED, "paused", "paused", pause=pause)
        assert decisions.pause(job(), pause, NOW) == expected
    assert decisions.pause(job(PAUSED), NO_END, NOW) is None


def test_another_pause_takes_the_place_of_the_first_and_skips_nothing_more() -> None:
    wanted = Pause("why")
    expected = JobChange(HOURLY, PAUSED, "paused", None, pause=wanted)
    assert decisions.pause(job(PAUSED), wanted, NOW) == expected
    assert decisions.pause_if_active(job(PAUSED), wanted, NOW) is None


@pytest.mark.parametrize(
    ("pause", "where"),
    [
        (Pause(until=NOW.now), "until"),
        (Pause(missed="all"), "missed"),
        (Pause("x" * 501), "reason"),
    ],
)
def test_a_pause_that_makes_no_sense_is_refused(pause: Pause, where: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        decisions.pause(job(), pause, NOW)
    assert [problem.where for problem in caught.value.problems] == [where]


@pytest.mark.parametrize("missed", ["skip", "last", "all"])
def test_a_pause_ends_when_its_time_has_come_and_not_before(missed: Missed) -> None:
    moment = Moment(NOON + HOUR / 2, NOON)
    paused = msgspec.structs.replace(
        job(PAUSED), paused_until=moment.now - timedelta(minutes=5), resume_missed=missed
    )
    early = msgspec.structs.replace(paused, paused_until=moment.now + timedelta(seconds=1))
    assert decisions.end_pause(early, moment) is None
    assert decisions.end_pause(job(PAUSED), moment) is None
    assert decisions.end_pause(job(), moment) is None
    change = decisions.end_pause(paused, moment)
    assert change is not None
    assert (change.state, change.reason, change.run_max) == (ACTIVE, "paused", RUN_MAX[missed])


@given(st.integers(0, 200), st.sampled_from(["skip", "last", "all"]))
def test_what_was_due_since_the_end_of_a_pause_is_late_and_no_more(
    late_s: int, missed: Missed
) -> None:
    spec = msgspec.structs.replace(HOURLY, schedule=Schedule(every="1m"))
    base = msgspec.structs.replace(job(PAUSED), spec=spec)
    timetable = base.timetable()
    assert timetable is not None
    until = timetable.next_after(NOW.now)
    assert until is not None
    paused = msgspec.structs.replace(base, paused_until=until, resume_missed=missed)
    now = until + timedelta(seconds=late_s)
    change = decisions.end_pause(paused, Moment(now, NOW.now))
    assert change is not None
    due = timetable.due_between(until - timedelta(seconds=1), now, 99)
    to_run = sum(
        len(group.due)
        for group in split_pending(due, spec.misfire, now)
        if group.skip_reason is None
    )
    assert 1 <= to_run <= change.run_max == max(to_run, RUN_MAX[missed])


def test_a_replaced_job_stays_in_its_pause() -> None:
    paused = msgspec.structs.replace(job(PAUSED), reason="why", paused_until=NOW.now)
    change = decisions.replace(paused, msgspec.structs.replace(HOURLY, timeout="9s"))
    assert change is not None
    assert (change.state, change.pause) == (PAUSED, Pause("why", NOW.now))


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
        lambda: decisions.pause(broken, NO_END, NOW),
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
