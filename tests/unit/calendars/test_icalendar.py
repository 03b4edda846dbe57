"""What becomes of iCalendar files, as the usual programs write them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.calendars.written import at, day

from matins.domain.calendars.calendar import Calendar, Item
from matins.domain.calendars.compiled import compile_calendar
from matins.domain.calendars.resolving import resolve
from matins.domain.values.errors import InvalidInputError

GOOGLE = """BEGIN:VCALENDAR
PRODID:-//Google Inc//Google Calendar 70.9054//EN
VERSION:2.0
CALSCALE:GREGORIAN
METHOD:PUBLISH
X-WR-CALNAME:Releases
X-WR-TIMEZONE:Europe/Berlin
BEGIN:VTIMEZONE
TZID:Europe/Berlin
BEGIN:DAYLIGHT
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
DTSTART:19700329T020000
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
END:DAYLIGHT
BEGIN:STANDARD
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
DTSTART:19701025T030000
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
DTSTART;VALUE=DATE:20261224
DTEND;VALUE=DATE:20270102
DTSTAMP:20261120T093000Z
UID:freeze@google.com
STATUS:CONFIRMED
SUMMARY:Change freeze\\, nobody deploys
TRANSP:OPAQUE
BEGIN:VALARM
ACTION:DISPLAY
TRIGGER:-PT30M
DTSTART:this is not read
END:VALARM
END:VEVENT
BEGIN:VEVENT
DTSTART;TZID=Europe/Berlin:20260325T220000
DTEND;TZID=Europe/Berlin:20260326T010000
RRULE:FREQ=WEEKLY;UNTIL=20260415T215959Z;BYDAY=WE
EXDATE;TZID=Europe/Berlin:20260401T220000
UID:patch@google.com
SUMMARY:Patch night
END:VEVENT
BEGIN:VEVENT
DTSTART:20260410T080000Z
DTEND:20260410T090000Z
RECURRENCE-ID;TZID=Europe/Berlin:20260408T220000
UID:patch@google.com
SUMMARY:Patch night\\, in the morning
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20260501
DTEND;VALUE=DATE:20260502
UID:gone@google.com
STATUS:CANCELLED
SUMMARY:Cancelled
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20260601
DTEND;VALUE=DATE:20260602
UID:birthday@google.com
SUMMARY:Birthday
TRANSP:TRANSPARENT
END:VEVENT
END:VCALENDAR
"""

OUTLOOK = """BEGIN:VCALENDAR
PRODID:-//Microsoft Corporation//Outlook 16.0 MIMEDIR//EN
VERSION:2.0
METHOD:PUBLISH
X-MS-OLK-FORCEINSPECTOROPEN:TRUE
BEGIN:VTIMEZONE
TZID:W. Europe Standard Time
BEGIN:STANDARD
DTSTART:16011028T030000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010325T020000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
END:DAYLIGHT
END:VTIMEZONE
BEGIN:VTIMEZONE
TZID:Customized Time Zone
BEGIN:STANDARD
DTSTART:16011104T020000
RRULE:FREQ=YEARLY;BYDAY=1SU;BYMONTH=11
TZOFFSETFROM:-0400
TZOFFSETTO:-0500
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010311T020000
RRULE:FREQ=YEARLY;BYDAY=2SU;BYMONTH=3
TZOFFSETFROM:-0500
TZOFFSETTO:-0400
END:DAYLIGHT
END:VTIMEZONE
BEGIN:VEVENT
CLASS:PUBLIC
DTSTART;TZID="W. Europe Standard Time":20260707T200000
DTEND;TZID="W. Europe Standard Time":20260707T220000
SUMMARY;LANGUAGE=en-us:Database maintenance with a subject that is so long that it
  goes on
