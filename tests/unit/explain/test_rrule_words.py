"""What is said about a recurrence rule is what its parts say."""

from __future__ import annotations

import pytest

from matins.insight.explain.rrule_words import describe_rrule

MADE_AT = 1_764_583_200  # Mon 2025-12-01 10:00 UTC
START = "DTSTART;TZID=Europe/Berlin:20260131T090000\n"


def said(rule: str) -> str:
    """Say a rule of a job in New York, without its start and zone."""
    words = describe_rrule(START + rule, "America/New_York", MADE_AT)
    return words.replace(", from Sat 2026-01-31 at 09:00 on", "").removesuffix(
        ", Europe/Berlin time"
    )


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("RRULE:FREQ=DAILY", "every day, at 09:00"),
        ("RRULE:FREQ=WEEKLY;INTERVAL=2", "every 2 weeks, on Saturday, at 09:00"),
        (
            "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TU,WE,FR;WKST=SU",
            "every 2 weeks, on Monday to Wednesday and Friday, at 09:00, with weeks from Sunday on",
        ),
        ("RRULE:FREQ=MONTHLY", "every month, on the 31st of the month, at 09:00"),
        ("RRULE:FREQ=YEARLY", "every year, on 31 January, at 09:00"),
        ("RRULE:FREQ=YEARLY;BYMONTH=3", "every year, in March, on the 31st of the month, at 09:00"),
        (
            "RRULE:FREQ=MONTHLY;BYMONTHDAY=1,15,-1",
            "every month, on the 1st, 15th and last day of the month, at 09:00",
        ),
        (
            "RRULE:FREQ=MONTHLY;BYDAY=2MO,-1FR",
            "every month, on the last Friday and the second Monday of the month, at 09:00",
        ),
        ("RRULE:FREQ=YEARLY;BYDAY=20MO", "every year, on the 20th Monday of the year, at 09:00"),
        (
            "RRULE:FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
            "every month, on the 13th day of the month, if that is Friday, at 09:00",
        ),
        (
            "RRULE:FREQ=YEARLY;BYMONTHDAY=13",
            "every year, on the 13th day of each month, at 09:00",
        ),
        (
            "RRULE:FREQ=YEARLY;BYWEEKNO=1,-1;BYDAY=MO",
            "every year, in the 1st and last week of the year, on Monday, at 09:00",
        ),
        ("RRULE:FREQ=YEARLY;BYYEARDAY=100", "every year, on the 100th day of the year, at 09:00"),
        (
            "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=17",
            "every month, on each Monday to Friday, at 17:00, of these only the last in each month",
        ),
        (
            "RRULE:FREQ=DAILY;BYHOUR=9,12;BYMINUTE=0,30",
            "every day, at 09:00, 09:30, 12:00 and 12:30",
        ),
        (
            "RRULE:FREQ=MINUTELY;INTERVAL=15;BYHOUR=9,10;BYDAY=MO",
            "every 15 minutes, only on Monday, in hours 9 and 10",
        ),
        ("RRULE:FREQ=HOURLY;BYMINUTE=0,30", "every hour, at minutes 0 and 30"),
        ("RRULE:FREQ=HOURLY;INTERVAL=8", "every 8 hours"),
        ("RRULE:FREQ=DAILY;COUNT=3", "every day, at 09:00, 3 times in all"),
        (
            "RRULE:FREQ=DAILY;UNTIL=20260301T080000Z",
            "every day, at 09:00, until Sun 2026-03-01 at 09:00",
        ),
        ("RRULE:FREQ=DAILY\nRDATE:20260201T120000", "every day, at 09:00, and at 1 instant more"),
    ],
)
def test_a_rule_reads_well(rule: str, words: str) -> None:
    assert said(rule) == words


def test_a_rule_is_told_with_its_start_and_its_own_zone() -> None:
    words = describe_rrule(START + "RRULE:FREQ=DAILY", "America/New_York", MADE_AT)
    assert words == "every day, at 09:00, from Sat 2026-01-31 at 09:00 on, Europe/Berlin time"


def test_a_rule_without_a_start_begins_with_the_job_in_the_zone_of_the_schedule() -> None:
    words = describe_rrule("FREQ=DAILY", "America/New_York", MADE_AT)
    assert words == "every day, at 05:00, from Mon 2025-12-01 at 05:00 on, America/New_York time"


def test_a_start_in_utc_is_told_so() -> None:
    words = describe_rrule("DTSTART:20260131T090000Z\nRRULE:FREQ=DAILY", "Asia/Tokyo", MADE_AT)
    assert words == "every day, at 09:00, from Sat 2026-01-31 at 09:00 on, UTC"


def test_what_is_left_out_is_told_to_be() -> None:
    words = describe_rrule("FREQ=DAILY\nEXDATE:20260201T100000Z", "UTC", MADE_AT)
    assert words.endswith(", UTC, except what EXDATE lists")


def test_dates_without_a_rule_are_told_as_a_list() -> None:
    words = describe_rrule("RDATE:20260201T120000Z,20260202T120000Z", "UTC", MADE_AT)
    assert words == (
        "at 2 listed instants, the first on Sun 2026-02-01 at 12:00"
        " and the last on Mon 2026-02-02 at 12:00, UTC"
    )


def test_parts_without_honest_words_are_quoted() -> None:
    rule = "RRULE:FREQ=YEARLY;BYYEARDAY=100;BYMONTHDAY=10"
    assert said(rule).startswith("by the rule 'DTSTART;TZID=Europe/Berlin:20260131T090000 RRULE:")
