"""What a refused cron expression is told, and what is special about the dialects."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from matins.domain.schedules.cron.clock_changes import ClockChanges
from matins.domain.schedules.cron.expression import Dialect, parse_cron
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import compile_schedule
from matins.domain.values.errors import ScheduleError

START = datetime(2026, 11, 29, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("60 * * * *", "minute field: '60' is out of range; write 0 to 59"),
        ("*/90 * * * *", "minute field: '*/90' has a step outside 1 to 60"),
        ("5/ * * * *", "minute field: '5/' has a step that is no whole number"),
        ("1,,2 * * * *", "minute field: '' has no value"),
        ("0 0 31 2 *", "can never be due: no date has day-of-month '31', month '2'"),
        ("0 0 * * FRI-MON", "day-of-week field: 'FRI-MON' runs backwards; write FRI-SAT,SUN-MON"),
        ("0 22-2 * * *", "hour field: '22-2' runs backwards; write 22-23,0-2"),
        ("0 0 * * 6-0", "day-of-week field: '6-0' runs backwards; write SAT,SUN"),
        ("0 0 * * 7-1", "day-of-week field: '7-1' runs backwards; write SUN-MON"),
        ("0 0 ? * *", "day-of-month field: '?' stands for a day field of dialect quartz only"),
        ("0 0 * MON *", "month field: 'MON' can't be read; write 1 to 12 or JAN to DEC"),
        ("0 0 1W,15W * *", "day-of-month field: '1W,15W' uses W on more than one day"),
        ("0 0 * * L", "day-of-week field: 'L' has an L without a weekday; write 5L"),
        ("* * * *", "the expression has 4 fields; unix takes 5 fields"),
        ("* * * * * * *", "seven fields need dialect: quartz"),
        ("@dayly", "'@dayly' is not a macro of unix; write @yearly"),
        ("@reboot", "'@reboot' is no time at which a job could be due"),
        ("CRON_TZ=Asia/Tokyo", "'CRON_TZ=Asia/Tokyo' starts with a zone; write it into timezone"),
        ("H(5-1) * * * *", "minute field: 'H(5-1)' runs backwards; write H(1-5)"),
        ("\u0665 * * * *", "can't stand in a cron expression; write plain ASCII"),
    ],
)
def test_a_refusal_names_the_field_the_characters_and_what_is_right(
    expression: str, message: str
) -> None:
    with pytest.raises(ScheduleError) as error:
        parse_cron(expression, "unix", "")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("expression", "dialect"),
    [("0 0 12 ? * FRI-MON", "quartz"), ("0 0 12 ? * L", "quartz"), ("H/15 * * * 1-5", "jenkins")],
)
def test_a_dialect_accepts_what_is_its_own(expression: str, dialect: Dialect) -> None:
    parse_cron(expression, dialect, "")


@pytest.mark.parametrize(
    "schedule", [Schedule(cron="h H * * *"), Schedule(cron="@daily", dialect="jenkins")]
)
def test_h_spreads_jobs_and_stays_with_each_job(schedule: Schedule) -> None:
    tables = [compile_schedule(schedule, seed=f"job-{n}", anchor=START) for n in range(200)]
    again = [compile_schedule(schedule, seed=f"job-{n}", anchor=START) for n in range(200)]
    firsts = [table.next_after(START) for table in tables]
    assert firsts == [table.next_after(START) for table in again]
    assert len(set(firsts)) > 150


def test_h_takes_its_range_by_name_too() -> None:
    tables = [
        compile_schedule(Schedule(cron="0 0 * * H(MON-WED)"), seed=f"job-{n}", anchor=START)
        for n in range(100)
    ]
    firsts = [table.next_after(START) for table in tables]
    assert {first.isoweekday() for first in firsts if first} == {1, 2, 3}


def test_jobs_with_the_same_text_share_what_was_compiled() -> None:
    schedule = Schedule(cron="0 2 * * THU", timezone="Europe/Berlin")
    first = compile_schedule(schedule, seed="one", anchor=START)
    other = compile_schedule(schedule, seed="other", anchor=START)
    assert first._rule is other._rule


@pytest.mark.parametrize("second", [0, 1, 59])
def test_after_the_last_year_nothing_is_due(second: int) -> None:
    end = datetime(9999, 12, 31, 23, 59, second, tzinfo=UTC)
    for cron in ("* * * * *", "0 0 1 1 *", "0 0 29 2 *"):
        table = compile_schedule(Schedule(cron=cron), seed="", anchor=START)
        assert table.next_after(end) is None
        assert table.previous_before(end) is not None


def test_before_the_first_year_nothing_was_due() -> None:
    for cron in ("* * * * *", "0 0 1 1 *", "0 0 29 2 *"):
        for zone in ("UTC", "Pacific/Apia", "America/New_York"):
            table = compile_schedule(Schedule(cron=cron, timezone=zone), seed="", anchor=START)
            assert table.previous_before(datetime(1, 1, 1, tzinfo=UTC)) is None


CRON = (
    Schedule(cron="30 1-4 * * *", timezone="America/New_York"),
    Schedule(cron="30 * * * *", timezone="Asia/Tokyo"),
    Schedule(cron="30 1 * * *", timezone="Asia/Tokyo", dst=ClockChanges(gap="skip")),
)


@pytest.mark.parametrize("schedule", CRON)
def test_the_first_due_times_of_all_are_retraced(schedule: Schedule) -> None:
    table = compile_schedule(schedule, seed="", anchor=START)
    first = datetime.min.replace(tzinfo=UTC)
    dues = table.due_between(first, datetime(1, 1, 4, tzinfo=UTC), 200)
    assert [table.previous_before(due) for due in dues] == [None, *dues[:-1]]


@pytest.mark.parametrize("schedule", [*CRON, Schedule(every="1h")])
def test_instants_outside_of_the_years_1_to_9999_of_utc_can_be_asked_of(
    schedule: Schedule,
) -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    table = compile_schedule(schedule, seed="", anchor=START)
    before = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))
    after = datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))
    assert table.next_after(before) == table.next_after(first)
    assert table.previous_before(after) == table.previous_before(last)
    assert table.previous_before(before) is table.next_after(after) is None
