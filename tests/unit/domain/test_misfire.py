"""What becomes of due times that could not be claimed in time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.jobs.misfire import Misfire, split_pending

NOW = datetime(2026, 11, 29, 2, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR_LATE = [NOW - n * MINUTE for n in range(60, 1, -1)]
Policy = Literal["all", "last", "skip"]


def ran(due: list[datetime], policy: Misfire) -> list[datetime]:
    return [
        at
        for group in split_pending(due, policy, NOW)
        if group.skip_reason is None
        for at in group.due
    ]


def test_all_catches_up_everything_within_its_bounds() -> None:
    assert ran(HOUR_LATE, Misfire("all")) == HOUR_LATE
    assert ran(HOUR_LATE, Misfire("all", max_count=3)) == HOUR_LATE[-3:]
    assert ran(HOUR_LATE, Misfire("all", max_age="10m")) == HOUR_LATE[-9:]


def test_a_job_that_says_nothing_runs_the_newest_however_late_and_no_more() -> None:
    assert ran(HOUR_LATE, Misfire()) == HOUR_LATE[-1:]
    years_late = [NOW - timedelta(days=days) for days in (900, 800)]
    assert ran(years_late, Misfire()) == years_late[-1:]


def test_all_has_no_bound_of_age_unless_it_is_given() -> None:
    years_late = [NOW - timedelta(days=days) for days in (900, 800)]
    assert ran(years_late, Misfire("all")) == years_late


def test_last_runs_only_the_newest() -> None:
    assert ran(HOUR_LATE, Misfire("last")) == HOUR_LATE[-1:]


def test_last_runs_none_of_the_late_when_a_newer_one_is_on_time() -> None:
    on_time = NOW - timedelta(seconds=1)
    assert ran([*HOUR_LATE, on_time], Misfire("last")) == [on_time]


def test_skip_runs_none_that_is_late() -> None:
    assert ran(HOUR_LATE, Misfire("skip")) == []


@pytest.mark.parametrize(("late_s", "runs"), [(60, True), (61, False)])
def test_up_to_a_minute_late_is_on_time(late_s: int, runs: bool) -> None:
    due = [NOW - timedelta(seconds=late_s)]
    assert (ran(due, Misfire("skip")) == due) is runs


@pytest.mark.parametrize("policy", ["all", "last"])
@pytest.mark.parametrize(("late_s", "runs"), [(600, True), (601, False)])
def test_what_is_older_than_the_policy_allows_does_not_run(
    policy: Policy, late_s: int, runs: bool
) -> None:
    due = [NOW - timedelta(seconds=late_s)]
    assert (ran(due, Misfire(policy, max_age="10m")) == due) is runs


@pytest.mark.parametrize("policy", ["all", "last", "skip"])
def test_a_late_wake_up_is_no_misfire(policy: Policy) -> None:
    due = [NOW - timedelta(seconds=n) for n in (3, 2, 1)]
    assert ran(due, Misfire(policy, max_age="0s")) == due


@given(
    ages=st.lists(st.integers(0, 200_000), unique=True, max_size=50),
    policy=st.sampled_from(["all", "last", "skip"]),
    max_age=st.none() | st.integers(0, 200_000).map("{}s".format),
    max_count=st.integers(1, 1000),
)
def test_every_due_time_comes_back_once_and_in_order(
    ages: list[int], policy: Policy, max_age: str | None, max_count: int
) -> None:
    due = [NOW - timedelta(seconds=age) for age in sorted(ages, reverse=True)]
    verdicts = split_pending(due, Misfire(policy, max_age, max_count), NOW)
    assert [at for verdict in verdicts for at in verdict.due] == due
    assert all(group.skip_reason != other.skip_reason for group, other in pairwise(verdicts))
