"""Recurrence rules compared with python-dateutil, where its own faults don't bite.

They do for a WEEKLY rule with BYSETPOS that starts in the middle of a week
(dateutil/dateutil#1398), for weeks around New Year (#1537), and for BYDAY with and without numbers
in one list. Time zones are no concern of its rules: the standard library stands for those.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.schedules.clock_walk import Change, all_changes
from tests.unit.schedules.recurrence_texts import (
    POSITIONS,
    STARTS,
    WEEKDAYS,
    Made,
    coarse,
    fine,
    first_pass,
    maybe,
    numbers,
    some,
)

from matins.domain.schedules.rrule.recurrences import read_recurrence
from matins.domain.schedules.rules import Rule
from matins.domain.time.instants import epoch_s
from matins.domain.time.zones import find_zone

UTC_ZONE = find_zone("UTC")
YEAR_S = 366 * 86_400
COUNT = maybe("COUNT", numbers(1, 5))
POSITIONED = coarse(POSITIONS, COUNT, times=st.just("BYHOUR=6,18"), weekly=False)
NEAR_CHANGES = st.deferred(
    lambda: st.sampled_from([change for change in all_changes() if change.zone != "America/Nuuk"])
)


def walk(rule: Rule, end: datetime, most: int) -> list[datetime]:
    """Return the first due times before an end, and hold that the way back is the same."""
    found: list[int] = []
    due = rule.next_after(-(10**10))
    while due is not None and len(found) < most and due < epoch_s(end):
        found.append(due)
        due = rule.next_after(due)
    assert found == sorted(set(found))
    back: list[int] = []
    due = rule.previous_before(found[-1] + 1) if found else None
    while due is not None:
        back.append(due)
        due = rule.previous_before(due)
    assert back[::-1] == found
    return [datetime.fromtimestamp(due, UTC) for due in found]


def compare_in_utc(made: Made) -> None:
    rule = read_recurrence(made.text("UTC"), UTC_ZONE, 0)
    walls = [wall.replace(tzinfo=UTC) for wall in made.walls()]
    assert walk(rule, made.end.replace(tzinfo=UTC), 6) == walls


@settings(max_examples=300, deadline=None)
@given(st.builds(Made, coarse(COUNT), STARTS))
def test_rules_by_day_agree(made: Made) -> None:
    compare_in_utc(made)


@settings(max_examples=150, deadline=None)
@given(st.builds(Made, POSITIONED, STARTS))
def test_positions_within_a_period_agree(made: Made) -> None:
    compare_in_utc(made)


@settings(max_examples=100, deadline=None)
@given(st.builds(Made, fine(COUNT), STARTS))
def test_rules_by_the_hour_and_finer_agree(made: Made) -> None:
    compare_in_utc(made)


@settings(max_examples=50, deadline=None)
@given(some(WEEKDAYS, 5), st.sampled_from(WEEKDAYS), numbers(1, 5), POSITIONS, STARTS)
def test_positions_within_a_week_agree(
    days: str, first: str, interval: str, positions: str, start: datetime
) -> None:
    rule = f"FREQ=WEEKLY;INTERVAL={interval};BYDAY={days};WKST={first};{positions}"
    within = (start.weekday() - WEEKDAYS.index(first)) % 7
    compare_in_utc(Made(rule, start - timedelta(days=within)))


@settings(max_examples=50, deadline=None)
@given(st.builds(Made, coarse(), STARTS), st.integers(0, YEAR_S))
def test_an_end_agrees(made: Made, length: int) -> None:
    until = made.start + timedelta(seconds=length)
    compare_in_utc(Made(f"{made.rule};UNTIL={until:%Y%m%dT%H%M%S}", made.start))


@settings(max_examples=200, deadline=None)
@given(coarse(), NEAR_CHANGES, st.integers(0, 30 * 24 * 60), st.none() | st.integers(1, 5))
def test_in_any_zone_skipped_times_are_left_out_and_not_counted(
    rule: str, change: Change, minutes: int, count: int | None
) -> None:
    made = Made(rule, change.at.replace(tzinfo=None) - timedelta(minutes=minutes))
    if first_pass(made.start, change.zone) is None:
        return
    ended = f"{rule};COUNT={count}" if count else rule
    found = read_recurrence(Made(ended, made.start).text(change.zone), UTC_ZONE, 0)
    passes = [first_pass(wall, change.zone) for wall in made.walls(40)]
    wanted = [instant for instant in passes if instant is not None][: count or 20]
    end = made.end.replace(tzinfo=UTC) - timedelta(days=1)
    assert walk(found, end, len(wanted) or 1) == [due for due in wanted if due < end]
