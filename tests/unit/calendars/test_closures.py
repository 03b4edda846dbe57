"""When a compiled calendar is closed, why, and which days are business days."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.calendars.written import DAY_S, at, closures, day

from matins.domain.calendars.calendar import Calendar, Item
from matins.domain.calendars.compiled import CompiledCalendar, compile_calendar


def closed_hours(cal: CompiledCalendar, text: str) -> list[int]:
    """Return the hours of a day of the calendar's zone at whose start it is closed."""
    return [hour for hour in range(24) if cal.closed(at(f"{text}T{hour:02}:00", cal.zone.name))]


def test_a_date_is_closed_from_midnight_to_midnight_of_the_calendar_s_zone() -> None:
    cal = closures("{timezone: Europe/Berlin, exclude: [{dates: '2026-12-25', label: Christmas}]}")
    assert cal.closed(at("2026-12-24T22:59:59Z")) is None
    assert cal.closed(at("2026-12-24T23:00:00Z")) == "Christmas"
    assert cal.closed(at("2026-12-25T22:59:59Z")) == "Christmas"
    assert cal.closed(at("2026-12-25T23:00:00Z")) is None


def test_a_range_of_dates_includes_both_ends() -> None:
    cal = closures("exclude: [{dates: 2026-12-24/2026-12-31}]")
    found = [cal.closed(at(f"{day}T12:00")) is not None for day in ("2026-12-23", "2026-12-24")]
    assert found == [False, True]
    found = [cal.closed(at(f"{day}T12:00")) is not None for day in ("2026-12-31", "2027-01-01")]
    assert found == [True, False]


def test_a_date_without_a_year_is_closed_every_year_and_a_range_may_go_past_new_year() -> None:
    cal = closures("exclude: [{dates: [12-24/01-01, 02-29]}]")
    for closed in ("1999-12-24", "2026-12-31", "2027-01-01", "2028-02-29"):
        assert cal.closed(at(f"{closed}T12:00")) is not None
    for is_open in ("2026-12-23", "2027-01-02", "2027-02-28", "2027-03-01", "2028-02-28"):
        assert cal.closed(at(f"{is_open}T12:00")) is None


def test_weekdays_are_names_and_ranges_that_may_go_past_the_end_of_the_week() -> None:
    cal = closures("exclude: [{weekdays: [wed, sat-mon]}]")
    week = [f"2026-11-{number}" for number in range(23, 30)]  # Monday to Sunday
    found = [cal.closed(at(f"{day}T12:00")) is not None for day in week]
    assert found == [True, False, True, False, False, True, True]


def test_times_past_midnight_belong_to_the_day_on_which_they_begin() -> None:
    cal = closures("exclude: [{weekdays: fri, times: '22:00-02:00'}]")
    assert closed_hours(cal, "2026-11-27") == [22, 23]
    assert closed_hours(cal, "2026-11-28") == [0, 1]
    assert closed_hours(cal, "2026-11-29") == []


def test_conditions_of_one_item_hold_together_and_items_add_up() -> None:
    cal = closures(
        """
        exclude:
          - {dates: 12-24, weekdays: mon-fri, times: "14:00-24:00", label: Christmas Eve}
          - {times: "03:00-04:00", label: backup}
        """
    )
    assert closed_hours(cal, "2026-12-24") == [3, *range(14, 24)]  # a Thursday
    assert closed_hours(cal, "2027-12-24") == [3, *range(14, 24)]  # a Friday
    assert closed_hours(cal, "2028-12-24") == [3]  # a Sunday
    assert cal.closed(at("2026-12-24T03:30")) == "backup"


def test_outside_of_everything_that_is_allowed_it_is_closed() -> None:
    cal = closures(
        "{name: office, only: [{weekdays: mon-fri, times: '09:00-17:00', label: business hours}]}"
    )
    assert closed_hours(cal, "2026-11-27") == [*range(9), *range(17, 24)]
    assert closed_hours(cal, "2026-11-28") == [*range(24)]
    assert cal.closed(at("2026-11-28T12:00")) == "outside business hours"


