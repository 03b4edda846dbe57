"""A job's own policy for gaps and overlaps: examples, and a walk over all UTC minutes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise, product

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.unit.schedules.clock_walk import ANY_CHANGE, Change, check, kinds_of_change
from tests.unit.schedules.expressions import Expression, Made, expressions

from matins.domain.schedules.cron.clock_changes import ClockChanges, Gap, Overlap, cron_rule
from matins.domain.schedules.cron.expression import parse_cron
from matins.domain.schedules.cron.rules import FixedRule, WildcardRule
from matins.domain.schedules.rules import Rule
from matins.domain.time.instants import epoch_s
from matins.domain.time.zones import find_zone

GAPS: tuple[Gap | None, ...] = (None, "run_after", "skip")
OVERLAPS: tuple[Overlap | None, ...] = (None, "first", "second", "both")
POLICIES = [ClockChanges(gap, overlap) for gap, overlap in product(GAPS, OVERLAPS)]
COMPLETE = [dst for dst in POLICIES if dst.gap and dst.overlap]
QUARTER_HOURS = Expression(
    Made("0-59/15", frozenset(range(0, 60, 15))),
    Made("0-23", frozenset(range(24))),
    Made("*", frozenset(range(1, 32))),
    Made("*", frozenset(range(1, 13))),
    Made("*", frozenset(range(8))),
)


def rule(cron: str, zone: str, policy: str) -> Rule:
    gap, overlap = policy.split("+")
    dst = msgspec.convert({"gap": gap, "overlap": overlap}, ClockChanges)
    return cron_rule(parse_cron(cron, "unix", ""), find_zone(zone), dst)


# fmt: off
EXAMPLES = [
    # Berlin, March: 02:00 to 03:00 is skipped.
    ("30 2 * * *", "Europe/Berlin", "run_after+first", "2026-03-28T12:00Z",
     "2026-03-29T03:00+02:00 2026-03-30T02:30+02:00"),
    ("30 2 * * *", "Europe/Berlin", "skip+first", "2026-03-28T12:00Z",
     "2026-03-30T02:30+02:00 2026-03-31T02:30+02:00"),
    ("*/20 2 * * *", "Europe/Berlin", "run_after+both", "2026-03-28T12:00Z",
     "2026-03-29T03:00+02:00 2026-03-30T02:00+02:00"),
    ("0 2,3 * * *", "Europe/Berlin", "run_after+both", "2026-03-28T12:00Z",
     "2026-03-29T03:00+02:00 2026-03-30T02:00+02:00"),
    ("0 2,3 * * *", "Europe/Berlin", "skip+second", "2026-03-28T12:00Z",
     "2026-03-29T03:00+02:00 2026-03-30T02:00+02:00"),
    # Berlin, October: 02:00 to 03:00 occurs twice.
    ("30 2 * * *", "Europe/Berlin", "run_after+second", "2026-10-24T12:00Z",
     "2026-10-25T02:30+01:00 2026-10-26T02:30+01:00"),
    ("30 2 * * *", "Europe/Berlin", "skip+both", "2026-10-24T12:00Z",
     "2026-10-25T02:30+02:00 2026-10-25T02:30+01:00 2026-10-26T02:30+01:00"),
    ("30 * * * *", "Europe/Berlin", "skip+first", "2026-10-24T23:45Z",
     "2026-10-25T02:30+02:00 2026-10-25T03:30+01:00"),
    ("30 * * * *", "Europe/Berlin", "run_after+second", "2026-10-24T23:45Z",
     "2026-10-25T02:30+01:00 2026-10-25T03:30+01:00"),
    # Lord Howe: half an hour, at 02:00 both times.
    ("15 2 * * *", "Australia/Lord_Howe", "run_after+both", "2026-10-03T00:00Z",
     "2026-10-04T02:30+11:00 2026-10-05T02:15+11:00"),
    ("15 2 * * *", "Australia/Lord_Howe", "skip+first", "2026-10-03T00:00Z",
     "2026-10-05T02:15+11:00 2026-10-06T02:15+11:00"),
    ("45 1 * * *", "Australia/Lord_Howe", "run_after+second", "2026-04-04T12:00Z",
     "2026-04-05T01:45+10:30 2026-04-06T01:45+10:30"),
    ("*/15 1 * * *", "Australia/Lord_Howe", "skip+first", "2026-04-04T14:15Z",
     "2026-04-05T01:30+11:00 2026-04-05T01:45+11:00 2026-04-06T01:00+10:30"),
    ("*/15 1 * * *", "Australia/Lord_Howe", "skip+second", "2026-04-04T14:15Z",
     "2026-04-05T01:30+10:30 2026-04-05T01:45+10:30 2026-04-06T01:00+10:30"),
    # Apia had no 30 December 2011.
    ("0 9 * * *", "Pacific/Apia", "run_after+second", "2011-12-29T20:00Z",
     "2011-12-31T00:00+14:00 2011-12-31T09:00+14:00"),
    ("0 9 * * *", "Pacific/Apia", "skip+first", "2011-12-29T20:00Z",
     "2011-12-31T09:00+14:00 2012-01-01T09:00+14:00"),
    ("0 9 30 12 *", "Pacific/Apia", "skip+first", "2011-01-01T00:00Z",
     "2012-12-30T09:00+14:00 2013-12-30T09:00+14:00"),
    # Dublin calls its winter the daylight saving time, with a negative offset.
    ("30 1 * * *", "Europe/Dublin", "skip+second", "2026-03-28T12:00Z",
     "2026-03-30T01:30+01:00 2026-03-31T01:30+01:00"),
    ("30 1 * * *", "Europe/Dublin", "run_after+second", "2026-10-24T12:00Z",
     "2026-10-25T01:30+00:00 2026-10-26T01:30+00:00"),
    # Casablanca sets its clocks back for Ramadan, and on again after it.
    ("30 2 * * *", "Africa/Casablanca", "run_after+both", "2026-02-14T12:00Z",
     "2026-02-15T02:30+01:00 2026-02-15T02:30+00:00 2026-02-16T02:30+00:00"),
    ("30 2 * * *", "Africa/Casablanca", "skip+second", "2026-03-21T12:00Z",
     "2026-03-23T02:30+01:00 2026-03-24T02:30+01:00"),
]
# fmt: on


@pytest.mark.parametrize(("cron", "zone", "policy", "after", "due"), EXAMPLES)
def test_example_is_due_by_its_policy(
    cron: str, zone: str, policy: str, after: str, due: str
) -> None:
    made = rule(cron, zone, policy)
    instant: int | None = epoch_s(datetime.fromisoformat(after))
    for wanted in due.split():
        assert instant is not None
        instant = made.next_after(instant)
        assert instant == epoch_s(datetime.fromisoformat(wanted))


def test_the_two_usual_policies_have_the_two_usual_rules_whatever_the_kind_of_job() -> None:
    for cron in ("30 2 * * *", "*/30 2 * * *"):
        assert isinstance(rule(cron, "Europe/Berlin", "run_after+first"), FixedRule)
        assert isinstance(rule(cron, "Europe/Berlin", "skip+both"), WildcardRule)


@pytest.mark.parametrize("dst", COMPLETE, ids=lambda dst: f"{dst.gap}+{dst.overlap}")
def test_every_kind_of_change_that_any_zone_knows_follows_the_policy(dst: ClockChanges) -> None:
    for change in kinds_of_change():
        check(QUARTER_HOURS, change.zone, change.at - timedelta(hours=4), 8 * 60, dst)


@settings(max_examples=400, deadline=None)
@given(expressions(all_months=True), ANY_CHANGE, st.sampled_from(POLICIES))
def test_any_expression_follows_the_policy(
    expression: Expression, change: Change, dst: ClockChanges
) -> None:
    check(expression, change.zone, change.at - timedelta(hours=14), 28 * 60, dst)


SPARSE = ("0 0 29 2 */7", "* 2 29 2 *", "*/30 0-3 29 2 0", "30 2 * 2 1#5", "15 2 29,30,31 3,10 7")
ZONES = ("UTC", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia")


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(SPARSE),
    st.sampled_from(ZONES),
    st.sampled_from(POLICIES),
    st.integers(-(2**35), 200_000_000_000),
)
@example("30 2 * 2 1#5", "Pacific/Apia", ClockChanges(), 10_544_995_800)  # Apia had DST until 2021
def test_sparse_due_times_rise_and_are_retraced_however_far_away(
    cron: str, zone: str, dst: ClockChanges, start: int
) -> None:
    made = cron_rule(parse_cron(cron, "unix", ""), find_zone(zone), dst)
    forwards = [start]
    for _ in range(5):
        due = made.next_after(forwards[-1])
        assert due is not None
        assert due > forwards[-1]
        forwards.append(due)
    for earlier, later in pairwise(forwards[1:]):
        assert made.previous_before(later) == earlier
    before = made.previous_before(forwards[1])
    assert before is not None
    assert before <= start
    assert made.next_after(before) == forwards[1]


def test_what_a_gap_skips_each_time_is_never_due_again_and_was_due_before_there_were_gaps() -> None:
    made = rule("30 2 29 3 */7", "Europe/Berlin", "skip+both")
    policy = rule("30 2 29 3 */7", "Europe/Berlin", "skip+first")
    last = epoch_s(datetime.fromisoformat("1970-03-29T02:30:00+01:00"))
    for compiled in (made, policy):
        assert compiled.previous_before(epoch_s(datetime(2026, 1, 1, tzinfo=UTC))) == last
        assert compiled.previous_before(epoch_s(datetime(9000, 1, 1, tzinfo=UTC))) == last
        assert compiled.next_after(last) is None
        assert compiled.next_after(epoch_s(datetime(9000, 1, 1, tzinfo=UTC))) is None


@pytest.mark.parametrize("dst", POLICIES, ids=lambda dst: f"{dst.gap}+{dst.overlap}")
def test_after_the_last_year_and_before_the_first_nothing_is_due(dst: ClockChanges) -> None:
    pattern = parse_cron("0 30 23 17 2 ? 2018", "quartz", "")
    made = cron_rule(pattern, find_zone("America/Sao_Paulo"), dst)
    passes = [
        epoch_s(datetime.fromisoformat(f"2018-02-17T23:30:00{offset}"))
        for offset in ("-02:00", "-03:00")
    ]
    overlap = dst.overlap or "first"
    wanted = {"first": passes[:1], "second": passes[1:], "both": passes}[overlap]
    found, due = [], made.next_after(0)
    while due is not None:
        found.append(due)
        due = made.next_after(due)
    assert found == wanted
    assert made.previous_before(wanted[0]) is None
    assert made.previous_before(wanted[-1] + 1) == wanted[-1]
    assert made.next_after(200_000_000_000) is None
