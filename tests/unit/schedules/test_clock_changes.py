"""Clock changes, compared with a walk over all UTC minutes that knows nothing but the policy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib import resources
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.schedules.expressions import Expression, Made, expressions

from matins.domain.errors import ScheduleError
from matins.domain.schedules.instants import epoch_s
from matins.domain.schedules.schedule import Schedule, compile_schedule
from matins.domain.schedules.timetable import Timetable
from matins.domain.schedules.zones import find_zone, zone_names

ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
    "America/Sao_Paulo",
    "Europe/Dublin",
    "Pacific/Apia",
    "Antarctica/Troll",
    "America/Nuuk",
    "Asia/Pyongyang",
    "America/Caracas",
)
MINUTE = timedelta(minutes=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FROM, TO = epoch_s(datetime(1990, 1, 1, tzinfo=UTC)), epoch_s(datetime(2040, 1, 1, tzinfo=UTC))


def changes(zone: str) -> list[datetime]:
    """Give the instants from 1990 to 2040 at which a zone's clocks change."""
    starts = find_zone(zone).starts
    return [EPOCH + timedelta(seconds=start) for start in starts if FROM <= start < TO]


@lru_cache(maxsize=64)
def walls(zone: str, start: datetime, minutes: int) -> list[tuple[datetime, datetime]]:
    """Give each UTC minute of a window with the wall time at it, by the standard library."""
    with resources.files("tzdata.zoneinfo").joinpath(*zone.split("/")).open("rb") as file:
        info = ZoneInfo.from_file(file)
    instants = [start + number * MINUTE for number in range(minutes)]
    return [(at, info.fromutc(at.replace(tzinfo=info)).replace(tzinfo=None)) for at in instants]


def walk(expression: Expression, zone: str, start: datetime, minutes: int) -> list[datetime]:
    """Give the due times in a window by the policy's own words."""
    due = []
    highest = walls(zone, start, minutes)[0][1] - MINUTE
    for instant, wall in walls(zone, start, minutes):
        if not expression.is_fixed:
            if expression.matches(wall):
                due.append(instant)
            continue
        missed = []
        while highest < wall:
            highest += MINUTE
            missed.append(highest)
        if any(expression.matches(one) for one in missed):
            due.append(instant)
    return due


def timetable(expression: str, zone: str) -> Timetable:
    return compile_schedule(Schedule(cron=expression, timezone=zone), seed="", anchor=EPOCH)


def check(expression: Expression, zone: str, start: datetime, minutes: int) -> None:
    """Compare the window's due times, in both directions, with the walk's."""
    wanted = walk(expression, zone, start, minutes)
    table = timetable(expression.text, zone)
    end = start + (minutes - 1) * MINUTE
    assert table.due_between(start - MINUTE, end, minutes) == wanted
    for instant in (start + number * 13 * MINUTE for number in range(minutes // 13)):
        later = [due for due in wanted if due > instant]
        if later:
            assert table.next_after(instant) == later[0]
        earlier = [due for due in wanted if due < instant]
        if earlier:
            assert table.previous_before(instant) == earlier[-1]
    backwards, due = [], table.previous_before(end + MINUTE)
    while due is not None and due >= start:
        backwards.append(due)
        due = table.previous_before(due)
    assert backwards[::-1] == wanted


def on(minute: str, hour: str, minutes: range | list[int], hours: range | list[int]) -> Expression:
    return Expression(
        Made(minute, frozenset(minutes)),
        Made(hour, frozenset(hours)),
        Made("*", frozenset(range(1, 32))),
        Made("*", frozenset(range(1, 13))),
        Made("*", frozenset(range(8))),
    )


COMMON = (
    on("*/15", "*", range(0, 60, 15), range(24)),
    on("0", "*/2", [0], range(0, 24, 2)),
    on("0,30", "0-23", [0, 30], range(24)),
    on("30", "0,1,2,3,23", [30], [0, 1, 2, 3, 23]),
)


@pytest.mark.parametrize("zone", ZONES)
def test_each_change_of_a_zone_is_handled_as_the_policy_says(zone: str) -> None:
    for change in changes(zone):
        for expression in COMMON:
            check(expression, zone, change - 5 * 60 * MINUTE, 10 * 60)


def test_each_zone_is_handled_as_the_policy_says_at_its_last_change() -> None:
    for zone in sorted(zone_names()):
        for change in changes(zone)[-1:]:
            for expression in COMMON[:2]:
                check(expression, zone, change - 4 * 60 * MINUTE, 8 * 60)


@settings(max_examples=120, deadline=None)
@given(expressions(all_months=True), st.sampled_from(ZONES), st.data())
def test_any_expression_is_due_as_the_policy_says(
    expression: Expression, zone: str, data: st.DataObject
) -> None:
    change = data.draw(st.sampled_from(changes(zone)))
    check(expression, zone, change - timedelta(days=1), 2 * 24 * 60)


@settings(max_examples=300, deadline=None)
@given(
    expressions(),
    st.sampled_from(ZONES),
    st.integers(-(2**29), 26_000_000_000).map(lambda second: EPOCH + timedelta(seconds=second)),
)
def test_due_times_rise_and_the_way_back_retraces_them(
    expression: Expression, zone: str, start: datetime
) -> None:
    try:
        table = timetable(expression.text, zone)
    except ScheduleError:  # such as 31 February
        return
    forwards = table.due_between(start, datetime.max.replace(tzinfo=UTC), 8)
    assert len(forwards) == 8
    assert forwards == sorted(set(forwards))
    assert forwards[0] > start
    backwards = [forwards[-1]]
    while len(backwards) < 8:
        earlier = table.previous_before(backwards[-1])
        assert earlier is not None
        backwards.append(earlier)
    assert backwards[::-1] == forwards
    before = table.previous_before(forwards[0])
    assert before is not None
    assert before <= start
    assert table.next_after(before) == forwards[0]