UID:040000008200E00074C5B7101A82E008
X-MICROSOFT-CDO-BUSYSTATUS:BUSY
END:VEVENT
BEGIN:VEVENT
DTSTART;TZID="Customized Time Zone":20260105T120000
DURATION:PT1H
RRULE:FREQ=MONTHLY;COUNT=4;INTERVAL=2;BYDAY=1MO
SUMMARY:Quarterly
UID:2
END:VEVENT
END:VCALENDAR
"""

APPLE = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Apple Inc.//macOS 15.0//EN
X-APPLE-CALENDAR-COLOR:#1D9BF6
BEGIN:VEVENT
CREATED:20251018T182622Z
DTEND;VALUE=DATE:20260402
DTSTART;VALUE=DATE:20260331
RRULE:FREQ=YEARLY
SUMMARY:End of quarter
TRANSP:OPAQUE
UID:3F2504E0-4F89-11D3-9A0C-0305E82C3301
X-APPLE-TRAVEL-ADVISORY-BEHAVIOR:AUTOMATIC
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20260101
RDATE;VALUE=DATE:20260105,20260106
SUMMARY:Days
UID:4
END:VEVENT
BEGIN:VEVENT
DTSTART:20260210T090000
DTEND:20260210T100000
SUMMARY:Floating
UID:5
END:VEVENT
BEGIN:VEVENT
DTSTART;TZID=/freeassociation.sourceforge.net/Europe/Berlin:20260303T090000
SUMMARY:Only a reminder
UID:6
END:VEVENT
BEGIN:VTODO
DTSTART:20260210T090000
SUMMARY:Not an event
END:VTODO
END:VCALENDAR
"""


def items(
    text: str,
    *,
    years: tuple[int, int] = (2026, 2027),
    zone: str = "Europe/Berlin",
    label: str = "",
    include_free: bool = False,
) -> list[Item]:
    """Return what a file stands for, with the line ends that files have."""
    item = Item(icalendar=text.replace("\n", "\r\n"), label=label, include_free=include_free)
    return resolve(Calendar(name="cal", timezone=zone, exclude=[item]), *years).exclude


def event(*lines: str) -> str:
    """Return a file with one event, whose DTSTART is on line 4."""
    body = "\n".join(lines)
    head = "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\n"
    return f"{head}{body}\nSUMMARY:x\nEND:VEVENT\nEND:VCALENDAR\n"


def problem(text: str) -> str:
    with pytest.raises(InvalidInputError) as error:
        items(text)
    (found,) = error.value.problems
    assert found.where == "exclude[0].icalendar"
    return found.message


def test_google_s_file_is_read() -> None:
    assert items(GOOGLE) == [
        Item(dates=["2026-12-24/2027-01-01"], label="Change freeze, nobody deploys"),
        Item(
            spans=[
                "2026-03-25T21:00:00Z/2026-03-26T00:00:00Z",
                "2026-04-15T20:00:00Z/2026-04-15T23:00:00Z",
            ],
            label="Patch night",
        ),
        Item(
            spans=["2026-04-10T08:00:00Z/2026-04-10T09:00:00Z"],
            label="Patch night, in the morning",
        ),
    ]


def test_outlook_s_file_is_read_with_the_zones_that_it_names_or_defines() -> None:
    long = "Database maintenance with a subject that is so long that it goes on"
    assert items(OUTLOOK) == [
        Item(
            spans=[
                "2026-01-05T17:00:00Z/2026-01-05T18:00:00Z",
                "2026-03-02T17:00:00Z/2026-03-02T18:00:00Z",
                "2026-05-04T16:00:00Z/2026-05-04T17:00:00Z",
                "2026-07-06T16:00:00Z/2026-07-06T17:00:00Z",
            ],
            label="Quarterly",
        ),
        Item(spans=["2026-07-07T18:00:00Z/2026-07-07T20:00:00Z"], label=long),
    ]


def test_apple_s_file_is_read() -> None:
    assert items(APPLE) == [
        Item(dates=["2026-01-01", "2026-01-05", "2026-01-06"], label="Days"),
        Item(dates=["2026-03-31/2026-04-01", "2027-03-31/2027-04-01"], label="End of quarter"),
        Item(spans=["2026-02-10T08:00:00Z/2026-02-10T09:00:00Z"], label="Floating"),
    ]


def test_what_was_imported_closes_the_days_and_the_hours_of_its_events() -> None:
    cal = compile_calendar(
        Calendar(name="cal", timezone="Europe/Berlin", exclude=items(GOOGLE), weekend=[])
    )
    assert cal.closed(at("2027-01-01T23:59:59+01:00")) == "Change freeze, nobody deploys"
    assert cal.closed(at("2027-01-02T00:00:00+01:00")) is None
    assert cal.closed(at("2026-03-26T00:59:59+01:00")) == "Patch night"
    assert cal.closed(at("2026-04-08T22:00:00+02:00")) is None
    assert not cal.is_business_day(day("2026-12-24"))
    assert cal.is_business_day(day("2026-03-25"))


def test_a_label_of_the_item_stands_for_all_its_events() -> None:
    found = items(GOOGLE, label="Releases")
    assert [item.label for item in found] == ["Releases", "Releases"]
    assert [len(item.dates or item.spans or ()) for item in found] == [1, 3]


