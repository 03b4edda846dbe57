"""What is said about a cron expression is true, and reads well."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.explain.understanding import understand
from tests.unit.schedules.cases import read_cases
from tests.unit.schedules.expressions import Expression, expressions

from matins.domain.schedules.cron.expression import Dialect, parse_cron
from matins.domain.values.errors import ScheduleError
from matins.insight.explain.cron_words import describe_cron

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATE = 200_000_000_000  # in the year 8307
YEARS = st.integers(int(timedelta(days=18_262).total_seconds()), 2_500_000_000)  # 2020 to 2049
WHEN = st.lists(YEARS, min_size=20, max_size=20)
DAYS = ["*", "13", "*/2", "L", "L-3", "LW", "15W", "1W", "31W", "L-2W", "1,L", "1-5,20,L", "29-31"]
WEEKDAYS = ["*", "FRI", "5L", "1#2", "MON-FRI", "1,3#5,6L", "SAT-SUN", "*/2", "0-7", "3/2"]


def assert_true(expression: str, dialect: Dialect, moments: list[int]) -> None:
    """Compare what is said with what is due, at moments and at and after the due times next to."""
    claim = understand(describe_cron(expression, dialect, "job"))
    pattern = parse_cron(expression, dialect, "job")
    for moment in moments:
        due = pattern.next_from(moment) or LATE
        walls = [moment] if due >= LATE else [moment, due, due + 1, due + 60, due + 86_400]
        for wall in walls:
            said = claim(EPOCH + timedelta(seconds=wall))
            assert said == (pattern.next_from(wall) == wall), EPOCH + timedelta(seconds=wall)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("* * * * *", "every minute"),
        ("*/15 * * * *", "every 15 minutes"),
        ("30 2 * * *", "at 02:30, every day"),
        ("0 */6 * * *", "at 00:00, 06:00, 12:00 and 18:00, every day"),
        (
            "30 9-17 * * 1-5",
            "at 30 minutes past the hour, between 09:00 and 17:59, on Monday to Friday",
        ),
        ("1 */2 * * *", "at 1 minute past the hour, every 2 hours, every day"),
        (
            "5,20,50 9-17 * * *",
            "at 5, 20 and 50 minutes past the hour, between 09:00 and 17:59, every day",
        ),
        ("10-30 8-9 * * *", "minutes 10 to 30 past the hour, between 08:00 and 09:59"),
        ("10-30 8 * * *", "every minute between 08:10 and 08:30"),
        ("*/5 8 * * *", "every 5 minutes, between 08:00 and 08:59"),
        ("*/10 * 9-17 * * *", "every 10 seconds, between 09:00 and 17:59"),
        ("*/7 * * * *", "at each minute from 0 to 56 in steps of 7 of each hour"),
        ("5 0-20/2 * * *", "at minute 5 of each hour from 0 to 20 in steps of 2, every day"),
        ("59 59 23 29 2 *", "at 23:59:59, on the 29th of the month, only in February"),
        ("0 0 15,L * *", "at 00:00, on the 15th and the last day of the month"),
        ("0 12 L-3 * *", "at 12:00, on the day 3 days before the last day of the month"),
        ("0 0 * * 1#1,5L", "at 00:00, on the first Monday and the last Friday of the month"),
        ("0 0 * JAN-MAR MON", "at 00:00, on Monday, only in January to March"),
        ("@weekly", "at 00:00, on Sunday"),
        ("@monthly", "at 00:00, on the 1st of the month"),
        ("@hourly", "every hour"),
    ],
)
def test_an_expression_reads_well(expression: str, said: str) -> None:
    assert describe_cron(expression, "unix", "job") == said


def test_two_limited_day_fields_are_told_to_be_enough_one_by_one() -> None:
    said = describe_cron("0 0 13 * 5", "unix", "job")
    assert said == "at 00:00, on the 13th of the month or on Friday (either is enough)"


def test_a_star_in_a_day_field_is_told_to_need_both() -> None:
    said = describe_cron("0 0 13 * */5", "unix", "job")
    assert said == "at 00:00, on the 13th of the month and on Friday and Sunday (both must hold)"


def test_a_range_of_all_days_is_told_to_be_every_day_whatever_the_weekday() -> None:
    assert describe_cron("0 0 1-31 * 4", "unix", "job") == "at 00:00, every day"


def test_quartz_counts_weekdays_from_sunday() -> None:
    assert describe_cron("0 0 12 ? * 1-2", "quartz", "job") == "at 12:00, on Monday and Sunday"


def test_quartz_takes_a_bare_l_for_saturday_and_reversed_ranges_round_the_week() -> None:
    assert describe_cron("0 0 0 ? * L *", "quartz", "job") == "at 00:00, on Saturday"
    said = describe_cron("0 0 0 ? * FRI-MON", "quartz", "job")
    assert said == "at 00:00, on Monday and Friday to Sunday"


def test_quartz_years_are_told() -> None:
    said = describe_cron("0 0 0 1 1 ? 2028,2030", "quartz", "job")
    assert said == "at 00:00, on the 1st of the month, only in January, only in 2028 and 2030"


def test_h_is_shown_by_the_values_that_the_job_id_chooses() -> None:
    said = describe_cron("H H(0-7) * * *", "jenkins", "job")
    assert said == "at 02:34, every day (chosen from the job's id)"


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("H H(0-7) * * *", "at a time chosen from the job's id (H H(0-7))"),
        ("H 9 * * THU", "at a time chosen from the job's id (H 9), on Thursday"),
        ("0 9 H * *", "at 09:00, on a day chosen from the job's id (H *)"),
        ("0 9 1 H *", "at 09:00, on the 1st of the month, in a month chosen from the job's id (H)"),
        ("@weekly", "@weekly, at a time chosen from the job's id"),
    ],
)
def test_h_without_a_job_id_is_told_to_be_chosen_from_it(expression: str, said: str) -> None:
    assert describe_cron(expression, "jenkins", "") == said


def test_every_public_case_has_a_sentence_and_each_sentence_is_true() -> None:
    told = 0
    for case in read_cases():
        if case.dialect not in {"unix", "quartz", "jenkins"}:
            continue
        schedule = case.schedule()
        if schedule.cron is None:
            continue
        start = min(int(case.start.timestamp()), LATE)
        try:
            assert_true(schedule.cron, schedule.dialect, [start + 3_600 * n * n for n in range(40)])
            told += 1
        except ScheduleError:
            assert case.expect == "error" or case.may_reject
    assert told > 250


@given(made=expressions(), moments=WHEN)
def test_the_sentence_of_any_expression_is_true(made: Expression, moments: list[int]) -> None:
    try:
        assert_true(made.text, "unix", moments)
    except ScheduleError:
        return  # no date has such days


@given(
    day=st.sampled_from(DAYS),
    weekday=st.sampled_from(WEEKDAYS),
    month=st.integers(1, 12),
    moments=WHEN,
)
def test_the_sentence_of_any_two_day_fields_is_true(
    day: str, weekday: str, month: int, moments: list[int]
) -> None:
    try:
        assert_true(f"0 9 {day} {month}-12 {weekday}", "unix", moments)
    except ScheduleError:
        return  # no date has such days


@settings(max_examples=50)
@given(second=st.sampled_from(["*", "*/5", "7", "1-9", "3/7"]), made=expressions(), moments=WHEN)
def test_the_sentence_of_an_expression_with_seconds_is_true(
    second: str, made: Expression, moments: list[int]
) -> None:
    text = f"{second} {made.minute.text} {made.hour.text} * * *"
    assert_true(text, "unix", moments)


@given(
    ends=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    hours=st.tuples(st.integers(0, 23), st.integers(0, 23)),
    moments=WHEN,
)
def test_the_sentence_of_reversed_quartz_ranges_is_true(
    ends: tuple[int, int], hours: tuple[int, int], moments: list[int]
) -> None:
    assert_true(f"0 */20 {hours[0]}-{hours[1]} ? * {ends[0]}-{ends[1]}", "quartz", moments)
