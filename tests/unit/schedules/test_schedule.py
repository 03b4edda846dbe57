"""Schedules as owners write them, and what timetables answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.schedules.parsing import parse_schedule, problems
from matins.domain.schedules.schedule import Schedule, Times
from matins.domain.timetables.compiling import compile_schedule
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.errors import Problem, ScheduleError

ANCHOR = datetime(2026, 11, 29, 12, 0, 7, 500_000, tzinfo=UTC)


def timetable(**fields: object) -> Timetable:
    return compile_schedule(msgspec.convert(fields, Schedule), seed="job", anchor=ANCHOR)


def test_a_schedule_is_written_with_the_fields_that_matter_and_no_others() -> None:
    text = b'{"cron":"0 2 * * *","timezone":"Europe/Berlin","jitter":"5m"}'
    schedule = msgspec.json.decode(text, type=Schedule)
    assert msgspec.json.encode(schedule) == text
    with pytest.raises(msgspec.ValidationError, match="zone"):
        msgspec.json.decode(b'{"cron":"0 2 * * *","zone":"UTC"}', type=Schedule)


def test_all_problems_are_told_at_once_and_by_field() -> None:
    schedule = Schedule(cron="61 * * * *", timezone="Europa/Berlin", jitter="5x")
    assert [problem.where for problem in problems(schedule)] == ["timezone", "cron", "jitter"]
    with pytest.raises(ScheduleError) as error:
        compile_schedule(schedule, seed="job", anchor=ANCHOR)
    for part in ("Europe/Berlin", "minute field: '61'", "'5x' is not a duration"):
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("schedule", "where"),
    [
        (Schedule(), "every"),
        (Schedule(cron="* * * * *", every="5m"), "cron"),
        (Schedule(every="5m", any_of=[Times(cron="* * * * *")]), "every"),
        (Schedule(cron="* * * * *", anchor="2026-01-01T00:00:00"), "cron"),
        (Schedule(every="0s"), "every"),
        (Schedule(every="500ms"), "every"),
        (Schedule(any_of=[Schedule(every="1.5s")]), "any_of[0].every"),
        (Schedule(every="-5m"), "every"),
        (Schedule(every="0.5ms"), "every"),
        (Schedule(every="5m", anchor="today"), "anchor"),
        (Schedule(at=[]), "at"),
        (Schedule(at=["2026-12-01T09:00:00", "2026-02-30T09:00:00"]), "at[1]"),
        (Schedule(at="2026-12-01"), "at"),
        (Schedule(at="2026-12-01T09:00:00.5"), "at"),
        (Schedule(at="9999-12-31T23:59:59-10:00"), "at"),
        (Schedule(at="2026-12-01T09:00:00+99:00"), "at"),
        (Schedule(at="2026-12-01T09:00:00+01:60"), "at"),
        (Schedule(every="5m", jitter="0.5s"), "jitter"),
    ],
)
def test_a_wrong_schedule_has_one_problem_at_the_field(schedule: Schedule, where: str) -> None:
    assert [problem.where for problem in problems(schedule)] == [where]
    with pytest.raises(ScheduleError):
        compile_schedule(schedule, seed="job", anchor=ANCHOR)


def test_a_schedule_is_parsed_once() -> None:
    schedule = Schedule(cron="0 2 * * *")
    assert problems(schedule) == []
    assert parse_schedule(schedule) is parse_schedule(schedule)
    assert (
        parse_schedule(Schedule(cron="0 2 * * *", jitter="5m")).kind
        is parse_schedule(schedule).kind
    )


def test_a_parsed_schedule_is_written_and_compared_as_before() -> None:
    schedule = Schedule(cron="0 2 * * *")
    parse_schedule(schedule)
    assert schedule == Schedule(cron="0 2 * * *")
    assert msgspec.json.encode(schedule) == b'{"cron":"0 2 * * *"}'
    changed = msgspec.structs.replace(schedule, cron="0 3 * * *")
    assert parse_schedule(changed) is not parse_schedule(schedule)


def test_a_right_schedule_has_no_problems() -> None:
    assert problems(Schedule(cron="0 2 * * *", timezone="Europe/Berlin")) == list[Problem]()


def test_every_counts_from_the_stored_anchor_in_whole_seconds() -> None:
    table = timetable(every="15m")
    assert table.next_after(ANCHOR) == datetime(2026, 11, 29, 12, 15, 7, tzinfo=UTC)
    assert table.next_after(datetime(2026, 11, 30, tzinfo=UTC)) == datetime(
        2026, 11, 30, 0, 0, 7, tzinfo=UTC
    )


def test_every_is_first_due_at_its_own_anchor_and_never_before() -> None:
    table = timetable(every="90s", anchor="2027-01-01T00:00:00", timezone="Europe/Berlin")
    first = datetime(2026, 12, 31, 23, tzinfo=UTC)
    assert table.next_after(ANCHOR) == first
    assert table.previous_before(first) is None
    assert table.previous_before(first + timedelta(seconds=1)) == first


@pytest.mark.parametrize(("every", "hour"), [("1d", 7), ("P1D", 7), ("24h", 8), ("PT24H", 8)])
def test_days_keep_the_wall_time_where_hours_keep_real_time(every: str, hour: int) -> None:
    table = timetable(every=every, anchor="2026-03-28T09:00:00", timezone="Europe/Berlin")
    assert table.next_after(datetime(2026, 3, 29, tzinfo=UTC)) == datetime(
        2026, 3, 29, hour, tzinfo=UTC
    )


@given(
    st.sampled_from(["1d", "2d", "1w", "1d12h", "7s", "36h"]),
    st.sampled_from(["Pacific/Apia", "America/New_York", "Australia/Lord_Howe"]),
    st.integers(1_200_000_000, 1_400_000_000),
)
def test_every_rises_and_the_way_back_retraces_it(every: str, zone: str, second: int) -> None:
    table = timetable(every=every, timezone=zone, anchor="2007-11-04T01:30:00")
    dues = [table.next_after_s(second)]
    for _ in range(5):
        assert dues[-1] is not None
        dues.append(table.next_after_s(dues[-1]))
    found = [due for due in dues if due is not None]
    assert found == sorted(set(found))
    assert [table.previous_before_s(due) for due in found[1:]] == found[:-1]
    before = table.previous_before_s(found[0])
    assert before is not None
    assert before <= second


@pytest.mark.parametrize(
    "fields",
    [
        {"at": "3000-07-01T09:00:00"},
        {"every": "1d", "anchor": "2026-01-01T09:00:00"},
        {"every": "1d", "anchor": "2999-12-31T09:00:00"},
        {"cron": "0 9 1 7 *"},
        {"rrule": "DTSTART:20260701T090000\nRRULE:FREQ=YEARLY"},
    ],
)
def test_a_wall_time_of_year_3000_is_in_summer_time(fields: dict[str, str]) -> None:
    table = timetable(timezone="Europe/Berlin", **fields)
    assert table.next_after(datetime(3000, 6, 30, 12, tzinfo=UTC)) == datetime(
        3000, 7, 1, 7, tzinfo=UTC
    )


@pytest.mark.parametrize("offset", ["+01", "+0100", "+01:00", " +01"])
def test_an_offset_is_read_with_or_without_its_minutes(offset: str) -> None:
    due = timetable(at=f"2026-12-01T09:00:00{offset}").next_after(ANCHOR)
    assert due == datetime(2026, 12, 1, 8, tzinfo=UTC)


def test_at_reads_local_times_in_the_zone_and_each_instant_once() -> None:
    table = timetable(
        at=["2026-12-01T09:00:00", "2026-12-01T08:00:00Z", "2026-11-30 08:00:00+00:00"],
        timezone="Europe/Berlin",
    )
    until = datetime(2030, 1, 1, tzinfo=UTC)
    assert table.due_between(ANCHOR, until, 9) == [
        datetime(2026, 11, 30, 8, tzinfo=UTC),
        datetime(2026, 12, 1, 8, tzinfo=UTC),
    ]
    assert table.next_after(until) is None
    assert table.previous_before(ANCHOR) is None


def test_a_fraction_of_a_second_counts_in_both_directions() -> None:
    table = timetable(cron="* * * * * *")
    whole = ANCHOR.replace(microsecond=0)
    assert table.next_after(ANCHOR) == whole + timedelta(seconds=1)
    assert table.previous_before(ANCHOR) == whole
    assert table.previous_before(whole) == whole - timedelta(seconds=1)


def test_due_between_excludes_its_start_includes_its_end_and_stops_at_the_limit() -> None:
    table = timetable(cron="0 * * * *")
    noon = ANCHOR.replace(minute=0, second=0, microsecond=0)
    hours = [noon + timedelta(hours=number) for number in range(1, 4)]
    assert table.due_between(noon, hours[-1], 99) == hours
    assert table.due_between(noon, hours[-1], 2) == hours[:2]
    assert table.due_between(noon, hours[-1], 0) == []


@given(st.integers(0, 500), st.sampled_from(["* * * * * *", "*/10 * * * * *", "0 * * * *"]))
def test_jitter_stays_before_the_next_due_time(number: int, cron: str) -> None:
    table = timetable(cron=cron, jitter="10m")
    due = ANCHOR + timedelta(seconds=number)
    first = table.next_after(due)
    assert first is not None
    second = table.next_after(first)
    assert second is not None
    assert first <= table.fire_time(first) < second
    assert table.fire_time(first) - first <= timedelta(minutes=10)
    assert table.fire_time(first) == timetable(cron=cron, jitter="10m").fire_time(first)


def test_the_last_of_max_runs_has_its_jitter_up_to_the_end_of_the_schedule() -> None:
    fields: dict[str, object] = {"cron": "0 * * * *", "jitter": "30m", "max_runs": 2}
    first = datetime(2026, 11, 29, 14, tzinfo=UTC)
    counted = timetable(**fields)
    assert counted.next_after(first) is None
    assert counted.fire_time(first) > first
    ended = timetable(**fields, ends_at="2026-11-29T15:00:00")
    assert ended.fire_time(first) == counted.fire_time(first)


def test_jitter_spreads_the_jobs_of_one_schedule_over_all_of_it() -> None:
    schedule = Schedule(cron="0 2 * * *", jitter="5m")
    due = datetime(2026, 12, 1, 2, tzinfo=UTC)
    offsets = {
        (compile_schedule(schedule, seed=f"job-{n}", anchor=ANCHOR).fire_time(due) - due).seconds
        for n in range(2000)
    }
    assert min(offsets) == 0
    assert max(offsets) == 300
