"""Recurrence rules (RFC 5545): what each part means, where the standard and its readers differ."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from tests.unit.schedules.cases import Case, read_cases
from tests.unit.schedules.clock_walk import zone_info

from matins.domain.schedules.rrule.recurrences import read_recurrence
from matins.domain.schedules.rules import Rule
from matins.domain.time.civil import FIRST_S, LAST_S
from matins.domain.time.instants import epoch_s
from matins.domain.time.zones import find_zone
from matins.domain.values.errors import ScheduleError

CREATED = datetime(2026, 11, 29, 10, 30, 15, tzinfo=UTC)
CASES = [case for case in read_cases() if case.dialect == "rrule"]


def read(text: str, zone: str = "UTC") -> Rule:
    return read_recurrence(text, find_zone(zone), epoch_s(CREATED))


def due(text: str, count: int = 4, zone: str = "UTC") -> list[str]:
    """Return the first due times, as the zone's clocks show them."""
    rule = read(text, zone)
    found: list[str] = []
    instant = rule.next_after(FIRST_S - 1)
    while instant is not None and len(found) < count:
        local = datetime.fromtimestamp(instant, UTC).astimezone(zone_info(zone))
        found.append(f"{local:%Y-%m-%d %H:%M}")
        instant = rule.next_after(instant)
    return found


def from_noon(rule: str, day: str = "20260101") -> str:
    return f"DTSTART:{day}T120000Z\nRRULE:{rule}"


def days(rule: str, count: int = 4, day: str = "20260101") -> list[str]:
    """Return the first days of a rule that is due at noon."""
    found = due(from_noon(rule, day), count)
    assert all(text.endswith(" 12:00") for text in found)
    return [text[:10] for text in found]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_public_case_is_answered_as_expected(case: Case) -> None:
    rule = read(case.expr, case.tz)
    assert isinstance(case.expect, list)
    wanted = [epoch_s(instant) for instant in case.expect]
    found: list[int] = []
    instant = rule.next_after(epoch_s(case.start))
    while instant is not None and len(found) < (len(wanted) or 1):
        found.append(instant)
        instant = rule.next_after(instant)
    assert found == wanted, case.why
    assert all(rule.previous_before(later) == earlier for earlier, later in pairwise(found))


class TestText:
    @pytest.mark.parametrize(
        "text",
        [
            "FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
            "RRULE:FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
            "rrule:freq=daily;byhour=9;byminute=0;bysecond=0\r\n",
            "RRULE:FREQ=DAILY;BYHOUR=9;\r\n BYMINUTE=0;BYSEC\r\n OND=0",
            "DTSTART:20261130T090000Z\nRRULE:FREQ=DAILY",
            "RRULE:FREQ=DAILY\n\nDTSTART:20261130T090000Z",
            "DTSTART:20261130T090000Z RRULE:FREQ=DAILY",
            "DTSTART;VALUE=DATE-TIME;TZID=UTC:20261130T090000\nRRULE:FREQ=DAILY",
            'DTSTART;TZID="Etc/UTC":20261130T090000\nRRULE:FREQ=DAILY',
        ],
    )
    def test_lines_may_be_folded_ordered_and_spelled_as_the_standard_allows(
        self, text: str
    ) -> None:
        assert due(text, 2) == ["2026-11-30 09:00", "2026-12-01 09:00"]

    def test_without_a_start_the_rule_starts_when_the_job_was_made(self) -> None:
        rule = read("FREQ=DAILY", "Asia/Kolkata")
        assert rule.next_after(FIRST_S) == epoch_s(CREATED)
        assert rule.next_after(epoch_s(CREATED)) == epoch_s(CREATED) + 86_400

    def test_a_local_start_is_in_its_tzid_or_else_in_the_schedules_zone(self) -> None:
        start = "20260105T090000\nRRULE:FREQ=DAILY"
        assert due(f"DTSTART:{start}", 1, "Europe/Berlin") == ["2026-01-05 09:00"]
        assert due(f"DTSTART;TZID=Asia/Tokyo:{start}", 1, "Europe/Berlin") == ["2026-01-05 01:00"]

    def test_a_date_starts_at_midnight(self) -> None:
        text = "DTSTART;VALUE=DATE:20260105\nRRULE:FREQ=WEEKLY"
        assert due(text, 2, "Europe/Berlin") == ["2026-01-05 00:00", "2026-01-12 00:00"]

    def test_a_leap_second_is_the_second_before_it(self) -> None:
        rule = read("DTSTART:20161231T235960Z\nRRULE:FREQ=DAILY;BYSECOND=60,59")
        assert rule.next_after(FIRST_S) == epoch_s(datetime(2016, 12, 31, 23, 59, 59, tzinfo=UTC))


