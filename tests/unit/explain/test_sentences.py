"""One sentence says when a schedule is due, in which zone, and within which limits."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from tests.unit.schedules.cases import read_cases
from tests.unit.schedules.expressions import Expression, expressions

from matins.domain.schedules.cron.clock_changes import ClockChanges
from matins.domain.schedules.schedule import Schedule, Times
from matins.domain.timetables.compiling import compile_schedule
from matins.domain.values.errors import ScheduleError
from matins.insight.explain.sentences import explain

MADE_AT = datetime(2026, 11, 29, 10, tzinfo=UTC)


def said(schedule: Schedule, seed: str = "job") -> str:
    """Explain a schedule of a job made on 29 November 2026."""
    return explain(schedule, seed=seed, anchor=MADE_AT)


def test_cron_is_told_with_its_zone() -> None:
    schedule = Schedule(cron="30 2 * * 1-5", timezone="Europe/Berlin")
    assert said(schedule) == "At 02:30, on Monday to Friday, Europe/Berlin time."


def test_an_interval_is_told_with_the_instant_from_which_it_counts() -> None:
    assert said(Schedule(every="15m")) == "Every 15 minutes, counted from 2026-11-29 10:00:00 UTC."


def test_an_interval_counts_from_its_own_anchor() -> None:
    schedule = Schedule(every="1h", anchor="2026-12-01T00:00", timezone="Europe/Berlin")
    assert said(schedule) == "Every hour, counted from 2026-11-30 23:00:00 UTC."


def test_an_interval_without_an_anchor_counts_from_where_the_schedule_starts() -> None:
    schedule = Schedule(every="2h", starts_at="2026-12-01T00:00:00Z")
    assert said(schedule).startswith("Every 2 hours, counted from 2026-12-01 00:00:00 UTC; from ")


def test_days_are_told_by_the_calendar_and_twenty_four_hours_are_not_a_day() -> None:
    days = Schedule(every="1d", anchor="2026-11-29T09:00", timezone="Europe/Berlin")
    assert said(days) == "Every day, counted from Sun 2026-11-29 at 09:00, Europe/Berlin time."
    hours = Schedule(every="24h")
    assert said(hours) == "Every 24 hours, counted from 2026-11-29 10:00:00 UTC."


def test_an_interval_after_the_end_is_told_so() -> None:
    schedule = Schedule(every="15m", after="end")
    assert said(schedule) == "15 minutes after the last run has ended."


def test_one_instant_is_told_in_the_zone_of_the_schedule() -> None:
    schedule = Schedule(at="2026-12-01T14:00:00Z", timezone="America/New_York")
    assert said(schedule) == "Once on Tue 2026-12-01 at 09:00, America/New_York time."


def test_a_list_of_instants_is_told_by_its_count_and_both_ends() -> None:
    schedule = Schedule(at=["2027-01-01T00:00", "2026-12-01T09:00", "2026-12-24T12:00"])
    assert said(schedule) == (
        "At 3 listed instants, the first on Tue 2026-12-01 at 09:00 and the last on"
        " Fri 2027-01-01 at 00:00, UTC."
    )


def test_a_union_is_told_member_by_member_each_with_its_zone() -> None:
    schedule = Schedule(
        any_of=[Times(cron="0 2 * * 1"), Times(cron="0 14 * * 2", timezone="Asia/Tokyo")],
        timezone="Europe/Berlin",
    )
    assert said(schedule) == (
        "At 02:00, on Monday, Europe/Berlin time; or at 14:00, on Tuesday, Asia/Tokyo time."
    )


def test_limits_are_told() -> None:
    schedule = Schedule(
        cron="0 2 * * *", starts_at="2026-12-01T00:00", ends_at="2027-01-01T00:00", max_runs=5
    )
    assert said(schedule) == (
        "At 02:00, every day, UTC;"
        " from Tue 2026-12-01 at 00:00, until Fri 2027-01-01 at 00:00, at most 5 times."
    )


@pytest.mark.parametrize(("spread", "per"), [("run", "each run"), ("job", "the job")])
def test_jitter_is_told_with_what_chooses_it(spread: str, per: str) -> None:
    schedule = Schedule(
        cron="0 2 * * *", jitter="1h30m", spread="run" if spread == "run" else "job"
    )
    told = f"; up to 1 hour and 30 minutes later, by a stable choice for {per}."
    assert said(schedule).endswith(told)


def test_calendars_are_told_with_what_becomes_of_a_closed_occurrence() -> None:
    schedule = Schedule(
        cron="0 2 * * *", calendars=["de-holidays", "freeze"], on_closed="next_business_day"
    )
    assert said(schedule) == (
        "At 02:00, every day, UTC; except when calendar de-holidays or freeze is closed,"
        " then on the next business day."
    )


def test_a_job_s_own_clock_changes_are_told() -> None:
    schedule = Schedule(cron="30 2 * * *", dst=ClockChanges(gap="skip", overlap="both"))
    assert said(schedule) == (
        "At 02:30, every day, UTC"
        " (a time that clocks skip is left out and a time that occurs twice is due both times)."
    )


def test_the_end_of_the_job_is_told() -> None:
    schedule = Schedule(at="2026-12-01T09:00", delete_after="7d")
    assert said(schedule).endswith("; the job is deleted 7 days after its last run has ended.")


def test_h_without_a_job_id_is_told_to_be_chosen_later() -> None:
    schedule = Schedule(cron="H H * * *", dialect="jenkins")
    assert said(schedule, seed="") == "At a time chosen from the job's id (H H), UTC."


def test_a_schedule_that_can_not_be_read_is_refused() -> None:
    with pytest.raises(ScheduleError):
        said(Schedule(cron="61 * * * *"))


def test_every_public_case_has_a_sentence() -> None:
    for case in read_cases():
        try:
            compile_schedule(case.schedule(), seed="job", anchor=MADE_AT)
        except ScheduleError:
            continue
        assert said(case.schedule()).endswith(".")


@given(made=expressions())
def test_any_expression_has_a_sentence(made: Expression) -> None:
    try:
        sentence = said(Schedule(cron=made.text, timezone="Asia/Tokyo"))
    except ScheduleError:
        return  # no date has such days
    assert sentence.endswith(", Asia/Tokyo time.")
