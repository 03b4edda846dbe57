"""The index of jobs: they come, change and go, and only what is left counts."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.unit.forecast.made import index_of, job

from matins.domain.calendars.calendar import Calendar, Item
from matins.domain.calendars.compiled import compile_calendar
from matins.domain.schedules.schedule import Override, Schedule
from matins.domain.time.instants import epoch_s
from matins.domain.timetables.compiling import Timing
from matins.domain.values.errors import ScheduleError
from matins.insight.forecast.expansion import LoadExpansion
from matins.insight.forecast.groups import Entry
from matins.insight.forecast.index import JobIndex

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SINCE = epoch_s(NOW)
DAY = LoadExpansion(SINCE, SINCE + 86_400)
HOURLY, DAILY = Schedule(cron="0 * * * *"), Schedule(cron="30 2 * * *")
SCHEDULES = [
    HOURLY,
    DAILY,
    Schedule(cron="H H * * *"),
    Schedule(every="10m"),
    Schedule(every="1d", timezone="Europe/Berlin", jitter="1h"),
    Schedule(at="2026-06-01T20:00:00Z"),
    Schedule(any_of=[HOURLY, Schedule(every="45m")]),
    Schedule(every="20m", after="end"),
    Schedule(cron="5 * * * *", max_runs=3),
]


def fires(index: JobIndex, team: str | None = None, pool: str | None = None) -> float:
    return sum(DAY.minutes(index.counters(index.segments(team, pool))))


def made(number: int, schedule: Schedule, made_at: datetime, team: str = "a") -> Entry:
    return Entry(UUID(int=number), team, "x", schedule, Timing(made_at, made_at))


def test_teams_and_pools_count_apart() -> None:
    index = index_of(
        [
            job(1, HOURLY, team="a", pool="x"),
            job(2, HOURLY, team="a", pool="y"),
            job(3, DAILY, team="b", pool="y"),
        ],
        SINCE,
    )
    assert [fires(index, "a"), fires(index, "b"), fires(index, None, "y")] == [48, 1, 25]
    assert [fires(index, "a", "x"), fires(index, "b", "x"), fires(index)] == [24, 0, 49]


def test_a_job_that_is_added_again_counts_as_it_is_now() -> None:
    index = index_of([job(1, HOURLY), job(2, HOURLY)], SINCE)
    index.add(job(1, DAILY, team="b"))
    assert len(index) == 2
    assert [fires(index, "a"), fires(index, "b")] == [24, 1]


def test_a_job_that_is_removed_counts_no_more_and_twice_is_as_once() -> None:
    index = index_of([job(1, HOURLY), job(2, HOURLY)], SINCE)
    for _ in range(2):
        index.remove(UUID(int=1))
    assert (len(index), fires(index)) == (1, 24)
    index.remove(UUID(int=2))
    assert (len(index), fires(index), index.segments()) == (0, 0, [])


def test_a_schedule_that_cannot_be_compiled_is_refused() -> None:
    index = index_of([job(1, HOURLY)], SINCE)
    with pytest.raises(ScheduleError):
        index.add(job(1, Schedule(cron="never")))
    assert (len(index), fires(index)) == (1, 24)


@pytest.mark.parametrize(
    "schedule",
    [schedule for schedule in SCHEDULES if not schedule.any_of and not schedule.max_runs],
)
def test_what_changes_no_fires_is_told_apart(schedule: Schedule) -> None:
    index = JobIndex(SINCE)
    assert index.add(made(1, schedule, NOW))
    assert not index.add(made(1, schedule, NOW))
    assert index.add(made(1, schedule, NOW, team="b"))
    assert index.add(made(1, replace(HOURLY, jitter="1m"), NOW, team="b"))
    assert index.remove(UUID(int=1))
    assert not index.remove(UUID(int=1))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.none() | st.sampled_from(SCHEDULES), st.integers(-40, 40)),
        max_size=25,
    )
)
def test_changes_one_by_one_lead_to_what_is_added_at_once(
    changes: list[tuple[int, Schedule | None, int]],
) -> None:
    index, left = JobIndex(SINCE), dict[int, Entry]()
    for number, schedule, hours in changes:
        if schedule is None:
            index.remove(UUID(int=number))
            left.pop(number, None)
        else:
            left[number] = made(number, schedule, NOW + timedelta(hours=hours))
            index.add(left[number])
    fresh = index_of(left.values(), SINCE)
    assert len(index) == len(fresh)
    assert sorted(index.segments()) == sorted(fresh.segments())
    curve, expected = (
        DAY.curve(index.counters()),
        DAY.curve(fresh.counters()),
    )
    assert curve.minutes == pytest.approx(expected.minutes, abs=1e-5)


def test_a_step_has_no_due_times_before_its_anchor() -> None:
    begins = NOW + timedelta(hours=20, seconds=30)
    for schedule in (Schedule(every="1h"), Schedule(every="1h", jitter="1m")):
        index = JobIndex(SINCE)
        index.add(made(1, schedule, begins))
        index.add(made(2, schedule, NOW - timedelta(hours=1, seconds=1)))
        minutes = DAY.minutes(index.counters())
        assert sum(minutes[: 20 * 60]) == pytest.approx(20)
        assert sum(minutes[20 * 60 :]) == pytest.approx(8, abs=0.02)


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(cron="50 11 * * *", jitter="20m"),
        Schedule(any_of=[Schedule(cron="50 11 * * *")], jitter="20m"),
        Schedule(every="1d", anchor="2026-01-01T11:50:00Z", jitter="20m"),
    ],
)
def test_jitter_of_before_the_window_reaches_into_it(schedule: Schedule) -> None:
    index = index_of([job(1, schedule)], SINCE)
    minutes = DAY.minutes(index.counters())
    assert [sum(part) for part in (minutes[:11], minutes[11:1430])] == pytest.approx(
        [0.5, 0], abs=0.01
    )
    assert sum(minutes) == pytest.approx(1)


def test_an_anchor_in_the_second_pass_of_an_hour_is_due_itself() -> None:
    anchor = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)  # 02:30 in Berlin, for the second time
    for moved in (timedelta(0), timedelta(minutes=30)):
        since = epoch_s(anchor - moved)
        index = JobIndex(since)
        index.add(made(1, Schedule(every="1d", timezone="Europe/Berlin"), anchor))
        curve = LoadExpansion(since, since + 2 * 86_400).curve(index.counters())
        assert (sum(curve.minutes), curve.peak_second) == (2, epoch_s(anchor))


def test_the_book_moves_on_with_the_time() -> None:
    begins = NOW + timedelta(hours=20)
    index = JobIndex(SINCE)
    index.add(made(1, Schedule(every="1h"), begins))
    index.add(made(2, Schedule(every="1h"), begins + timedelta(hours=8)))
    later = epoch_s(begins + timedelta(hours=1))
    index.advance(later)
    assert sum(LoadExpansion(later, later + 86_400).minutes(index.counters())) == 24 + 17
    index.remove(UUID(int=1))
    index.remove(UUID(int=2))
    assert len(index) == 0


def test_what_calendars_close_and_what_is_overridden_does_not_fire() -> None:
    closed = compile_calendar(Calendar(name="june", exclude=[Item(dates=["2026-06-02"])]))
    hourly = replace(HOURLY, calendars=["june"])
    index = JobIndex(SINCE)
    index.add(Entry(UUID(int=1), "a", "x", hourly, Timing(NOW, NOW, closures=(closed,))))
    assert fires(index) == 12
    override = Override(NOW + timedelta(hours=2), move_to=NOW + timedelta(hours=2, minutes=7))
    index.add(Entry(UUID(int=1), "a", "x", HOURLY, Timing(NOW, NOW, overrides=(override,))))
    minutes = DAY.minutes(index.counters())
    assert (minutes[120], minutes[127], sum(minutes)) == (0, 1, 24)


def test_a_delay_after_the_end_of_a_run_counts_as_an_even_rate() -> None:
    index = index_of(
        [job(number, Schedule(every="20m", after="end")) for number in range(10)], SINCE
    )
    assert DAY.minutes(index.counters()) == [0.5] * 1440


def test_what_is_due_very_often_goes_on_as_often_as_in_its_beginning() -> None:
    union = Schedule(any_of=[Schedule(cron="* * * * * *"), Schedule(cron="*/7 * * * * *")])
    index = index_of([job(1, union), job(2, union)], SINCE)
    curve = DAY.curve(index.counters())
    assert curve.minutes == [120] * 1440
    assert curve.peak_second_fires == pytest.approx(2)


def test_jobs_that_are_due_each_second_take_little_room() -> None:
    union = Schedule(any_of=[Schedule(every="1s"), Schedule(cron="*/7 * * * * *")])
    index = index_of([job(number, union) for number in range(10)], SINCE)
    expansion = LoadExpansion(SINCE, SINCE + 168 * 3600)
    tracemalloc.start()
    try:
        minutes = expansion.minutes(index.counters())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert minutes == pytest.approx([10 * 60] * (168 * 60))
    assert most < 20e6