class TestDays:
    def test_a_yearly_rule_takes_the_date_from_the_start(self) -> None:
        assert days("FREQ=YEARLY", 2) == ["2026-01-01", "2027-01-01"]
        assert days("FREQ=YEARLY;BYMONTH=3,6", 3) == ["2026-03-01", "2026-06-01", "2027-03-01"]

    def test_a_leap_day_comes_in_leap_years_only(self) -> None:
        wanted = ["2096-02-29", "2104-02-29", "2108-02-29"]
        assert days("FREQ=YEARLY", 3, "20960229") == wanted

    def test_a_month_without_the_day_is_left_out(self) -> None:
        wanted = ["2026-01-31", "2026-03-31", "2026-05-31", "2026-07-31"]
        assert days("FREQ=MONTHLY", 4, "20260131") == wanted

    def test_days_of_the_month_count_from_its_end_too(self) -> None:
        wanted = ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30"]
        assert days("FREQ=MONTHLY;BYMONTHDAY=-1") == wanted
        assert days("FREQ=MONTHLY;BYMONTHDAY=-31", 2) == ["2026-01-01", "2026-03-01"]

    def test_days_of_the_year_count_from_its_end_too(self) -> None:
        wanted = ["2026-01-01", "2026-12-31", "2027-01-01", "2027-12-31", "2028-01-01"]
        assert days("FREQ=YEARLY;BYYEARDAY=1,-1", 5) == wanted
        assert days("FREQ=YEARLY;BYYEARDAY=366", 2) == ["2028-12-31", "2032-12-31"]
        assert days("FREQ=YEARLY;BYYEARDAY=-366", 2) == ["2028-01-01", "2032-01-01"]

    def test_weekdays_have_numbers_within_the_month_or_the_year(self) -> None:
        assert days("FREQ=MONTHLY;BYDAY=1FR,-1MO", 3) == ["2026-01-02", "2026-01-26", "2026-02-06"]
        assert days("FREQ=YEARLY;BYDAY=20MO", 2) == ["2026-05-18", "2027-05-17"]
        assert days("FREQ=YEARLY;BYMONTH=5;BYDAY=2SU", 2) == ["2026-05-10", "2027-05-09"]
        assert days("FREQ=YEARLY;BYDAY=53TH", 2) == ["2026-12-31", "2032-12-30"]

    def test_weekdays_with_and_without_numbers_are_one_list(self) -> None:
        wanted = ["2026-01-05", "2026-01-12", "2026-01-19", "2026-01-26", "2026-01-28"]
        assert days("FREQ=MONTHLY;BYDAY=MO,-1WE", 5) == wanted

    def test_a_day_of_the_month_and_a_weekday_must_both_match(self) -> None:
        wanted = ["2026-02-13", "2026-03-13", "2026-11-13"]
        assert days("FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR", 3) == wanted

    def test_an_interval_counts_from_the_period_of_the_start(self) -> None:
        assert days("FREQ=YEARLY;INTERVAL=4", 2) == ["2026-01-01", "2030-01-01"]
        assert days("FREQ=MONTHLY;INTERVAL=5", 3) == ["2026-01-01", "2026-06-01", "2026-11-01"]
        assert days("FREQ=DAILY;INTERVAL=10", 2) == ["2026-01-01", "2026-01-11"]

    def test_an_interval_of_weeks_depends_on_where_weeks_start(self) -> None:
        rule = "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST="
        wanted = ["1997-08-05", "1997-08-10", "1997-08-19", "1997-08-24"]
        assert days(rule + "MO", 4, "19970805") == wanted
        wanted = ["1997-08-05", "1997-08-17", "1997-08-19", "1997-08-31"]
        assert days(rule + "SU", 4, "19970805") == wanted


