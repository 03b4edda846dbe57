"""Cron expressions compared with cronsim, where its own faults don't bite.

They do when it is asked within the second pass of an overlap, for `10-10/5` and `SAT-SUN`, when it
steps over a gap of half an hour (`* 3 */3 * 0L` on Lord Howe starts at 03:30), and at changes
around midnight (`* 0 * * *` is due at 01:00 when clocks skip from 00:00 to it).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice

from cronsim import CronSim, CronSimError
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.unit.schedules.clock_walk import Change, all_changes, zone_info
from tests.unit.schedules.expressions import Expression, Made, expressions

from matins.domain.schedules.schedule import Schedule
from matins.domain.time.instants import epoch_s
from matins.domain.time.zones import find_zone
from matins.domain.timetables.compiling import compile_schedule
from matins.domain.values.errors import ScheduleError

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata")
NO_VALUES = frozenset[int]()
SPECIAL_DAYS = st.sampled_from(["L", "LW", "15,L", "1,L", "31", "29-31"])
SPECIAL_WEEKDAYS = st.sampled_from(["5L", "0L", "7L", "1#1", "3#5", "0#2,0#4", "1,5#2", "MON-FRI"])


def compare(text: str, zone: str, start: datetime) -> None:
    local = start.astimezone(zone_info(zone))
    assume(local.fold == 0)
    schedule = Schedule(cron=text, timezone=zone)
    try:
        theirs = [due.astimezone(UTC) for due in islice(CronSim(text, local), 6)]
    except CronSimError:
        theirs = []
    try:
        ours = compile_schedule(schedule, seed="", anchor=start).due_between(
            start, datetime.max.replace(tzinfo=UTC), 6
        )
    except ScheduleError:
        ours = []
    assert ours[: len(theirs)] == theirs
    assert bool(ours) == bool(theirs)


def is_by_an_hour(change: Change) -> bool:
    """Return whether clocks change by one hour, and well after midnight."""
    zone, at = find_zone(change.zone), epoch_s(change.at)
    before, after = zone.offset_at(at - 1), zone.offset_at(at)
    return abs(after - before) == 3600 and (at + before) % 86_400 in range(7_200, 18_000)


BY_AN_HOUR = st.deferred(lambda: st.sampled_from(list(filter(is_by_an_hour, all_changes()))))
STARTS = st.integers(946_684_800, 2_114_380_800).map(lambda s: datetime.fromtimestamp(s, UTC))


@settings(max_examples=300, deadline=None)
@given(expressions(), st.sampled_from(ZONES), STARTS)
def test_plain_expressions_agree(expression: Expression, zone: str, start: datetime) -> None:
    """TM-18."""
    compare(expression.text, zone, start)


@settings(max_examples=150, deadline=None)
@given(expressions(), SPECIAL_DAYS, st.sampled_from(ZONES), STARTS)
def test_special_days_agree(made: Expression, day: str, zone: str, start: datetime) -> None:
    """TM-18."""
    hours = Made(f"{start.hour}", NO_VALUES)
    text = f"{made.minute.text} {hours.text} {day} {made.month.text} *"
    compare(text, zone, start)


@settings(max_examples=150, deadline=None)
@given(expressions(), SPECIAL_WEEKDAYS, st.sampled_from(ZONES), STARTS)
def test_special_weekdays_agree(made: Expression, weekday: str, zone: str, start: datetime) -> None:
    text = f"{made.minute.text} {start.hour} {made.day.text} {made.month.text} {weekday}"
    compare(text, zone, start)


@settings(max_examples=300, deadline=None)
@given(expressions(all_months=True), BY_AN_HOUR, st.integers(1, 48))
def test_expressions_agree_at_changes_of_an_hour(
    made: Expression, change: Change, hours: int
) -> None:
    compare(made.text, change.zone, change.at - timedelta(hours=hours))