def test_several_allowed_items_add_up_and_are_told_by_the_calendar_s_name() -> None:
    cal = closures(
        """
        name: windows
        only: [{times: "01:00-02:00"}, {weekdays: sun}, {spans: 2026-11-27T12:00/2026-11-27T13:00}]
        """
    )
    assert [hour for hour in range(24) if hour not in closed_hours(cal, "2026-11-27")] == [1, 12]
    assert closed_hours(cal, "2026-11-29") == []
    assert cal.closed(at("2026-11-27T14:00")) == "outside windows"


def test_what_is_excluded_is_closed_even_where_it_is_allowed() -> None:
    cal = closures("{only: [{weekdays: mon-fri}], exclude: [{dates: 12-25, label: Christmas}]}")
    assert cal.closed(at("2026-12-25T12:00")) == "Christmas"
    assert cal.closed(at("2026-12-28T12:00")) is None


def test_an_empty_list_is_met_by_nothing() -> None:
    assert closures("exclude: [{dates: []}]").closed(at("2026-12-25T12:00")) is None
    assert closures("only: [{dates: []}]").closed(at("2026-12-25T12:00")) == "outside cal"


@pytest.mark.parametrize(
    ("item", "label"),
    [
        ("{dates: 12-24/01-01}", "12-24/01-01"),
        ("{dates: [12-24, 12-25, 12-26, 12-27]}", "12-24, 12-25, 12-26, …"),
        ("{weekdays: fri, times: '11:00-14:00'}", "fri 11:00-14:00"),
        ("{spans: 2026-12-25T12:00Z/2026-12-25T12:01Z}", "2026-12-25T12:00Z/2026-12-25T12:01Z"),
    ],
)
def test_an_item_without_a_label_is_told_in_its_own_words(item: str, label: str) -> None:
    assert closures(f"exclude: [{item}]").closed(at("2026-12-25T12:00")) == label


def test_a_span_is_of_the_calendar_s_zone_or_of_its_own_offset_and_its_end_is_open() -> None:
    cal = closures(
        """
        timezone: Europe/Berlin
        exclude:
          - spans: [2026-12-24T12:00/2026-12-24T18:00, 2026-12-25T00:00Z/2026-12-25T00:00:30Z]
        """
    )
    assert cal.closed(at("2026-12-24T10:59:59Z")) is None
    assert cal.closed(at("2026-12-24T11:00:00Z")) is not None
    assert cal.closed(at("2026-12-24T17:00:00Z")) is None
    assert cal.closed(at("2026-12-25T00:00:29Z")) is not None
    assert cal.closed(at("2026-12-25T00:00:30Z")) is None


def test_times_that_occur_twice_are_closed_twice() -> None:
    cal = closures("{timezone: Europe/Berlin, exclude: [{times: '02:15-02:45'}]}")
    for instant in ("2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"):
        assert cal.closed(at(instant)) is not None
    for instant in ("2026-10-25T02:50:00+02:00", "2026-10-25T02:10:00+01:00"):
        assert cal.closed(at(instant)) is None


def test_times_that_are_skipped_close_nothing() -> None:
    cal = closures("{timezone: Europe/Berlin, exclude: [{times: '02:15-02:45'}]}")
    assert cal.closed(at("2026-03-29T01:59:59+01:00")) is None
    assert cal.closed(at("2026-03-29T03:00:00+02:00")) is None


def test_a_business_day_is_no_weekend_and_not_closed_all_day() -> None:
    cal = closures("exclude: [{dates: 2026-12-25}, {dates: 2026-12-24, times: '12:00-24:00'}]")
    found = [cal.is_business_day(day(f"2026-12-{number}")) for number in range(23, 29)]
    assert found == [True, True, False, False, False, True]  # Wednesday to Monday


