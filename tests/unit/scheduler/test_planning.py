"""What is claimed of one job at one moment."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matins.domain.jobs.misfire import Misfire
from matins.domain.jobs.spec import JobState
from matins.domain.runs.claims import Claim, DueJob
from matins.domain.runs.restores import UNCERTAIN
from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing, compile_schedule
from matins.domain.values.errors import ScheduleError
from matins.domain.values.ids import run_id
from matins.scheduler.planning import (
    LOOK_MAX,
    PIECE_MAX,
    LoadedJob,
    instant_of,
    plan,
    seconds_of,
    slot_of,
)
from matins.testing.virtual import START

JOB = UUID(int=1)
MINUTE = 60
DAY = 86_400
T0 = slot_of(START)
MINUTELY = Schedule(cron="* * * * *")
ALL = Misfire("all")


def entry(schedule: Schedule = MINUTELY, misfire: Misfire = ALL, due_s: int = T0) -> LoadedJob:
    """Return a job whose next due time is `due_s`."""
    timetable = compile_schedule(schedule, seed=str(JOB), anchor=START)
    job = DueJob(
        id=JOB,
        partition=7,
        revision=3,
        state=JobState.ACTIVE,
        schedule=schedule,
        timing=Timing(START, START),
        misfire=misfire,
        pool="default",
        next_due_at=instant_of(due_s),
        next_fire_at=timetable.fire_time(instant_of(due_s)),
        overlap="allow",
        open_since=START,
    )
    return LoadedJob(job)


def in_full(job: LoadedJob, now_s: float) -> list[Claim]:
    """Return all claims until the job has caught up, piece by piece."""
    claims: list[Claim] = []
    while job.fire_s <= now_s:
        piece = plan(job, now_s)
        assert len(piece.claims) <= PIECE_MAX
        claims += piece.claims
        job.move_to(piece.next_s)
    return claims


def covered(claims: list[Claim]) -> int:
    """Return how many due times the claims account for."""
    return sum(claim.due_count for claim in claims)


def test_a_due_time_on_time_is_one_queued_claim() -> None:
    claims, next_s, _ = plan(entry(), T0 + 0.2)
    [claim] = claims
    assert claim.state is RunState.QUEUED
    assert claim.due_at == claim.fire_at == START
    assert claim.run_id == run_id(JOB, START, "scheduled")
    assert (claim.revision, claim.partition, claim.pool) == (3, 7, "default")
    assert next_s == T0 + MINUTE


def test_a_schedule_that_has_come_to_its_end_has_nothing_next() -> None:
    once = entry(Schedule(at="2026-01-01T00:00:00Z"))
    assert plan(once, T0).next_s is None


def test_a_wake_up_some_seconds_late_skips_nothing() -> None:
    every_second = entry(Schedule(every="1s"))
    claims = in_full(every_second, T0 + 3)
    assert [claim.state for claim in claims] == [RunState.QUEUED] * 4


def test_a_jittered_fire_time_does_not_count_as_late() -> None:
    hourly = entry(Schedule(cron="0 * * * *", jitter="30m"), Misfire(policy="skip"))
    fired_s = hourly.timetable.fire_time_s(T0)
    [claim] = plan(hourly, fired_s).claims
    assert claim.state is RunState.QUEUED
    assert claim.fire_at == instant_of(fired_s)


def test_a_due_time_whose_fire_time_lies_ahead_is_left_for_later() -> None:
    minutely = entry(Schedule(cron="* * * * *", jitter="50s"))
    now_s = T0 + 10 * MINUTE
    claims = in_full(minutely, now_s)
    assert all(seconds_of(claim.fire_at) <= now_s for claim in claims)
    assert minutely.fire_s > now_s
    assert minutely.due_s == T0 + len(claims) * MINUTE


def test_after_an_outage_the_newest_within_the_bounds_run_and_the_rest_is_one_row() -> None:
    claims = in_full(entry(misfire=Misfire("all", max_count=20)), T0 + 59 * MINUTE)
    skipped, *run = claims
    assert skipped.state is RunState.SKIPPED
    assert (skipped.due_at, skipped.due_count) == (START, 38)
    assert skipped.due_until == START + timedelta(minutes=37)
    assert [claim.state for claim in run] == [RunState.QUEUED] * 22


def test_a_few_skipped_due_times_have_a_row_each() -> None:
    claims = in_full(entry(misfire=Misfire(policy="skip")), T0 + 5 * MINUTE)
    skipped = [claim for claim in claims if claim.state is RunState.SKIPPED]
    assert [claim.due_count for claim in skipped] == [1] * 4
    assert {claim.reason for claim in skipped} == {"misfire: skip"}


def test_a_long_gap_is_looked_at_in_pieces_of_bounded_size() -> None:
    secondly = entry(Schedule(every="1s"))
    first = plan(secondly, T0 + DAY)
    assert first.claims[0].due_count == LOOK_MAX
    claims = in_full(secondly, T0 + DAY)
    assert covered(claims) == DAY + 1
    assert len(claims) < 200


def test_a_range_that_met_a_row_is_claimed_one_by_one() -> None:
    minutely = entry(misfire=Misfire(policy="skip"))
    now_s = T0 + 3 * 3600
    [range_row, *_] = plan(minutely, now_s).claims
    assert range_row.due_until is not None
    minutely.no_ranges_until_s = slot_of(range_row.due_until)
    claims = in_full(minutely, now_s)
    assert all(claim.due_count == 1 for claim in claims)
    assert covered(claims) == 181


def test_nothing_follows_a_range_in_a_piece_as_it_may_be_refused() -> None:
    minutely = entry(misfire=Misfire("all", max_count=20))
    [range_row], next_s, _ = plan(minutely, T0 + 59 * MINUTE)
    assert range_row.due_until == START + timedelta(minutes=37)
    assert next_s == T0 + 38 * MINUTE


@pytest.mark.parametrize("minutes", [5, 30, 90])
def test_what_may_have_run_before_a_restore_is_not_caught_up(minutes: int) -> None:
    """Each due time has a row of its own, to be decided about; what came after it is caught up."""
    now_s, until_s = T0 + 90 * MINUTE + 5, T0 + minutes * MINUTE
    claims = plan(entry(), now_s, uncertain_until_s=until_s).claims
    held = [claim for claim in claims if claim.reason == UNCERTAIN]
    queued = [claim for claim in claims if claim.state is RunState.QUEUED]
    assert len(held) + len(queued) == len(claims) == 91
    assert all(claim.state is RunState.SKIPPED and claim.due_until is None for claim in held)
    last_late = T0 + 89 * MINUTE  # what is younger is on time
    assert max(seconds_of(claim.due_at) for claim in held) == min(until_s, last_late)
    assert min(seconds_of(claim.due_at) for claim in queued) == min(until_s, last_late) + MINUTE


@pytest.mark.parametrize("policy", ["last", "skip"])
def test_other_misfire_policies_bound_what_a_restore_brings_back(policy: str) -> None:
    misfire = msgspec.convert({"policy": policy}, Misfire)
    now_s = T0 + 90 * MINUTE + 30
    usual = plan(entry(misfire=misfire), now_s)
    assert plan(entry(misfire=misfire), now_s, uncertain_until_s=now_s) == usual


def test_what_is_older_than_the_policy_takes_is_left_out_as_usual_after_a_restore() -> None:
    misfire = Misfire("all", max_count=10)
    now_s = T0 + 90 * MINUTE + 5
    minutely = entry(misfire=misfire)
    [older], next_s, _ = plan(minutely, now_s, uncertain_until_s=now_s)
    assert (older.reason, older.due_count) == ("misfire: all", 80)
    minutely.move_to(next_s)
    claims = plan(minutely, now_s, uncertain_until_s=now_s).claims
    assert [claim.reason for claim in claims] == [UNCERTAIN] * 10 + [""]


def test_a_stored_due_time_that_the_schedule_no_longer_has_is_still_accounted_for() -> None:
    moved = entry(due_s=T0 + 30)
    assert in_full(moved, T0 + 5 * MINUTE)[0].due_at == instant_of(T0 + 30)


def test_a_schedule_that_cannot_be_compiled_raises() -> None:
    job = msgspec.structs.replace(entry().job, schedule=Schedule(cron="61 * * * *"))
    with pytest.raises(ScheduleError):
        LoadedJob(job)


def test_a_due_time_that_is_no_whole_second_raises() -> None:
    job = msgspec.structs.replace(entry().job, next_due_at=START + timedelta(milliseconds=5))
    with pytest.raises(ScheduleError, match="whole second"):
        LoadedJob(job)


@settings(deadline=None)
@given(
    policy=st.sampled_from(["all", "last", "skip"]),
    max_count=st.integers(1, 1000),
    max_age=st.sampled_from([None, "0s", "5m", "6h", "30d"]),
    every=st.sampled_from(["7s", "1m", "45m"]),
    jitter=st.sampled_from(["0s", "5s", "10m"]),
    late_s=st.integers(0, 5 * DAY),
)
def test_every_due_time_is_accounted_for_once(
    policy: str, max_count: int, max_age: str | None, every: str, jitter: str, late_s: int
) -> None:
    misfire = msgspec.convert(
        {"policy": policy, "max_count": max_count, "max_age": max_age}, Misfire
    )
    job = entry(Schedule(every=every, jitter=jitter), misfire)
    now_s = job.fire_s + late_s
    claims = in_full(job, now_s)
    expected = [
        due
        for due in job.timetable.due_between(
            START - timedelta(seconds=1), instant_of(now_s), 100_000
        )
        if job.timetable.fire_time(due) <= instant_of(now_s)
    ]
    accounted = []
    for claim in claims:
        until = claim.due_until or claim.due_at
        due_times = job.timetable.due_between(
            claim.due_at - timedelta(seconds=1), until, claim.due_count + 1
        )
        assert len(due_times) == claim.due_count
        accounted += due_times
    assert accounted == expected