class TestWeeks:
    def test_days_around_new_year_belong_to_the_week_of_either_year(self) -> None:
        wanted = ["2020-12-28", "2021-01-01", "2026-12-28", "2027-01-01"]
        assert days("FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO,FR", 4, "20200101") == wanted

    def test_the_last_week_of_a_year_that_has_52_ends_in_the_next(self) -> None:
        wanted = ["2011-01-01", "2011-01-02", "2011-12-31", "2012-01-01"]
        assert days("FREQ=YEARLY;BYWEEKNO=52;BYDAY=SA,SU", 4, "20110101") == wanted
        assert days("FREQ=YEARLY;BYWEEKNO=-1;BYDAY=SA,SU", 4, "20110101") == wanted

    def test_the_first_week_begins_in_the_year_before(self) -> None:
        wanted = ["2024-12-30", "2025-12-29", "2027-01-04", "2028-01-03"]
        assert days("FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO", 4, "20240601") == wanted
        assert days("FREQ=YEARLY;BYWEEKNO=-52,-53;BYDAY=MO", 4, "20240601")[:2] == wanted[:2]

    def test_weeks_start_where_the_rule_says(self) -> None:
        rule = "FREQ=YEARLY;BYWEEKNO=1;BYDAY=SU"
        assert days(rule, 2) == ["2026-01-04", "2027-01-10"]
        assert days(f"{rule};WKST=SU", 2) == ["2026-01-04", "2027-01-03"]

    def test_a_week_without_a_day_means_the_weekday_of_the_start(self) -> None:
        assert days("FREQ=YEARLY;BYWEEKNO=20", 2) == ["2026-05-14", "2027-05-20"]


class TestPositions:
    def test_several_positions_are_in_order_and_once(self) -> None:
        wanted = ["2026-01-01", "2026-01-30", "2026-02-02", "2026-02-27"]
        assert days("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1,1,1") == wanted

    def test_a_set_begins_with_its_period_even_if_the_rule_starts_within_it(self) -> None:
        wanted = ["2024-11-13", "2024-11-20", "2024-11-27"]
        rule = "FREQ=WEEKLY;WKST=WE;BYDAY=MO,TU,WE;BYSETPOS=1"
        assert days(rule, 3, "20241110") == wanted

    def test_a_yearly_rule_has_one_set_a_year(self) -> None:
        wanted = ["2026-12-31", "2027-12-31", "2028-12-29"]
        assert days("FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", 3) == wanted

    def test_positions_count_times_of_day_as_well(self) -> None:
        text = from_noon("FREQ=WEEKLY;BYDAY=MO,TU;BYHOUR=9,17;BYSETPOS=2,3")
        wanted = ["2026-01-05 17:00", "2026-01-06 09:00", "2026-01-12 17:00"]
        assert due(text, 3) == wanted

    def test_an_hour_has_a_set_too(self) -> None:
        text = from_noon("FREQ=HOURLY;BYMINUTE=5,10,50;BYSETPOS=-1")
        assert due(text, 2) == ["2026-01-01 12:50", "2026-01-01 13:50"]

    def test_a_position_that_no_period_has_never_comes(self) -> None:
        assert due(from_noon("FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6")) == []