def test_a_weekend_closes_nothing_and_may_be_any_days() -> None:
    cal = closures("weekend: [fri-sat]")
    found = [cal.is_business_day(day(f"2026-11-{number}")) for number in range(26, 30)]
    assert found == [True, False, False, True]
    assert closed_hours(cal, "2026-11-28") == []
    assert closures("weekend: []").is_business_day(day("2026-11-28"))


def test_pieces_that_leave_no_second_open_close_the_whole_day() -> None:
    pieces = """
        exclude:
          - {dates: 2026-11-24, times: "00:00-12:00"}
          - {dates: 2026-11-23, times: "23:00-01:00"}
          - {spans: 2026-11-24T11:00/2026-11-24T%s}
          - {dates: 2026-11-24, times: "18:00-06:00"}
    """
    assert not closures(pieces % "18:00").is_business_day(day("2026-11-24"))
    assert closures(pieces % "17:59:59").is_business_day(day("2026-11-24"))


def test_outside_of_what_is_allowed_there_is_no_business_day() -> None:
    cal = closures("{only: [{weekdays: mon-thu, times: '09:00-17:00'}]}")
    assert cal.is_business_day(day("2026-11-26"))
    assert not cal.is_business_day(day("2026-11-27"))


def test_a_day_that_clocks_skip_is_no_business_day() -> None:
    cal = closures("{timezone: Pacific/Apia, weekend: []}")
    found = [cal.is_business_day(day(f"2011-12-{number}")) for number in (29, 30, 31)]
    assert found == [True, False, True]


def test_a_second_pass_counts_for_its_day() -> None:
    cal = closures(
        """
        timezone: Europe/Berlin
        weekend: []
        exclude: [{spans: 2026-10-25T00:00/2026-10-26T00:00}]
        """
    )
    assert not cal.is_business_day(day("2026-10-25"))
    but_an_hour = closures(
        """
        timezone: Europe/Berlin
        weekend: []
        exclude: [{spans: [2026-10-25T00:00/2026-10-25T02:00+01:00,
                           2026-10-25T03:00+01:00/2026-10-26T00:00]}]
        """
    )
    assert but_an_hour.is_business_day(day("2026-10-25"))


def test_a_moment_that_is_open_may_begin_where_clocks_jump() -> None:
    cal = closures(
        """
        timezone: Europe/Berlin
        weekend: []
        exclude: [{times: ["00:00-02:30", "03:30-24:00"]}]
        """
    )
    assert cal.closed(at("2026-03-29T03:00:00+02:00")) is None
    assert cal.is_business_day(day("2026-03-29"))


ZONES = ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo"]
FIRST = date(2011, 12, 20)

DAYS = st.integers(-40, 40).map(lambda days: FIRST + timedelta(days))
DATES = st.one_of(
    DAYS.map(str),
    st.tuples(DAYS, st.integers(0, 50)).map(
        lambda parts: f"{parts[0]}/{parts[0] + timedelta(parts[1])}"
    ),
    DAYS.map(lambda day: f"{day:%m-%d}"),
    st.tuples(DAYS, DAYS).map(lambda pair: f"{pair[0]:%m-%d}/{pair[1]:%m-%d}"),
)
WEEKDAY = st.sampled_from(["mon", "tue", "wed", "thu", "fri", "sat", "sun"])
WEEKDAYS = st.one_of(WEEKDAY, st.tuples(WEEKDAY, WEEKDAY).map("-".join))
CLOCKS = st.integers(0, 47).map(lambda half: f"{half // 2:02}:{half % 2 * 30:02}")
TIMES = st.tuples(CLOCKS, CLOCKS | st.just("24:00")).filter(lambda pair: pair[0] != pair[1])
SPANS = st.tuples(DAYS, CLOCKS, st.integers(1, 60)).map(
    lambda parts: f"{parts[0]}T{parts[1]}:00Z/{parts[0] + timedelta(parts[2] // 24)}T23:59:30Z"
)
ITEMS = st.one_of(
    st.builds(
        Item,
        dates=st.none() | st.lists(DATES, min_size=1, max_size=3),
        weekdays=st.none() | st.lists(WEEKDAYS, min_size=1, max_size=2),
        times=st.lists(TIMES.map("-".join), min_size=1, max_size=2),
    ),
    st.builds(Item, dates=st.lists(DATES, max_size=3)),
    st.builds(Item, spans=st.lists(SPANS, max_size=2)),
)
CALENDARS = st.builds(
    Calendar,
    name=st.just("cal"),
    timezone=st.sampled_from(ZONES),
    exclude=st.lists(ITEMS, max_size=3),
    only=st.lists(ITEMS, max_size=2),
)


