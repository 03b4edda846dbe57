"""Clock changes without a policy of the job's own, compared with a walk over all UTC minutes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.schedules.clock_walk import (
    ANY_CHANGE,
    EPOCH,
    MINUTE,
    Change,
    changes,
    check,
    kinds_of_change,
)
from tests.unit.schedules.expressions import Expression, Made, expressions

from matins.domain.schedules.cron.clock_changes import ClockChanges, cron_rule
from matins.domain.schedules.cron.expression import parse_cron
from matins.domain.time.civil import ERA_S
from matins.domain.time.instants import epoch_s
from matins.domain.time.zones import find_zone, zone_names
from matins.domain.values.errors import ScheduleError

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
    for change in changes(zone)[-24:]:
        for expression in COMMON:
            check(expression, zone, change - 5 * 60 * MINUTE, 10 * 60)


def test_every_kind_of_change_that_any_zone_knows_is_handled_as_the_policy_says() -> None:
    """TM-01, TM-02."""
    lengths = set()
    for change in kinds_of_change():
        zone, at = find_zone(change.zone), epoch_s(change.at)
        lengths.add((zone.offset_at(at) - zone.offset_at(at - 1)) // 60)
        for expression in COMMON:
            check(expression, change.zone, change.at - 4 * 60 * MINUTE, 8 * 60)
    assert {30, -30, 60, -60, 1440} <= lengths


@settings(max_examples=300, deadline=None)
@given(expressions(all_months=True), ANY_CHANGE)
def test_any_expression_is_due_as_the_policy_says(expression: Expression, change: Change) -> None:
    check(expression, change.zone, change.at - timedelta(hours=14), 28 * 60)


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
        pattern = parse_cron(expression.text, "unix", "")
    except ScheduleError:  # such as 31 February
        return
    rule = cron_rule(pattern, find_zone(zone), None)
    forwards = [epoch_s(start)]
    for _ in range(8):
        due = rule.next_after(forwards[-1])
        assert due is not None
        assert due > forwards[-1]
        forwards.append(due)
    backwards = [forwards[-1]]
    while len(backwards) < 8:
        earlier = rule.previous_before(backwards[-1])
        assert earlier is not None
        backwards.append(earlier)
    assert backwards[::-1] == forwards[1:]
    before = rule.previous_before(forwards[1])
    assert before is not None
    assert before <= forwards[0]
    assert rule.next_after(before) == forwards[1]


def test_each_zone_repeats_itself_after_400_years_from_2100_on() -> None:
    first, century = epoch_s(datetime(2100, 1, 1, tzinfo=UTC)), ERA_S // 4
    for name in zone_names():
        zone = find_zone(name)
        changes = [start - first for start in zone.starts]
        later = [change - ERA_S for change in changes if ERA_S <= change < ERA_S + century]
        assert [change for change in changes if 0 <= change < century] == later


@settings(max_examples=300, deadline=None)
@given(
    expressions(),
    st.sampled_from((*ZONES, "UTC")),
    st.sampled_from([None, ClockChanges("skip", "second"), ClockChanges("run_after", "both")]),
    st.integers(4_500_000_000, 17_500_000_000),  # from 2112 to 2524
)
def test_due_times_repeat_every_400_years(
    expression: Expression, zone: str, dst: ClockChanges | None, instant: int
) -> None:
    try:
        pattern = parse_cron(expression.text, "unix", "")
    except ScheduleError:  # such as 31 February
        return
    rule = cron_rule(pattern, find_zone(zone), dst)
    for _ in range(3):
        due, later = rule.next_after(instant), rule.next_after(instant + ERA_S)
        assert due is not None
        assert later == due + ERA_S
        before = rule.previous_before(instant)
        assert before is not None
        if before > 4_200_000_000:
            assert rule.previous_before(instant + ERA_S) == before + ERA_S
        instant = due


def test_the_second_pass_counts_too_when_no_year_is_left() -> None:
    pattern = parse_cron("0 * 23 17 2 ? 2018", "quartz", "")
    rule = cron_rule(pattern, find_zone("America/Sao_Paulo"), None)
    first_pass_ends = epoch_s(datetime.fromisoformat("2018-02-17T23:59:00-02:00"))
    second_pass_starts = epoch_s(datetime.fromisoformat("2018-02-17T23:00:00-03:00"))
    assert rule.next_after(first_pass_ends) == second_pass_starts
    assert rule.previous_before(second_pass_starts) == first_pass_ends