class TestEnds:
    def test_the_end_is_included(self) -> None:
        assert len(due(from_noon("FREQ=DAILY;UNTIL=20260103T120000Z"), 9)) == 3
        assert len(due(from_noon("FREQ=DAILY;UNTIL=20260103T115959Z"), 9)) == 2

    def test_a_local_end_is_in_the_zone_of_the_start(self) -> None:
        text = "DTSTART;TZID=Asia/Tokyo:20260101T090000\nRRULE:FREQ=DAILY;UNTIL=20260103T090000"
        assert len(due(text, 9)) == 3

    def test_a_date_as_end_includes_all_of_its_day(self) -> None:
        text = "DTSTART;TZID=Asia/Tokyo:20260101T230000\nRRULE:FREQ=DAILY;UNTIL=20260103"
        assert len(due(text, 9)) == 3

    def test_a_start_that_the_rule_does_not_hit_is_not_due_and_not_counted(self) -> None:
        assert days("FREQ=WEEKLY;BYDAY=MO;COUNT=2", 9) == ["2026-01-05", "2026-01-12"]

    def test_a_high_count_is_worked_out_at_once(self) -> None:
        rule = read("DTSTART:20260101T120000Z\nRRULE:FREQ=DAILY;BYHOUR=9,12,18;COUNT=1000000")
        last = rule.previous_before(LAST_S)
        assert last == epoch_s(datetime(2026, 1, 1, 12, tzinfo=UTC)) + 333_333 * 86_400
        rule = read("DTSTART:20260101T120000Z\nRRULE:FREQ=SECONDLY;INTERVAL=7;COUNT=1000000000")
        last = rule.previous_before(LAST_S)
        assert last == epoch_s(datetime(2026, 1, 1, 12, tzinfo=UTC)) + 7 * 999_999_999

    def test_nothing_is_due_after_the_year_9999(self) -> None:
        for rule in ("FREQ=YEARLY", "FREQ=HOURLY", "FREQ=HOURLY;BYHOUR=12"):
            compiled = read(from_noon(rule), "Pacific/Apia")
            last = compiled.previous_before(LAST_S)
            assert last is not None
            assert compiled.next_after(last) is None

    def test_a_rule_that_never_comes_says_so(self) -> None:
        for frequency in ("YEARLY", "MONTHLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"):
            assert due(from_noon(f"FREQ={frequency};BYMONTH=2;BYMONTHDAY=30")) == []


class TestDates:
    START = "DTSTART;TZID=Europe/Berlin:20260105T090000\n"

    def test_dates_are_added_and_each_due_once(self) -> None:
        text = self.START + "RRULE:FREQ=WEEKLY;COUNT=2\n"
        text += "RDATE;TZID=Europe/Berlin:20260112T090000,20260107T120000\nRDATE:20260106T080000Z"
        wanted = ["2026-01-05 09:00", "2026-01-06 09:00", "2026-01-07 12:00", "2026-01-12 09:00"]
        assert due(text, 9, "Europe/Berlin") == wanted

    def test_without_a_rule_the_start_is_due_itself(self) -> None:
        text = self.START + "RDATE:20260107T120000"
        assert due(text, 9, "Europe/Berlin") == ["2026-01-05 09:00", "2026-01-07 12:00"]
        assert due("RDATE:20260107T120000", 9, "Europe/Berlin") == ["2026-01-07 12:00"]

    def test_dates_of_any_zone_are_left_out(self) -> None:
        text = self.START + "RRULE:FREQ=DAILY;COUNT=5\nRDATE:20260120T080000Z\n"
        text += "EXDATE:20260105T080000Z,20260106T090000\nEXDATE;TZID=Asia/Tokyo:20260107T170000\n"
        text += "EXDATE:20260120T090000,20260109T090001"
        assert due(text, 9, "Europe/Berlin") == ["2026-01-08 09:00", "2026-01-09 09:00"]

    def test_an_excluded_date_means_all_of_its_day(self) -> None:
        text = self.START + "RRULE:FREQ=HOURLY;INTERVAL=6\nEXDATE;VALUE=DATE:20260106,20260107"
        assert due(text, 4, "Europe/Berlin") == [
            "2026-01-05 09:00",
            "2026-01-05 15:00",
            "2026-01-05 21:00",
            "2026-01-08 03:00",
        ]
        rule = read(text, "Europe/Berlin")
        assert rule.previous_before(epoch_s(datetime(2026, 1, 8, 2, tzinfo=UTC))) == epoch_s(
            datetime(2026, 1, 5, 20, tzinfo=UTC)
        )

    def test_all_may_be_left_out(self) -> None:
        assert due(self.START + "RRULE:FREQ=DAILY;COUNT=1\nEXDATE:20260105", 9) == []


