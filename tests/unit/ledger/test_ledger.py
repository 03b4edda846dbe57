"""What a job still owes the ledger, and the rows that it gets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.ledger import RANGE_MIN, catch_up, missing_ranges, skip
from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.ids import run_id

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
JOB = UUID("0c6d14c7-b7f3-4093-a887-c5939e928b5d")


def at(*minutes: int) -> list[datetime]:
    return [NOON + timedelta(minutes=minute) for minute in minutes]


def standing(jitter: str = "0s") -> LockedJob:
    schedule = Schedule(cron="* * * * *", jitter=jitter)
    spec = JobSpec(
        "job", Target(command=CommandTarget(["true"])), schedule, pool="gpu", priority="high"
    )
    return LockedJob(
        JOB, "team", 7, 3, 2, JobState.ACTIVE, spec, Timing(NOON, NOON), (), NOON, NOON
    )


@pytest.fixture
def timetable() -> Timetable:
    found = standing().timetable()
    assert found is not None
    return found


def test_without_rows_all_is_owed_in_one_range() -> None:
    assert missing_ranges(at(1, 2, 3), []) == [at(1, 2, 3)]


def test_rows_part_what_is_missing_into_ranges() -> None:
    rows = [(due, None) for due in at(1, 4, 5)]
    assert missing_ranges(at(1, 2, 3, 4, 5, 6), rows) == [at(2, 3), at(6)]


def test_a_range_covers_all_between_its_ends() -> None:
    [first, last] = at(2, 4)
    assert missing_ranges(at(1, 2, 3, 4, 5), [(first, last)]) == [at(1), at(5)]


def test_rows_of_due_times_that_are_not_asked_for_do_no_harm() -> None:
    rows = [(due, None) for due in at(0, 2, 9)]
    assert missing_ranges(at(1, 3), rows) == [at(1, 3)]


@given(
    st.sets(st.integers(0, 30)),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5))),
)
def test_what_is_owed_is_what_no_row_covers(due: set[int], spans: list[tuple[int, int]]) -> None:
    ranges: list[tuple[int, int]] = []
    for first, length in sorted(spans):  # rows never overlap
        if not ranges or first > ranges[-1][1]:
            ranges.append((first, first + length))
    rows = [
        (NOON + timedelta(minutes=a), None if a == b else NOON + timedelta(minutes=b))
        for a, b in ranges
    ]
    missing = missing_ranges(at(*sorted(due)), rows)
    covered = {number for a, b in ranges for number in range(a, b + 1)}
    assert [due for group in missing for due in group] == at(*sorted(due - covered))
    assert all(missing)


def test_few_skipped_due_times_get_a_row_each(timetable: Timetable) -> None:
    due_times = at(*range(RANGE_MIN))
    claims = skip(standing(), timetable, due_times, "paused")
    assert [claim.due_at for claim in claims] == due_times
    assert {(claim.state, claim.reason, claim.due_count) for claim in claims} == {
        (RunState.SKIPPED, "paused", 1)
    }


def test_more_share_one_row_that_counts_them(timetable: Timetable) -> None:
    due_times = at(*range(RANGE_MIN + 1))
    [claim] = skip(standing(), timetable, due_times, "paused")
    assert (claim.due_at, claim.due_until) == (due_times[0], due_times[-1])
    assert claim.due_count == RANGE_MIN + 1


def test_what_is_caught_up_is_queued_as_a_scheduler_would_claim_it(timetable: Timetable) -> None:
    [claim] = catch_up(standing(), timetable, at(1))
    assert claim.run_id == run_id(JOB, at(1)[0], "scheduled")
    assert (claim.state, claim.pool) == (RunState.QUEUED, "gpu")
    assert (claim.partition, claim.revision) == (3, 2)


def test_fire_times_keep_their_jitter() -> None:
    job = standing(jitter="30s")
    timetable = job.timetable()
    assert timetable is not None
    [claim] = catch_up(job, timetable, at(1))
    assert claim.fire_at == timetable.fire_time(at(1)[0])
    assert timedelta(0) <= claim.fire_at - claim.due_at <= timedelta(seconds=30)