def meets_dates(text: str, shown: date) -> bool:
    first, _, last = text.partition("/")
    if len(first) == 10:
        return first <= str(shown) <= (last or first)
    last, this = last or first, f"{shown:%m-%d}"
    return first <= this <= last if first <= last else this >= first or this <= last


def meets_weekdays(text: str, shown: date) -> bool:
    week = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] * 2
    first, _, last = text.partition("-")
    begin = week.index(first)
    return week[shown.weekday()] in week[begin : week.index(last or first, begin) + 1]


def meets(item: Item, instant: datetime, wall: datetime) -> bool:
    """Say it with strings and dates, for one instant only."""
    if item.spans is not None:
        ends = [text.split("/") for text in item.spans]
        return any(
            datetime.fromisoformat(begin) <= instant < datetime.fromisoformat(end)
            for begin, end in ends
        )
    for text in ["00:00-24:00"] if item.times is None else item.times:
        first, _, last = text.partition("-")
        clock = f"{wall:%H:%M}"
        shown = wall.date()
        if last <= first and clock < last:
            shown -= timedelta(1)
        elif not (first <= clock and (clock < last or last <= first)):
            continue
        if item.dates is not None and not any(meets_dates(dates, shown) for dates in item.dates):
            continue
        if item.weekdays is None or any(
            meets_weekdays(weekday, shown) for weekday in item.weekdays
        ):
            return True
    return False


def is_closed(cal: Calendar, second: int) -> bool:
    instant = datetime.fromtimestamp(second, UTC)
    wall = instant.astimezone(ZoneInfo(cal.timezone))
    allowed = not cal.only or any(meets(item, instant, wall) for item in cal.only)
    return not allowed or any(meets(item, instant, wall) for item in cal.exclude)


@given(CALENDARS, st.integers(-30, 30), st.lists(st.integers(0, DAY_S - 1), max_size=20))
@settings(deadline=None)
def test_it_is_closed_where_its_words_say_so(cal: Calendar, day_: int, seconds: list[int]) -> None:
    found = compile_calendar(cal)
    midnight = int(datetime.combine(FIRST + timedelta(day_), time(), UTC).timestamp())
    for second in [*seconds, *range(0, DAY_S, 1800)]:
        assert (found.closed(midnight + second) is not None) == is_closed(cal, midnight + second)


@given(CALENDARS, st.integers(-30, 30))
@settings(deadline=None)
def test_a_business_day_has_a_moment_that_is_open(cal: Calendar, number: int) -> None:
    found = compile_calendar(cal)
    first = day(str(FIRST)) + number
    shown = range(first * DAY_S - DAY_S, first * DAY_S + 2 * DAY_S, 30)
    moments = [
        instant for instant in shown if (instant + found.zone.offset_at(instant)) // DAY_S == first
    ]
    is_weekend = (date(1970, 1, 1) + timedelta(first)).weekday() >= 5
    expected = not is_weekend and any(found.closed(moment) is None for moment in moments)
    assert found.is_business_day(first) == expected


def test_thousands_of_dates_are_looked_up_quickly() -> None:
    dates = [str(FIRST + timedelta(2 * number)) for number in range(4_900)]
    cal = compile_calendar(
        Calendar(name="cal", exclude=[Item(dates=day, label=day) for day in dates])
    )
    first = day(str(FIRST))
    for number in range(0, 9_800, 7):
        expected = None if number % 2 else str(FIRST + timedelta(number))
        assert cal.closed((first + number) * DAY_S) == expected