class TestClocks:
    def test_a_skipped_time_is_left_out_before_positions_are_counted(self) -> None:
        text = "DTSTART;TZID=Europe/Berlin:20260328T023000\n"
        text += "RRULE:FREQ=DAILY;BYHOUR=2,3;BYSETPOS=1"
        wanted = ["2026-03-28 02:30", "2026-03-29 03:30", "2026-03-30 02:30"]
        assert due(text, 3, "Europe/Berlin") == wanted

    def test_a_day_that_is_skipped_is_left_out(self) -> None:
        text = "DTSTART;TZID=Pacific/Apia:20111229T090000\nRRULE:FREQ=DAILY;COUNT=3"
        wanted = ["2011-12-29 09:00", "2011-12-31 09:00", "2012-01-01 09:00"]
        assert due(text, 9, "Pacific/Apia") == wanted

    def test_a_time_that_occurs_twice_is_due_in_its_first_pass(self) -> None:
        rule = read("DTSTART;TZID=Europe/Berlin:20261025T023000\nRRULE:FREQ=DAILY")
        first = rule.next_after(FIRST_S)
        assert first == epoch_s(datetime(2026, 10, 25, 0, 30, tzinfo=UTC))
        assert rule.next_after(first) == epoch_s(datetime(2026, 10, 26, 1, 30, tzinfo=UTC))

    def test_hours_with_parts_are_due_in_both_passes(self) -> None:
        text = "DTSTART;TZID=America/New_York:20241103T000000\nRRULE:FREQ=HOURLY;BYHOUR=1,2"
        wanted = ["2024-11-03 01:00", "2024-11-03 01:00", "2024-11-03 02:00", "2024-11-04 01:00"]
        assert due(text, 4, "America/New_York") == wanted

    def test_a_start_that_is_skipped_is_as_late_as_if_clocks_had_not_changed(self) -> None:
        start = "DTSTART;TZID=America/New_York:20240310T023000\n"
        hourly = due(start + "RRULE:FREQ=HOURLY", 2, "America/New_York")
        assert hourly == ["2024-03-10 03:30", "2024-03-10 04:30"]
        daily = due(start + "RRULE:FREQ=DAILY", 2, "America/New_York")
        assert daily == ["2024-03-11 02:30", "2024-03-12 02:30"]
        single = due(start + "RDATE:20240311T023000", 1, "America/New_York")
        assert single == ["2024-03-10 03:30"]

    def test_half_an_hour_moves_an_hourly_rule(self) -> None:
        text = "DTSTART;TZID=Australia/Lord_Howe:20261004T010000\nRRULE:FREQ=HOURLY;BYDAY=SU"
        wanted = ["2026-10-04 01:00", "2026-10-04 02:30", "2026-10-04 03:30"]
        assert due(text, 3, "Australia/Lord_Howe") == wanted

    def test_the_clocks_of_year_9000_are_those_of_today(self) -> None:
        rule = read("DTSTART;TZID=Europe/Berlin:20260101T120000\nRRULE:FREQ=MONTHLY")
        summer, winter = (datetime(9000, month, 1, 12, tzinfo=UTC) for month in (7, 12))
        assert rule.next_after(epoch_s(summer) - 86_400) == epoch_s(summer) - 7200
        assert rule.next_after(epoch_s(winter) - 86_400) == epoch_s(winter) - 3600


