"""Due times that follow the ends of runs: `every: 15m, after: end`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import compile_schedule
from matins.domain.timetables.timetable import Timetable

NOON = datetime(2026, 3, 28, 12, tzinfo=UTC)
QUARTER = timedelta(minutes=15)


def following(every: str = "15m", **fields: object) -> Timetable:
    schedule = Schedule(every=every, after="end", **fields)  # type: ignore[arg-type]
    return compile_schedule(schedule, seed="job", anchor=NOON)


def test_it_is_never_due_by_itself() -> None:
    assert following().next_after(NOON) is None
    assert following().previous_before(NOON) is None


def test_it_is_due_after_the_end_of_a_run() -> None:
    assert following().next_after_end(NOON) == NOON + QUARTER


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    st.integers(1, 100_000),
)
def test_it_is_due_at_the_first_whole_second_that_is_not_too_early(
    ended: datetime, seconds: int
) -> None:
    due = following(f"{seconds}s").next_after_end(ended)
    assert due is not None
    assert due.microsecond == 0
    assert timedelta(0) <= due - ended - timedelta(seconds=seconds) < timedelta(seconds=1)


def test_a_day_is_a_calendar_day_and_24_hours_are_not() -> None:
    night = {"timezone": "Europe/Berlin"}  # in which clocks go forward
    assert following("1d", **night).next_after_end(NOON) == NOON + timedelta(hours=23)
    assert following("24h", **night).next_after_end(NOON) == NOON + timedelta(hours=24)


def test_it_keeps_to_its_first_and_last_instant() -> None:
    table = following(starts_at="2026-03-28T14:00:00Z", ends_at="2026-03-28T15:00:00Z")
    assert table.next_after_end(NOON) == NOON + timedelta(hours=2)
    assert table.next_after_end(NOON + timedelta(hours=2.5)) == NOON + timedelta(hours=2.75)
    assert table.next_after_end(NOON + timedelta(hours=2.75)) == NOON + timedelta(hours=3)
    assert table.next_after_end(NOON + timedelta(hours=2.76)) is None


@pytest.mark.parametrize(("run_count", "is_due"), [(0, True), (2, True), (3, False), (4, False)])
def test_it_is_due_so_often_and_no_more(run_count: int, is_due: bool) -> None:
    due = following(max_runs=3).next_after_end(NOON, run_count)
    assert (due is not None) == is_due


def test_a_schedule_with_due_times_of_its_own_follows_no_end() -> None:
    table = compile_schedule(Schedule(every="15m"), seed="job", anchor=NOON)
    assert table.next_after_end(NOON) is None
