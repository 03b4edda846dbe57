"""How long a job's runs usually take."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.runs.recent import RecentRun, RecentRuns, usual_s
from matins.domain.runs.states import Kind, RunState

BEGAN = datetime(2026, 3, 2, 2, tzinfo=UTC)


def ran(seconds: float | None, state: RunState = RunState.SUCCEEDED) -> RecentRun:
    """Return a run that took so long."""
    ended = None if seconds is None else BEGAN + timedelta(seconds=seconds)
    return RecentRun(UUID(int=1), BEGAN, BEGAN, Kind.SCHEDULED, state, BEGAN, ended)


@pytest.mark.parametrize(
    ("count", "usual"), [(0, None), (1, 1), (19, 19), (20, 19), (30, 29), (40, 38)]
)
def test_ninety_five_of_a_hundred_take_no_longer(count: int, usual: float | None) -> None:
    assert usual_s([ran(seconds) for seconds in range(count, 0, -1)]) == usual


@given(st.lists(st.integers(0, 99), min_size=1, max_size=30))
def test_at_most_one_in_twenty_takes_longer(seconds: list[int]) -> None:
    usual = usual_s([ran(second) for second in seconds])
    assert usual in seconds
    assert sum(second > usual for second in seconds) * 20 <= len(seconds)


def test_only_what_succeeded_counts() -> None:
    runs = [ran(9, RunState.DEAD), ran(None, RunState.RUNNING), ran(2), ran(None)]
    assert RecentRuns.of(runs) == RecentRuns(runs, 2)