class TestRefusals:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "neither RRULE nor RDATE"),
            ("DTSTART:20260101T090000Z", "neither RRULE nor RDATE"),
            ("every day", "no line such as RRULE:FREQ=DAILY"),
            ("FREQ=DAILY\nFREQ=WEEKLY", "RRULE: there are 2 of them"),
            ("DTSTART:20260101\nDTSTART:20260102\nRRULE:FREQ=DAILY", "DTSTART: there are 2"),
            ("EXRULE:FREQ=DAILY", "RFC 5545 has it no more; write EXDATE"),
            ("BEGIN:VEVENT", "'BEGIN' is not a line of a rule"),
            ("RRULE;TZID=UTC:FREQ=DAILY", "'TZID=UTC' can't stand here"),
            ("FREQ=FORTNIGHTLY", "FREQ=FORTNIGHTLY; write FREQ=YEARLY, MONTHLY"),
            ("RRULE:INTERVAL=2", "no FREQ"),
            ("FREQ=DAILY;", "not NAME=VALUE"),
            ("FREQ=DAILY;FREQ=DAILY", "FREQ twice"),
            ("FREQ=DAILY;BYEASTER=1", "no part 'BYEASTER'"),
            ("FREQ=DAILY;INTERVAL=0", "INTERVAL=0; write a whole number from 1"),
            ("FREQ=DAILY;COUNT=\u0663", "write a whole number from 1"),
            ("FREQ=DAILY;COUNT=2;UNTIL=20260101", "COUNT and UNTIL; write one of the two"),
            ("FREQ=DAILY;BYHOUR=24", "BYHOUR=24; write 0 to 23"),
            ("FREQ=MONTHLY;BYMONTHDAY=0", "BYMONTHDAY=0; write 1 to 31 or -31 to -1"),
            ("FREQ=WEEKLY;BYDAY=MON", "BYDAY=MON; write such as MO, 2MO or -1MO"),
            ("FREQ=WEEKLY;WKST=1", "WKST=1; write one of MO, TU"),
            ("FREQ=MONTHLY;BYWEEKNO=1", "BYWEEKNO, which goes with FREQ=YEARLY only, not MONTHLY"),
            ("FREQ=DAILY;BYYEARDAY=1", "BYYEARDAY, which does not go with FREQ=DAILY"),
            ("FREQ=WEEKLY;BYMONTHDAY=1", "BYMONTHDAY, which does not go with FREQ=WEEKLY"),
            ("FREQ=WEEKLY;BYDAY=2MO", "goes with FREQ=MONTHLY and YEARLY only, not WEEKLY"),
            ("FREQ=YEARLY;BYWEEKNO=1;BYDAY=2MO", "does not go with BYWEEKNO"),
            ("FREQ=MONTHLY;BYDAY=6MO", "no month has more of any weekday"),
            ("FREQ=DAILY;BYSETPOS=1", "BYSETPOS alone"),
            ("FREQ=DAILY;BYHOUR=9;BYSETPOS=1;COUNT=501", "COUNT=501, over 500 with BYSETPOS"),
            ("FREQ=HOURLY;BYHOUR=9;COUNT=501", "over 500 with FREQ=HOURLY and BYxxx"),
            ("FREQ=SECONDLY;INTERVAL=86399;BYHOUR=3", "same time of day only after 86399 days"),
            ("DTSTART:20260101\nRRULE:FREQ=HOURLY", "does not go with FREQ=HOURLY; write it with"),
            ("DTSTART:20260101\nRRULE:FREQ=DAILY;BYHOUR=9", "does not go with BYHOUR, BYMINUTE"),
            ("DTSTART:2026-01-01T09:00:00Z\nRRULE:FREQ=DAILY", "write it as 20261201T090000"),
            ("DTSTART:20260230T090000Z\nRRULE:FREQ=DAILY", "'20260230T090000Z' does not exist"),
            ("DTSTART;VALUE=DATE:20260101T090000\nRRULE:FREQ=DAILY", "not what VALUE=DATE says"),
            ("DTSTART;TZID=UTC:20260101T090000Z\nRRULE:FREQ=DAILY", "leave out the Z or the TZID"),
            ("DTSTART;TZID=Europa/Berlin:20260101T090000\nRRULE:FREQ=DAILY", "write Europe/Berlin"),
            ("DTSTART;TZID=Eastern Standard Time:20260101T090000\nRRULE:FREQ=DAILY", "IANA"),
            ("DTSTART;X-A=1:20260101T090000\nRRULE:FREQ=DAILY", "'X-A=1' can't stand here"),
            ("FREQ=DAILY\nRDATE:20260101", "has no time of day"),
            ("FREQ=DAILY\nRDATE;VALUE=PERIOD:20260101T090000Z/PT1H", "a period can't be due"),
            ("FREQ=DAILY\nEXDATE:", "EXDATE: '' is no date or date-time"),
            ("FREQ=DAILY;UNTIL=tomorrow", "UNTIL: 'TOMORROW' is no date or date-time"),
            ("DTSTART;TZID=Asia/Tokyo:00010101T000000\nRRULE:FREQ=DAILY", "the years 1 to 9999"),
            ("FREQ=DAILY\nEXDATE:" + "20260101," * 1200, "over 10000 characters"),
        ],
    )
    def test_what_is_wrong_is_said_with_what_would_be_right(self, text: str, message: str) -> None:
        with pytest.raises(ScheduleError) as caught:
            read(text)
        assert message in str(caught.value)
