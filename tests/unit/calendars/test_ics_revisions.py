"""What becomes of events that stand in a file more than once: revisions, and single occurrences."""

from __future__ import annotations

import pytest
from tests.unit.calendars.written import dates_of, ics, items

from matins.domain.calendars.calendar import Item

DAILY = ["UID:1", "DTSTART;VALUE=DATE:20270104", "RRULE:FREQ=DAILY;COUNT=3"]
EVENING = ["UID:1", "DTSTART;TZID=Europe/Berlin:20270104T220000", "DURATION:PT1H"]


def test_an_occurrence_that_repeats_the_rule_of_its_series_is_one_instance() -> None:
    biweekly = ["UID:1", "DTSTART;VALUE=DATE:20261130", "RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=2"]
    moved = ["UID:1", "RECURRENCE-ID;VALUE=DATE:20261214", "DTSTART;VALUE=DATE:20261215"]
    again = [*moved, "RRULE:FREQ=WEEKLY;INTERVAL=2", "RDATE;VALUE=DATE:20261216"]
    assert dates_of(ics(biweekly, again)) == ["2026-11-30", "2026-12-15"]


@pytest.mark.parametrize(
    "replaced",
    [
        "RECURRENCE-ID;TZID=W. Europe Standard Time:20270105T000000",
        "RECURRENCE-ID:20270104T230000Z",  # midnight in Berlin, where the event itself is
        "RECURRENCE-ID;VALUE=DATE:20270105",
    ],
)
def test_an_occurrence_of_an_all_day_series_is_found_by_its_day(replaced: str) -> None:
    start = "DTSTART;TZID=Europe/Berlin:20270105T120000"
    afternoon = ["UID:1", replaced, start, "DURATION:PT6H"]
    assert items(ics(DAILY, afternoon)) == [
        Item(dates=["2027-01-04", "2027-01-06"], label="x"),
        Item(spans=["2027-01-05T11:00:00Z/2027-01-05T17:00:00Z"], label="x"),
    ]


@pytest.mark.parametrize(
    "replaced",
    [
        "RECURRENCE-ID;TZID=Europe/Berlin:20270105T220000",
        "RECURRENCE-ID:20270105T210000Z",
        "RECURRENCE-ID;VALUE=DATE:20270105",
    ],
)
def test_an_occurrence_of_a_timed_series_is_found_by_its_instant(replaced: str) -> None:
    whole_day = ["UID:1", replaced, "DTSTART;VALUE=DATE:20270105"]
    assert items(ics([*EVENING, "RRULE:FREQ=DAILY;COUNT=2"], whole_day)) == [
        Item(dates=["2027-01-05"], label="x"),
        Item(spans=["2027-01-04T21:00:00Z/2027-01-04T22:00:00Z"], label="x"),
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_revisions_of_an_event_the_highest_sequence_counts(turned: bool) -> None:
    first = ["UID:1", "SEQUENCE:9", "DTSTART;VALUE=DATE:20270111"]
    second = ["UID:1", "SEQUENCE:10", "DTSTART;VALUE=DATE:20270118"]
    revisions = [second, first] if turned else [first, second]
    assert dates_of(ics(*revisions)) == ["2027-01-18"]


def test_a_revision_that_cancels_an_event_counts() -> None:
    first = ["UID:1", "DTSTART;VALUE=DATE:20270111"]
    other = ["UID:2", "DTSTART;VALUE=DATE:20270112"]
    cancelled = ["UID:1", "SEQUENCE:1", "STATUS:CANCELLED", "DTSTART;VALUE=DATE:20270111"]
    assert dates_of(ics(first, other, cancelled)) == ["2027-01-12"]


def test_revisions_of_one_occurrence_leave_the_series_alone() -> None:
    moves = [
        [f"SEQUENCE:{number}", "RECURRENCE-ID;VALUE=DATE:20270105", f"DTSTART;VALUE=DATE:{to}"]
        for number, to in ((1, "20270110"), (2, "20270111"))
    ]
    assert dates_of(ics(DAILY, *(["UID:1", *move] for move in moves))) == [
        "2027-01-04",
        "2027-01-06",
        "2027-01-11",
    ]


def test_the_kind_of_a_series_is_that_of_its_last_revision() -> None:
    whole_day = ["UID:1", "SEQUENCE:0", "DTSTART;VALUE=DATE:20270104", "RRULE:FREQ=DAILY;COUNT=9"]
    timed = [*EVENING, "SEQUENCE:1", "RRULE:FREQ=DAILY;COUNT=2"]
    gone = ["UID:1", "RECURRENCE-ID:20270105T210000Z", "DTSTART:20270105T210000Z"]
    spans = ["2027-01-04T21:00:00Z/2027-01-04T22:00:00Z"]
    assert items(ics(timed, whole_day, gone)) == [Item(spans=spans, label="x")]


@pytest.mark.parametrize("uid", [["UID:1"], []])
def test_events_that_share_a_uid_and_a_sequence_are_all_kept(uid: list[str]) -> None:
    days = [[*uid, f"DTSTART;VALUE=DATE:{day}"] for day in ("20270101", "20270106")]
    assert dates_of(ics(*days)) == ["2027-01-01", "2027-01-06"]