def test_events_that_are_marked_as_free_are_taken_only_when_that_is_wanted() -> None:
    assert "Birthday" not in [item.label for item in items(GOOGLE)]
    assert Item(dates=["2026-06-01"], label="Birthday") in items(GOOGLE, include_free=True)


def test_a_file_of_nothing_but_free_events_is_told_of() -> None:
    text = event("DTSTART;VALUE=DATE:20261003", "TRANSP:TRANSPARENT")
    assert "1 events, all of them marked as free" in problem(text)
    assert items(text, include_free=True) == [Item(dates=["2026-10-03"], label="x")]


def test_a_file_without_an_event_in_these_years_closes_nothing_and_still_allows_nothing() -> None:
    item = Item(icalendar=event("DTSTART;VALUE=DATE:20251003"))
    found = resolve(Calendar(name="cal", exclude=[item], only=[item]), 2026, 2027)
    assert (found.exclude, found.only) == ([Item(dates=[])], [Item(dates=[])])
    assert compile_calendar(found).closed(at("2026-06-01T12:00")) == "outside cal"


def test_events_that_reach_into_the_years_are_taken() -> None:
    text = event("DTSTART;VALUE=DATE:20251230", "DTEND;VALUE=DATE:20260102")
    assert items(text) == [Item(dates=["2025-12-30/2026-01-01"], label="x")]
    yearly = event("DTSTART;VALUE=DATE:20101227", "DTEND;VALUE=DATE:20110104", "RRULE:FREQ=YEARLY")
    dates = ["2025-12-27/2026-01-03", "2026-12-27/2027-01-03", "2027-12-27/2028-01-03"]
    assert items(yearly) == [Item(dates=dates, label="x")]
    late = event("DTSTART:20251231T230000Z", "DTEND:20251231T233000Z")
    assert items(late) == [Item(spans=["2025-12-31T23:00:00Z/2025-12-31T23:30:00Z"], label="x")]
    assert items(late, zone="UTC") == [Item(dates=[])]


@pytest.mark.parametrize(
    ("lines", "dates"),
    [
        (["RRULE:FREQ=DAILY;COUNT=3"], ["2026-01-30", "2026-01-31", "2026-02-01"]),
        (["RRULE:FREQ=DAILY;UNTIL=20260131"], ["2026-01-30", "2026-01-31"]),
        (["RRULE:FREQ=DAILY;UNTIL=20260131T000000Z;"], ["2026-01-30", "2026-01-31"]),
        (["RRULE:FREQ=WEEKLY;COUNT=2", "RDATE;VALUE=DATE:20260201"], None),
        (["RRULE:FREQ=DAILY;COUNT=3", "EXDATE;VALUE=DATE:20260131"], ["2026-01-30", "2026-02-01"]),
        (["RRULE:FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=2"], ["2026-01-30", "2026-01-31", "2026-02-28"]),
        (["RRULE:FREQ=YEARLY;COUNT=2"], ["2026-01-30", "2027-01-30"]),
    ],
)
def test_days_recur_by_rules_and_dates(lines: list[str], dates: list[str] | None) -> None:
    dates = dates or ["2026-01-30", "2026-02-01", "2026-02-06"]
    assert items(event("DTSTART;VALUE=DATE:20260130", *lines)) == [Item(dates=dates, label="x")]


@pytest.mark.parametrize(
    ("lines", "starts"),
    [
        (["EXDATE:20260329T200000Z"], ["03-28T21", "03-30T20"]),
        (["EXDATE;VALUE=DATE:20260329"], ["03-28T21", "03-30T20"]),
        (["EXDATE;TZID=Europe/Berlin:20260329T220000,20260330T220000"], ["03-28T21"]),
        (["RDATE;VALUE=PERIOD:20260401T100000Z/PT1H"], None),
    ],
)
def test_times_recur_at_the_wall_time_of_their_zone(lines: list[str], starts: list[str]) -> None:
    text = event(
        *("DTSTART;TZID=Europe/Berlin:20260328T220000", "DURATION:PT15M"),
        *("RRULE:FREQ=DAILY;UNTIL=20260330T200000Z", *lines),
    )
    (found,) = items(text)
    starts = starts or ["03-28T21", "03-29T20", "03-30T20", "04-01T10"]
    assert [span[5:13] for span in found.spans or ()] == starts


