"""Owners are warned of what a schedule does that they may not expect, and of nothing else."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.unit.schedules.expressions import Expression, expressions

from matins.domain.calendars.calendar import Calendar, Item
from matins.domain.calendars.compiled import compile_calendar
from matins.domain.schedules.cron.clock_changes import ClockChanges
from matins.domain.schedules.cron.expression import Dialect
from matins.domain.schedules.schedule import Schedule, Times
from matins.domain.timetables.compiling import compile_schedule
from matins.domain.values.errors import ScheduleError
from matins.insight.explain.warnings import WARNINGS_MAX, warnings

NOW = datetime(2025, 12, 1, 10, tzinfo=UTC)
BERLIN = "Europe/Berlin"


def warned(schedule: Schedule, after: datetime = NOW, seed: str = "job") -> list[str]:
    """Return the warnings about a schedule that is set on 1 December 2025."""
    timetable = compile_schedule(schedule, seed=seed, anchor=NOW)
    return warnings(schedule, timetable, after, seed=seed, anchor=NOW)


def of_cron(expression: str, dialect: Dialect = "unix") -> list[str]:
    """Return the warnings about an expression, in a zone whose clocks never change."""
    return warned(Schedule(cron=expression, dialect=dialect))


def test_a_plain_schedule_has_no_warning() -> None:
    assert warned(Schedule(cron="0 9 * * 1-5", timezone=BERLIN, jitter="5m")) == []


# Clock changes


def test_a_fixed_time_is_told_to_run_after_a_gap_and_at_the_first_of_two() -> None:
    assert warned(Schedule(cron="30 2 * * *", timezone=BERLIN)) == [
        "02:30 does not exist on 29 March 2026: runs at 03:00",
        "02:30 occurs twice on 25 October 2026: runs at the first, 02:30+02:00",
    ]


def test_fixed_times_in_one_change_are_told_together() -> None:
    assert warned(Schedule(cron="10,20 2 * * *", timezone=BERLIN)) == [
        "02:10 and 02:20 do not exist on 29 March 2026: runs once, at 03:00",
        "02:10 and 02:20 occur twice on 25 October 2026: runs at the first, +02:00",
    ]
    told = warned(Schedule(cron="0,10,20,30 2 * * *", timezone=BERLIN))
    assert told[0].startswith("02:00, 02:10, 02:20 and more do not exist on 29 March 2026: ")


def test_a_schedule_in_real_time_is_told_what_is_missing_and_what_comes_twice() -> None:
    assert warned(Schedule(cron="*/15 * * * *", timezone=BERLIN)) == [
        "on 29 March 2026 clocks skip 02:00 to 03:00: nothing is due in it",
        "on 25 October 2026 02:00 to 03:00 occurs twice: due in both",
    ]


def test_a_job_s_own_choice_for_clock_changes_is_told() -> None:
    own = ClockChanges(gap="skip", overlap="second")
    assert warned(Schedule(cron="30 2 * * *", timezone=BERLIN, dst=own)) == [
        "02:30 does not exist on 29 March 2026: left out",
        "02:30 occurs twice on 25 October 2026: runs at the second, 02:30+01:00",
    ]
    both = ClockChanges(overlap="both")
    told = warned(Schedule(cron="30 2 * * *", timezone=BERLIN, dst=both))
    assert told[1].endswith(": runs at both, 02:30+02:00 and 02:30+01:00")


def test_a_day_of_which_the_end_is_skipped_is_told_to_run_on_the_next() -> None:
    told = warned(Schedule(cron="30 23 * * *", timezone="America/Nuuk"))
    assert told[0] == "23:30 does not exist on 28 March 2026: runs at 00:00 on 29 March 2026"


def test_clock_changes_on_which_the_schedule_is_not_due_are_not_told() -> None:
    assert warned(Schedule(cron="30 2 * * 1", timezone=BERLIN)) == []
    assert warned(Schedule(cron="0 3 * * *", timezone=BERLIN)) == []


def test_clock_changes_before_the_start_and_after_the_end_are_not_told() -> None:
    daily = "30 2 * * *"
    late = Schedule(cron=daily, timezone=BERLIN, starts_at="2026-04-01T00:00")
    early = Schedule(cron=daily, timezone=BERLIN, ends_at="2026-04-01T00:00")
    assert warned(late)[0].startswith("02:30 occurs twice on 25 October 2026")
    assert warned(early) == ["02:30 does not exist on 29 March 2026: runs at 03:00"]
    dense = "* * * * *"
    assert warned(Schedule(cron=dense, timezone=BERLIN, ends_at="2026-01-01T00:00")) == []
    assert warned(Schedule(cron=dense, timezone=BERLIN, starts_at="2026-04-01T00:00")) == [
        "on 25 October 2026 02:00 to 03:00 occurs twice: due in both"
    ]


def test_days_by_the_calendar_are_told_like_fixed_times() -> None:
    told = warned(Schedule(every="1d", anchor="2025-12-01T02:30", timezone=BERLIN))
    assert told[0] == "02:30 does not exist on 29 March 2026: runs at 03:00"
    assert warned(Schedule(every="24h", anchor="2025-12-01T02:30", timezone=BERLIN)) == []


def test_a_local_instant_that_clocks_skip_is_told_and_one_with_an_offset_is_not() -> None:
    local = Schedule(at=["2026-03-29T02:30", "2026-10-25T00:30:00Z"], timezone=BERLIN)
    assert warned(local) == ["02:30 does not exist on 29 March 2026: runs at 03:00"]


def test_members_of_a_union_are_told_each_in_its_zone() -> None:
    union = Schedule(
        any_of=[Times(cron="30 2 * * *", timezone=BERLIN), Times(cron="30 2 * * *")],
        timezone="America/New_York",
    )
    assert warned(union) == [
        "02:30 does not exist on 8 March 2026 in America/New_York: runs at 03:00",
        "02:30 does not exist on 29 March 2026 in Europe/Berlin: runs at 03:00",
        "02:30 occurs twice on 25 October 2026 in Europe/Berlin: runs at the first, 02:30+02:00",
    ]


def test_changes_that_do_the_same_are_told_once_with_their_dates() -> None:
    schedule = Schedule(cron="30 2 * * *", timezone=BERLIN)
    timetable = compile_schedule(schedule, seed="job", anchor=NOW)
    told = warnings(schedule, timetable, NOW, seed="job", anchor=NOW, days=3_650)
    assert told[0] == (
        "02:30 does not exist on 29 March 2026, 28 March 2027, 26 March 2028 and 7 dates more:"
        " runs at 03:00"
    )


@given(
    zone=st.sampled_from([BERLIN, "America/New_York", "Australia/Lord_Howe", "America/Havana"]),
    hour=st.integers(0, 3),
    minute=st.integers(0, 59),
)
def test_a_daily_time_is_told_not_to_exist_if_and_only_if_it_does_not(
    zone: str, hour: int, minute: int
) -> None:
    told = warned(Schedule(cron=f"{minute} {hour} * * *", timezone=zone))
    said = {line.split(" on ")[1].split(":")[0] for line in told if "does not exist" in line}
    missing = set[str]()
    for number in range(399):
        day = date(2025, 12, 2) + timedelta(days=number)
        wall = datetime(day.year, day.month, day.day, hour, minute, tzinfo=ZoneInfo(zone))
        if wall.astimezone(UTC).astimezone(wall.tzinfo) != wall:
            missing.add(f"{day.day} {day:%B} {day.year}")
    assert said == missing


def test_local_times_that_a_rule_leaves_out_are_told() -> None:
    rule = "DTSTART;TZID=Europe/Berlin:20251201T023000\nRRULE:FREQ=WEEKLY;BYDAY=SU"
    assert warned(Schedule(rrule=rule, timezone="Asia/Tokyo")) == [
        "02:30 does not exist on 29 March 2026: left out",
        "02:30 occurs twice on 25 October 2026: runs at the first, 02:30+02:00",
    ]
    monday = rule.replace("BYDAY=SU", "BYDAY=MO")
    assert warned(Schedule(rrule=monday)) == []


def test_a_rule_in_real_time_has_no_warning_of_clocks() -> None:
    assert warned(Schedule(rrule="FREQ=MINUTELY;INTERVAL=15", timezone=BERLIN)) == []


# What an expression or a rule means


@pytest.mark.parametrize(
    ("expression", "months"),
    [
        ("0 9 30 * *", "February has no 30th"),
        ("0 9 31 * *", "February, April, June, September and November have no 31st"),
        ("0 9 31 1,4 *", "April has no 31st"),
        ("0 9 29 * *", "February has a 29th in leap years only"),
    ],
)
def test_days_that_not_every_month_has_are_told(expression: str, months: str) -> None:
    assert of_cron(expression) == [f"not in every month: {months}; write L for the last day"]


def test_days_that_all_of_its_months_have_are_not_told() -> None:
    assert of_cron("0 9 31 1,3,5 *") == []
    assert of_cron("0 9 28 * *") == []
    assert of_cron("0 9 30,L * *") == []
    assert of_cron("0 9 * * *") == []


def test_the_weekday_nearest_the_31st_is_told_to_need_a_31st() -> None:
    assert of_cron("0 9 31W 3,4 *") == [
        "not in every month: April has no 31st; write LW for the last weekday"
    ]


def test_a_rule_that_starts_on_the_31st_is_told_to_leave_months_out() -> None:
    rule = "DTSTART:20251231T100000Z\nRRULE:FREQ=MONTHLY;BYMONTH=3,4"
    assert warned(Schedule(rrule=rule)) == [
        "not each time: April has no 31st; write BYMONTHDAY=-1 for the last day"
    ]
    assert warned(Schedule(rrule="FREQ=MONTHLY;BYMONTHDAY=30,-1")) == []


def test_a_leap_day_is_told_with_its_next_date() -> None:
    assert of_cron("0 9 29 2 *") == [
        "not due before 29 February 2028, in 819 days",
        "only in leap years: next on 29 February 2028",
    ]


def test_a_february_without_its_leap_day_is_told() -> None:
    assert of_cron("0 9 1-28 2 *") == ["never on a leap day: the 29th of February is left out"]


def test_a_fifth_weekday_is_told_to_be_missing_in_some_months() -> None:
    assert of_cron("0 9 * * 5#5") == ["not in every month: some have no fifth Friday"]


def test_two_limited_day_fields_are_told_to_be_enough_one_by_one() -> None:
    (told,) = of_cron("0 0 13 * 5")
    assert told == (
        "either day field is enough: due on Friday and also on the 13th of the month;"
        " to need both, write an rrule with FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13"
    )


def test_the_rule_that_needs_both_day_fields_has_their_special_items_and_months() -> None:
    (told,) = of_cron("0 0 L,L-3 6,7 5L,1#2")
    assert told.endswith("FREQ=MONTHLY;BYDAY=-1FR,2MO;BYMONTHDAY=-1,-4;BYMONTH=6,7")
    assert "rrule" not in of_cron("0 0 LW * 5")[0]


def test_a_leap_day_or_a_weekday_is_not_told_to_be_leap_days_only() -> None:
    either, short = of_cron("0 0 29 2 1")
    assert either.startswith("either day field is enough")
    assert short.startswith("not in every month: February has a 29th in leap years only")


def test_two_day_fields_that_must_both_hold_are_not_told() -> None:
    assert "either" not in " ".join(of_cron("0 0 13 * */5"))


def test_a_day_field_that_takes_in_every_day_is_told_to_make_the_other_one_idle() -> None:
    (told,) = of_cron("0 0 1-31 * 4")
    assert told == (
        "due every day: day-of-month 1-31 takes in every day, and either day field is enough,"
        " so that day-of-week 4 limits nothing; write * for day-of-month"
    )


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("*/7 * * * *", "*/7 minutes begins anew each hour: the last gap is 4 minutes"),
        ("*/45 * * * *", "*/45 minutes begins anew each hour: the last gap is 15 minutes"),
        ("0 */5 * * *", "*/5 hours begins anew each day: the last gap is 4 hours"),
        ("0 0 * * */2", "*/2 days begins anew each week: the last gap is 1 day"),
        ("0 0 1 */5 *", "*/5 months begins anew each year: the last gap is 2 months"),
        ("0 0 */2 * *", "*/2 in day-of-month begins anew each month, on the 1st"),
    ],
)
def test_a_step_that_does_not_divide_its_field_is_told(expression: str, said: str) -> None:
    assert of_cron(expression) == [said]


def test_steps_that_leave_no_odd_gap_are_not_told() -> None:
    for expression in (
        "0 5/7 * * *",
        "*/15 * * * *",
        "5/15 * * * *",
        "*/60 * * * *",
        "*/7 2 * * *",
        "0 0 1 */3 *",
    ):
        assert of_cron(expression) == []


def test_h_without_a_job_id_is_told() -> None:
    told = warned(Schedule(cron="H 9 * * *", dialect="jenkins"), seed="")
    assert told == [
        "H chooses from the job's id, which is not known yet: the job's own times will differ"
    ]
    assert warned(Schedule(cron="H 9 * * *", dialect="jenkins")) == []


# When, how often, how exactly


@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        (Schedule(at="2025-01-01T00:00"), "all its due times have passed"),
        (
            Schedule(cron="0 0 1 1 *", ends_at="2025-12-24T00:00"),
            "ends_at lies before the next due time",
        ),
        (Schedule(cron="0 0 * * *", ends_at="2025-11-24T00:00"), "ends_at has passed"),
        (Schedule(cron="0 0 0 1 1 ? 2020", dialect="quartz"), "all its due times have passed"),
    ],
)
def test_a_schedule_that_is_never_due_again_is_told_why(schedule: Schedule, why: str) -> None:
    assert warned(schedule) == [f"never due again: {why}"]


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(rrule="FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU;BYHOUR=2;BYMINUTE=30"),
        Schedule(cron="0 30 2 ? 3 1L", dialect="quartz", dst=ClockChanges(gap="skip")),
    ],
)
def test_a_schedule_of_nothing_but_times_that_clocks_skip_is_told_so(schedule: Schedule) -> None:
    (told, *_) = warned(replace(schedule, timezone="Europe/Berlin"))
    assert told == (
        "never due again: clocks skip each time that it names, such as 02:30 on 29 March 2026;"
        " choose another time of day"
    )


def test_runs_that_are_used_up_are_told() -> None:
    told = warned(Schedule(cron="0 * * * *", max_runs=3), after=NOW + timedelta(days=1))
    assert told == ["never due again: nothing more is due within max_runs"]


def test_a_schedule_after_the_end_of_runs_is_not_told_to_be_over() -> None:
    assert warned(Schedule(every="15m", after="end")) == []


def test_a_schedule_far_ahead_is_told_its_first_date() -> None:
    told = warned(Schedule(cron="0 0 0 1 1 ? 2030", dialect="quartz"))
    assert told == ["not due before 1 January 2030, in 1,491 days"]


def test_a_calendar_that_leaves_nothing_is_told() -> None:
    schedule = Schedule(cron="0 9 * * 6", calendars=["workdays"])
    workdays = compile_calendar(
        Calendar("workdays", exclude=[Item(weekdays="sat-sun", label="rest")])
    )
    timetable = compile_schedule(schedule, seed="job", anchor=NOW, closures=[workdays])
    assert warnings(schedule, timetable, NOW, seed="job", anchor=NOW) == [
        "none of the next 32 due times will run: calendar workdays: rest"
    ]


def test_a_calendar_that_is_closed_over_a_weekend_is_no_surprise() -> None:
    schedule = Schedule(cron="0 * * * *", calendars=["workdays"])
    workdays = compile_calendar(Calendar("workdays", exclude=[Item(weekdays="sat-sun")]))
    timetable = compile_schedule(schedule, seed="job", anchor=NOW, closures=[workdays])
    friday = datetime(2025, 12, 5, 23, tzinfo=UTC)
    assert warnings(schedule, timetable, friday, seed="job", anchor=NOW) == []


def test_jitter_longer_than_the_least_distance_is_told_to_be_cut() -> None:
    told = warned(Schedule(cron="0,5 9 * * *", jitter="10m"))
    assert told == ["jitter 10m is cut: the next due time follows after 5m"]
    assert warned(Schedule(cron="0,5 9 * * *", jitter="5m")) == []


def test_a_dense_schedule_is_told_how_often_it_runs() -> None:
    assert of_cron("* * * * * *") == ["due every second: 86,400 runs a day"]
    assert warned(Schedule(every="5s")) == ["due every 5 seconds: 17,280 runs a day"]
    assert of_cron("* * * * *") == []


@given(made=expressions(), zone=st.sampled_from(["UTC", BERLIN, "Pacific/Apia"]))
def test_any_expression_gets_its_few_warnings(made: Expression, zone: str) -> None:
    try:
        told = warned(Schedule(cron=made.text, timezone=zone, jitter="1h"))
    except ScheduleError:
        return  # no date has such days
    assert len(told) <= WARNINGS_MAX
