"""What becomes of occurrences at which a calendar is closed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.calendars.test_closures import FIRST, ITEMS, ZONES
from tests.unit.calendars.written import DAY_S, at, closures

from matins.domain.calendars.calendar import Calendar, Item
from matins.domain.calendars.compiled import CompiledCalendar, compile_calendar
from matins.domain.schedules.at import InstantsRule
from matins.domain.schedules.cron.expression import parse_cron
from matins.domain.schedules.cron.rules import FixedRule, WildcardRule
from matins.domain.schedules.rules import Rule
from matins.domain.schedules.schedule import OnClosed
from matins.domain.time.instants import instant_of
from matins.domain.time.zones import find_zone
from matins.domain.timetables.calendar_rule import CalendarRule, is_too_dense
from matins.domain.values.errors import ScheduleError

HOLIDAYS = """
name: de-holidays
timezone: Europe/Berlin
exclude:
  - {dates: 2026-12-24, times: "12:00-24:00", label: Christmas Eve}
  - {dates: 2026-12-25/2026-12-26, label: Christmas Day}
"""


def cron(text: str, zone: str = "Europe/Berlin") -> Rule:
    pattern = parse_cron(text, "unix", "")
    kind = FixedRule if pattern.is_fixed else WildcardRule
    return kind(pattern, find_zone(zone))


def rule(
    base: Rule,
    *calendars: CompiledCalendar,
    on_closed: OnClosed = "skip",
    zone: str = "Europe/Berlin",
) -> CalendarRule:
    return CalendarRule(base, calendars, on_closed, find_zone(zone))


def walk(found: Rule, first: str, last: str) -> list[str]:
    """Return the due times after one date and before another, as local times of Berlin."""
    zone = find_zone("Europe/Berlin")
    dues = []
    due = found.next_after(at(f"{first}T00:00") - 1)
    while due is not None and due < at(f"{last}T00:00"):
        dues.append(f"{instant_of(due + zone.offset_at(due)):%m-%d %H:%M}")
        due = found.next_after(due)
    return dues


def test_a_skipped_occurrence_stays_due_and_says_why_it_does_not_run() -> None:
    found = rule(cron("0 2 * * *"), closures(HOLIDAYS))
    assert walk(found, "2026-12-24", "2026-12-27") == ["12-24 02:00", "12-25 02:00", "12-26 02:00"]
    assert found.skip_reason(at("2026-12-24T02:00+01:00")) == ""
    reason = found.skip_reason(at("2026-12-25T02:00+01:00"))
    assert reason == "calendar de-holidays: Christmas Day"


def test_the_next_business_day_is_no_weekend_and_no_holiday() -> None:
    found = rule(cron("0 2 25 * *"), closures(HOLIDAYS), on_closed="next_business_day")
    assert walk(found, "2026-12-20", "2027-01-20") == ["12-25 02:00", "12-28 02:00"]
    assert found.skip_reason(at("2026-12-25T02:00+01:00")) == (
        "calendar de-holidays: Christmas Day; moved to 2026-12-28T02:00:00+01:00"
    )
    assert found.skip_reason(at("2026-12-28T02:00+01:00")) == ""


def test_the_previous_business_day_must_be_open_at_that_time() -> None:
    base = cron("0 2,14 25 * *")
    found = rule(base, closures(HOLIDAYS), on_closed="previous_business_day")
    # On the 24th it is open at two in the night, and closed at two in the afternoon.
    assert walk(found, "2026-12-20", "2027-01-20") == [
        *("12-23 14:00", "12-24 02:00"),
        *("12-25 02:00", "12-25 14:00"),
    ]
    assert found.skip_reason(at("2026-12-25T14:00+01:00")).endswith(
        "; moved to 2026-12-23T14:00:00+01:00"
    )


def test_a_weekend_by_itself_moves_nothing() -> None:
    found = rule(cron("0 2 * * *"), closures("{}"), on_closed="next_business_day")
    assert walk(found, "2026-11-28", "2026-11-30") == ["11-28 02:00", "11-29 02:00"]
    assert found.skip_reason(at("2026-11-28T02:00+01:00")) == ""


def test_a_moved_occurrence_that_meets_a_regular_one_is_due_once() -> None:
    found = rule(cron("0 2 * * *"), closures(HOLIDAYS), on_closed="next_business_day")
    assert walk(found, "2026-12-27", "2026-12-30") == ["12-27 02:00", "12-28 02:00", "12-29 02:00"]


def test_several_calendars_are_closed_when_one_is_and_open_when_all_are() -> None:
    freeze = closures("{name: freeze, exclude: [{dates: 2026-12-28/2026-12-31}]}")
    found = rule(cron("0 2 25 * *"), closures(HOLIDAYS), freeze, on_closed="next_business_day")
    assert walk(found, "2026-12-20", "2027-01-20") == ["12-25 02:00", "01-01 02:00"]
    weekend = closures("{name: gulf, weekend: fri-sat}")
    found = rule(
        cron("0 2 25 * *"), closures(HOLIDAYS), freeze, weekend, on_closed="next_business_day"
    )
    assert walk(found, "2026-12-20", "2027-01-20") == ["12-25 02:00", "01-04 02:00"]


def test_days_and_wall_times_are_those_of_the_schedule() -> None:
    cal = closures("{timezone: Asia/Tokyo, exclude: [{dates: 2026-11-25}]}")
    found = rule(cron("0 20 * * *"), cal, on_closed="next_business_day")
    # 20:00 on the 24th in Berlin is 04:00 on the 25th in Tokyo; on the 25th in Berlin, where it is
    # the 26th in Tokyo, the day is none for business, because the calendar has it closed.
    assert found.skip_reason(at("2026-11-24T20:00+01:00")).endswith(
        "moved to 2026-11-26T20:00:00+01:00"
    )


@pytest.mark.parametrize(
    ("closed", "due", "moved"),
    [
        ("2026-03-28", "2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00"),
        ("2026-10-24", "2026-10-24T02:30:00+02:00", "2026-10-25T02:30:00+02:00"),
    ],
)
def test_a_wall_time_is_met_as_a_fixed_time_job_s_is(closed: str, due: str, moved: str) -> None:
    cal = closures(
        f"{{timezone: Europe/Berlin, weekend: [], exclude: [{{dates: '{closed}', label: x}}]}}"
    )
    found = rule(InstantsRule([at(due)]), cal, on_closed="next_business_day")
    assert found.next_after(at(due)) == at(moved)
    assert found.skip_reason(at(due)) == f"calendar cal: x; moved to {moved}"


def test_nothing_is_moved_further_than_31_days() -> None:
    base = InstantsRule([at("2026-12-01T02:00+01:00")])
    near = closures("{weekend: [], exclude: [{dates: 2026-12-01/2026-12-31, label: break}]}")
    found = rule(base, near, on_closed="next_business_day")
    assert walk(found, "2026-12-01", "2027-03-01") == ["12-01 02:00", "01-01 02:00"]
    far = closures("{weekend: [], exclude: [{dates: 2026-12-01/2027-01-01, label: break}]}")
    found = rule(base, far, on_closed="next_business_day")
    assert walk(found, "2026-12-01", "2027-03-01") == ["12-01 02:00"]
    reason = found.skip_reason(at("2026-12-01T02:00+01:00"))
    assert reason == "calendar cal: break; no business day within 31 days"


@pytest.mark.parametrize("month", range(1, 13))
def test_any_move_of_31_days_is_found_in_both_directions(month: int) -> None:
    first, last = at(f"2027-{month:02}-01T12:00Z"), at(f"2027-{month:02}-01T12:00Z") + 31 * DAY_S
    days = f"{instant_of(first + DAY_S).date()}/{instant_of(last - DAY_S).date()}"
    cal = closures(
        f"{{weekend: [], exclude: [{{dates: ['{days}', '{instant_of(first).date()}']}}]}}"
    )
    found = rule(InstantsRule([first]), cal, on_closed="next_business_day", zone="UTC")
    assert (found.next_after(first), found.previous_before(last + 1)) == (last, last)
    cal = closures(
        f"{{weekend: [], exclude: [{{dates: ['{days}', '{instant_of(last).date()}']}}]}}"
    )
    found = rule(InstantsRule([last]), cal, on_closed="previous_business_day", zone="UTC")
    assert (found.next_after(first - 1), found.previous_before(last)) == (first, first)


def test_what_was_moved_past_the_last_occurrence_is_still_due() -> None:
    base = InstantsRule([at("2026-12-25T02:00+01:00")])
    moved = at("2026-12-28T02:00+01:00")
    found = rule(base, closures(HOLIDAYS), on_closed="next_business_day")
    assert found.next_after(at("2026-12-25T02:00+01:00")) == moved
    assert found.next_after(moved) is None
    assert found.previous_before(moved + 1) == moved


def test_what_was_moved_before_the_first_occurrence_is_still_due() -> None:
    base = InstantsRule([at("2026-12-25T02:00+01:00")])
    moved = at("2026-12-24T02:00+01:00")
    found = rule(base, closures(HOLIDAYS), on_closed="previous_business_day")
    assert found.next_after(at("2026-01-01T00:00")) == moved
    assert found.previous_before(at("2026-12-25T02:00+01:00")) == moved
    assert found.previous_before(moved) is None


@pytest.mark.parametrize(
    ("text", "is_dense"),
    [
        ("0 * * * *", False),
        ("0 0-22 * * *", False),
        ("0,30 0-11 * * *", False),
        ("*/30 * * * *", True),
        ("0,30 0-12 * * *", True),
        ("0,30 * 1 1 *", True),
        ("* * 29 2 *", True),
    ],
)
def test_a_job_may_be_moved_if_it_is_due_24_times_in_24_hours(text: str, *, is_dense: bool) -> None:
    for zone in ("Europe/Berlin", "Australia/Lord_Howe"):
        assert is_too_dense(cron(text, zone), at("2026-11-29T00:00")) == is_dense


def test_what_comes_to_an_end_is_not_too_dense() -> None:
    second = at("2026-11-29T00:00")
    assert not is_too_dense(InstantsRule([second + shift for shift in range(24)]), second - 1)
    assert is_too_dense(InstantsRule([second + shift for shift in range(25)]), second - 1)


@pytest.mark.parametrize("on_closed", ["next_business_day", "previous_business_day"])
def test_a_rule_that_is_too_dense_after_all_is_an_error_and_not_endless(
    on_closed: OnClosed,
) -> None:
    found = rule(cron("* * * * * *"), closures(HOLIDAYS), on_closed=on_closed)
    for question in (found.next_after, found.previous_before):
        with pytest.raises(ScheduleError, match="more than 24 times in a day"):
            question(at("2026-12-25T12:00"))


START = int(datetime(FIRST.year, FIRST.month, FIRST.day, tzinfo=UTC).timestamp())
CRONS = st.sampled_from(
    ["0 2 * * *", "30 2,14 * * 1-5", "0 0 * * *", "0 * * * *", "15 */8 * * *", "30 23 L * *"]
)
INSTANTS = st.lists(
    st.integers(-60 * DAY_S, 60 * DAY_S).map(lambda shift: START + shift), max_size=20
)
BASES = st.one_of(INSTANTS.map(InstantsRule), st.builds(cron, CRONS, zone=st.sampled_from(ZONES)))
CLOSURES = st.builds(
    Calendar,
    name=st.sampled_from(["a", "b"]),
    timezone=st.sampled_from(ZONES),
    exclude=st.lists(ITEMS, max_size=4),
    only=st.lists(st.sampled_from([Item(weekdays="mon-fri", times="00:00-20:00")]), max_size=1),
    weekend=st.sampled_from(["sat-sun", "fri-sat", "mon-thu"]),
).map(compile_calendar)
POLICIES = st.sampled_from(["skip", "next_business_day", "previous_business_day"])
FIRST_DUE, LAST_DUE = START - 20 * DAY_S, START + 20 * DAY_S


def moved(due: int, calendars: list[CompiledCalendar], on_closed: str, zone: str) -> int | None:
    """Move one occurrence in the plainest way."""
    if on_closed == "skip":
        return None
    found = find_zone(zone)
    wall = due + found.offset_at(due)
    for days in range(1, 32):
        target = wall + (days if on_closed == "next_business_day" else -days) * DAY_S
        instant = found.first_reached(target)
        if all(calendar.is_business_day(target // DAY_S) for calendar in calendars) and all(
            calendar.closed(instant) is None for calendar in calendars
        ):
            return instant
    return None


def expected(base: Rule, calendars: list[CompiledCalendar], on_closed: str, zone: str) -> list[int]:
    """Return the due times of forty days, from all occurrences that may have come to lie there."""
    dues: set[int] = set()
    due = base.next_after(FIRST_DUE - 40 * DAY_S)
    while due is not None and due < LAST_DUE + 40 * DAY_S:
        dues.add(due)
        if any(calendar.closed(due) is not None for calendar in calendars):
            target = moved(due, calendars, on_closed, zone)
            dues |= {target} if target is not None else set()
        due = base.next_after(due)
    return sorted(due for due in dues if FIRST_DUE <= due <= LAST_DUE)


@given(BASES, st.lists(CLOSURES, min_size=1, max_size=2), POLICIES, st.sampled_from(ZONES))
@settings(deadline=None)
def test_due_times_are_those_of_the_base_and_those_moved(
    base: Rule, calendars: list[CompiledCalendar], on_closed: OnClosed, zone: str
) -> None:
    found = rule(base, *calendars, on_closed=on_closed, zone=zone)
    dues = expected(base, calendars, on_closed, zone)
    forward, due = list[int](), found.next_after(FIRST_DUE - 1)
    while due is not None and due <= LAST_DUE:
        forward.append(due)
        due = found.next_after(due)
    assert forward == dues
    backward, due = list[int](), found.previous_before(LAST_DUE + 1)
    while due is not None and due >= FIRST_DUE:
        backward.append(due)
        due = found.previous_before(due)
    assert backward[::-1] == dues


@given(
    BASES,
    st.lists(CLOSURES, min_size=1, max_size=2),
    POLICIES,
    st.sampled_from(ZONES),
    st.integers(FIRST_DUE, LAST_DUE),
)
@settings(deadline=None)
def test_the_way_back_retraces_the_way_from_any_instant(
    base: Rule, calendars: list[CompiledCalendar], on_closed: OnClosed, zone: str, instant: int
) -> None:
    found = rule(base, *calendars, on_closed=on_closed, zone=zone)
    due = found.next_after(instant)
    if due is not None:
        assert due > instant
        before = found.previous_before(due)
        assert before is None or before <= instant
        assert found.next_after(due - 1) == due
        assert found.previous_before(due + 1) == due


@given(st.lists(CLOSURES, min_size=1, max_size=2), POLICIES, st.integers(FIRST_DUE, LAST_DUE))
@settings(deadline=None)
def test_a_due_time_runs_unless_a_calendar_is_closed(
    calendars: list[CompiledCalendar], on_closed: OnClosed, due: int
) -> None:
    found = rule(InstantsRule([due]), *calendars, on_closed=on_closed, zone="Europe/Berlin")
    closed = [calendar for calendar in calendars if calendar.closed(due) is not None]
    reason = found.skip_reason(due)
    assert reason.startswith(f"calendar {closed[0].name}: " if closed else "")
    assert bool(reason) == bool(closed)
    target = moved(due, calendars, on_closed, "Europe/Berlin")
    if closed and target is not None:
        assert found.skip_reason(target) == ""
        assert datetime.fromisoformat(reason.rpartition("moved to ")[2]) == instant_of(target)
    assert timedelta(days=31, hours=30) > timedelta(seconds=abs((target or due) - due))