def test_a_period_has_an_end_of_its_own() -> None:
    text = event(
        *("DTSTART:20260401T100000Z", "DTEND:20260401T103000Z"),
        "RDATE;VALUE=PERIOD:20260402T100000Z/20260402T120000Z,20260403T100000Z/PT3H",
    )
    (found,) = items(text)
    assert [span[-9:] for span in found.spans or ()] == ["10:30:00Z", "12:00:00Z", "13:00:00Z"]


def test_one_occurrence_is_replaced_or_cancelled_by_an_event_of_the_same_name() -> None:
    text = (
        event("UID:a", "DTSTART;VALUE=DATE:20260101", "RRULE:FREQ=DAILY;COUNT=4")
        + event("UID:a", "RECURRENCE-ID;VALUE=DATE:20260102", "DTSTART;VALUE=DATE:20260110")
        + event("UID:a", "RECURRENCE-ID:20260103", "DTSTART:20260103", "STATUS:CANCELLED")
        + event("UID:b", "RECURRENCE-ID:20260104", "DTSTART:20260220")
    )
    dates = ["2026-01-01", "2026-01-04", "2026-01-10", "2026-02-20"]
    assert items(text) == [Item(dates=dates, label="x")]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_lines_are_unfolded_with_any_line_ends(line_end: str) -> None:
    text = event("DTSTART;VALUE=DA", " TE:202601", "\t01").replace("\n", line_end)
    item = Item(icalendar="\ufeff" + text)
    found = resolve(Calendar(name="cal", exclude=[item]), 2026, 2027)
    assert found.exclude == [Item(dates=["2026-01-01"], label="x")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no iCalendar file; it has no line BEGIN:VCALENDAR"),
        ("<html></html>", "line 1: '<html></html>' is no line of an iCalendar file"),
        ("VERSION:2.0\n", "line 1: 'VERSION:2.0' stands before BEGIN:VCALENDAR"),
        ("BEGIN:VEVENT\nEND:VEVENT", "line 1: 'VEVENT' stands outside of a VCALENDAR"),
        ("BEGIN:VCALENDAR\n\nBEGIN:VEVENT\n", "line 3: the VEVENT that begins here has no end"),
        ("BEGIN:VCALENDAR\nEND:VEVENT", "line 2: END:VEVENT does not end what is open there"),
        ("END:VCALENDAR", "line 1: END:VCALENDAR does not end what is open there"),
        ("BEGIN:VCALENDAR\n" + "BEGIN:X\n" * 20, "line 9: 'X' is nested too deep"),
        (event(), "line 3: the VEVENT that begins here has no DTSTART"),
        (event("UID:1", "DTSTART=1"), "line 5: 'DTSTART=1' is no line"),
        (event("DTSTART:2026-01-01"), "line 4: DTSTART has '2026-01-01', which can't be read"),
        (event("DTSTART:20260230"), "line 4: DTSTART has '20260230', which can't be read"),
        (event("DTSTART:PT1H"), "write a date or a time such as 20261224T120000Z"),
        (event("DTSTART:20260101", "DURATION:20260101"), "write a duration such as PT30M"),
        (event("DTSTART:20260102", "DTEND:20260101"), "line 3: the VEVENT that begins here ends"),
        (event("DTSTART;TZID=Berlin:20260102T100000"), "line 4: TZID 'Berlin' is not an IANA"),
        (event("DTSTART:20260101", "RRULE:often"), "line 5: RRULE: the rule has 'OFTEN'"),
        (event("DTSTART:20260101", "RRULE:FREQ=HOURLY"), "line 5: RRULE: the rule has FREQ=HOURLY"),
        (event("DTSTART:20260101", "RRULE:FREQ=DAILY;COUNT=X"), "line 5: RRULE: the rule has COUN"),
        (event("DTSTART:20260101", "EXDATE:tomorrow"), "line 5: EXDATE has 'tomorrow'"),
        (
            event("DTSTART:20260101", "RECURRENCE-ID;RANGE=THISANDFUTURE:20260101"),
            "line 5: RECURRENCE-ID has a RANGE",
        ),
    ],
)
def test_a_file_that_can_t_be_read_is_refused_with_the_line(text: str, message: str) -> None:
    assert message in problem(text)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "line 2: the VTIMEZONE 'Own' has no offset"),
        (["BEGIN:STANDARD", "END:STANDARD"], "line 4: the STANDARD that begins here has no TZOFF"),
        (
            ["BEGIN:STANDARD", "TZOFFSETFROM:x", "END:STANDARD"],
            "line 5: TZOFFSETFROM has 'x', which can't be read; write an offset such as +0100",
        ),
        (
            [
                *("BEGIN:STANDARD", "TZOFFSETFROM:+0100", "TZOFFSETTO:+0100"),
                *("DTSTART:20260101T000000", "RRULE:FREQ=SECONDLY", "END:STANDARD"),
            ],
            "line 8: RRULE: the rule has FREQ=SECONDLY",
        ),
    ],
)
def test_a_zone_that_can_t_be_read_is_refused_when_it_is_used(
    lines: list[str], message: str
) -> None:
    zone = ["BEGIN:VTIMEZONE", "TZID:Own", *lines, "END:VTIMEZONE"]
    head = "\n".join(["BEGIN:VCALENDAR", *zone, ""])
    text = event("DTSTART;TZID=Own:20260101T120000", "DURATION:PT1H")
    assert message in problem(head + text.partition("\n")[2])
    assert items(head + event("DTSTART:20260101").partition("\n")[2]) == [
        Item(dates=["2026-01-01"], label="x")
    ]


