"""How lines and values of iCalendar files are read, as the more careless programs write them."""

from __future__ import annotations

import pytest
from tests.unit.calendars.written import dates_of, ics, items, span_of

from matins.domain.calendars.ics.components import whole_characters
from matins.domain.values.errors import InvalidInputError


@pytest.mark.parametrize(
    ("start", "duration", "end"),
    [
        ("20271031T000000", "P1D", "2027-10-31T23:00:00Z"),  # 25 hours
        ("20271031T000000", "PT24H", "2027-10-31T22:00:00Z"),
        ("20270328T000000", "P1D", "2027-03-28T22:00:00Z"),  # 23 hours
        ("20270328T000000", "P1DT1H", "2027-03-28T23:00:00Z"),
        ("20271028T120000", "P1W", "2027-11-04T11:00:00Z"),
        ("20270327T023000", "P1D", "2027-03-28T01:00:00Z"),  # 02:30 is skipped: right after it
    ],
)
def test_days_and_weeks_of_a_duration_are_days_of_the_calendar(
    start: str, duration: str, end: str
) -> None:
    event = [f"DTSTART;TZID=Europe/Berlin:{start}", f"DURATION:{duration}"]
    assert span_of(ics(event)).partition("/")[2] == end


def test_each_occurrence_has_the_days_of_its_own_duration() -> None:
    weekly = ["DTSTART;TZID=Europe/Berlin:20271024T000000", "RRULE:FREQ=WEEKLY;COUNT=2"]
    (found,) = items(ics([*weekly, "DURATION:P1D"]))
    assert found.spans == [
        "2027-10-23T22:00:00Z/2027-10-24T22:00:00Z",
        "2027-10-30T22:00:00Z/2027-10-31T23:00:00Z",
    ]


def test_days_of_a_period_are_days_of_the_calendar() -> None:
    listed = "RDATE;TZID=Europe/Berlin;VALUE=PERIOD:20271031T000000/P1D"
    (found,) = items(ics(["DTSTART;TZID=Europe/Berlin:20270101T000000", listed]))
    assert found.spans == ["2027-10-30T22:00:00Z/2027-10-31T23:00:00Z"]


@pytest.mark.parametrize("duration", ["-P1D", "-PT1H"])
def test_a_duration_below_zero_is_refused(duration: str) -> None:
    with pytest.raises(InvalidInputError, match="ends before it starts"):
        items(ics(["DTSTART:20270101T000000Z", f"DURATION:{duration}"]))


@pytest.mark.parametrize(
    "empty", ["RRULE:", "EXDATE:", "RDATE: ", "RECURRENCE-ID:", "DTEND:", "DURATION:", "UID:"]
)
def test_a_line_without_a_value_says_nothing(empty: str) -> None:
    assert dates_of(ics(["DTSTART;VALUE=DATE:20270101", empty])) == ["2027-01-01"]


@pytest.mark.parametrize(
    "line", ["oops", "X-ODD;=1:2", "DESCRIPTION;LANGUAGE:no value", 'SUMMARY;ALTREP="a:b']
)
def test_a_line_that_can_t_be_read_and_decides_nothing_is_passed_over(line: str) -> None:
    assert dates_of(ics(["DTSTART;VALUE=DATE:20270101", line])) == ["2027-01-01"]


@pytest.mark.parametrize("line", ["DTEND;=1:20270102", "rrule", "EXDATE;VALUE:20270101", "End"])
def test_a_line_that_decides_when_is_refused_if_it_can_t_be_read(line: str) -> None:
    with pytest.raises(InvalidInputError, match=f"line 5: '{line}' is no line of an iCalendar"):
        items(ics(["DTSTART;VALUE=DATE:20270101", line]))


def test_a_fold_within_a_character_s_bytes_leaves_the_character_and_the_lines_whole() -> None:
    text = "SUMMARY:Tag der Ämter €\r\nDTSTART:20270106"
    data = text.encode()
    for place in range(len("SUMMARY:"), data.index(b"\r")):
        folded = data[:place] + b"\r\n " + data[place:]
        whole = whole_characters(folded).decode()
        assert whole.replace("\r\n ", "") == text
        assert whole.count("\n") == folded.count(b"\n")


@pytest.mark.parametrize(
    "shown",
    [
        "(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna",
        "(GMT+01.00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna",
        "Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna",
        "(UTC+02:00) Brussels, Copenhagen, Madrid, Paris",
    ],
)
def test_a_name_under_which_windows_shows_a_zone_is_known(shown: str) -> None:
    event = [f'DTSTART;TZID="{shown}":20270701T120000', "DURATION:PT1H"]
    assert span_of(ics(event)) == "2027-07-01T10:00:00Z/2027-07-01T11:00:00Z"


def test_a_zone_in_another_country_is_known_by_its_shown_name() -> None:
    event = ['DTSTART;TZID="(UTC-08:00) Pacific Time (US & Canada)":20270101T120000']
    assert span_of(ics([*event, "DURATION:PT1H"])) == "2027-01-01T20:00:00Z/2027-01-01T21:00:00Z"


def test_a_zone_that_the_file_defines_under_such_a_name_is_the_file_s() -> None:
    zone = ["BEGIN:VTIMEZONE", "TZID:Fiji", "BEGIN:STANDARD", "DTSTART:19700101T000000"]
    zone += ["TZOFFSETFROM:+0300", "TZOFFSETTO:+0300", "END:STANDARD", "END:VTIMEZONE"]
    event = ["DTSTART;TZID=Fiji:20270101T120000", "DURATION:PT1H"]
    text = ics(event, zones=zone)
    assert span_of(text) == "2027-01-01T09:00:00Z/2027-01-01T10:00:00Z"