def test_one_file_s_zones_mean_nothing_to_another() -> None:
    zone = """BEGIN:VCALENDAR
BEGIN:VTIMEZONE
TZID:Own
BEGIN:STANDARD
DTSTART:20000101T000000
RDATE:20260601T000000
TZOFFSETFROM:+0300
TZOFFSETTO:+0400
END:STANDARD
END:VTIMEZONE
"""
    text = event("DTSTART;TZID=Own:20260101T120000", "DURATION:PT1H")
    spans = ["2026-01-01T08:00:00Z/2026-01-01T09:00:00Z"]
    assert items(zone + text.partition("\n")[2]) == [Item(spans=spans, label="x")]
    assert "TZID 'Own' is not an IANA time zone" in problem(text)


def test_a_zone_of_its_own_keeps_the_offset_of_its_last_change() -> None:
    zone = """BEGIN:VCALENDAR
BEGIN:VTIMEZONE
TZID:Own
BEGIN:STANDARD
DTSTART:20101031T030000
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU;UNTIL=20161231T000000Z
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:20110327T020000
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU;UNTIL=20161231T000000Z
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
END:DAYLIGHT
END:VTIMEZONE
"""
    text = event("DTSTART;TZID=Own:20260701T120000", "DURATION:PT1H")
    spans = ["2026-07-01T11:00:00Z/2026-07-01T12:00:00Z"]
    assert items(zone + text.partition("\n")[2]) == [Item(spans=spans, label="x")]


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=300",
        "FREQ=YEARLY;BYDAY=MO;BYSETPOS=1;COUNT=499",
        f"FREQ=DAILY;BYMINUTE={','.join(map(str, range(60)))};BYSECOND=1,2,3",
    ],
)
def test_the_work_that_rules_may_cost_is_bounded(rule: str) -> None:
    event = f"BEGIN:VEVENT\nDTSTART:00010101T000000\nRRULE:{rule}\nEND:VEVENT\n"
    text = f"BEGIN:VCALENDAR\n{event * 400}END:VCALENDAR\n"
    assert "too many events recur, or too often" in problem(text)


def test_the_number_of_occurrences_is_bounded() -> None:
    text = event("DTSTART:20260101", "RRULE:FREQ=DAILY")
    with pytest.raises(InvalidInputError, match="more than 5000 occurrences from 2026 to 2040"):
        items(text, years=(2026, 2040))


LINES = st.sampled_from(
    [line for text in (GOOGLE, OUTLOOK, APPLE) for line in text.splitlines()]
    + ["RRULE:FREQ=DAILY;BYHOUR=99", "RRULE:FREQ=YEARLY;BYWEEKNO=-54", "DTEND:99991231T235959Z"]
    + ["DURATION:P999999999D", "RRULE:", "DTSTART:00010101", "TZOFFSETFROM:-2359", "EXDATE:,"]
    + ["RDATE;VALUE=PERIOD:20260401T100000Z/20260301T100000Z", "RRULE:FREQ=DAILY;INTERVAL=-1"]
)


@given(st.lists(LINES | st.text(max_size=20), max_size=30))
@settings(deadline=None)
def test_whatever_is_in_a_file_the_error_is_ours(lines: list[str]) -> None:
    text = "\n".join(["BEGIN:VCALENDAR", "BEGIN:VEVENT", *lines, "END:VEVENT", "END:VCALENDAR"])
    try:
        found = resolve(Calendar(name="cal", exclude=[Item(icalendar=text)]), 2026, 2027)
    except InvalidInputError:
        return
    assert found.problems() == []
