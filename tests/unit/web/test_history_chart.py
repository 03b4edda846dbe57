"""The charts of a job's last runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from matins.domain.runs.recent import RecentRun
from matins.domain.runs.states import RunState
from matins.web.charts.history import HEIGHT, LEAST, STEP, durations, lags, percentile

DUE = datetime(2030, 1, 1, 2, tzinfo=UTC)


def run(index: int, took: float | None, late: float = 1.0, attempt: int = 1) -> RecentRun:
    due = DUE + timedelta(days=index)
    started = due + timedelta(seconds=late)
    ended = None if took is None else started + timedelta(seconds=took)
    state = RunState.RUNNING if took is None else RunState.SUCCEEDED
    return RecentRun(UUID(int=index), due, due, "scheduled", state, started, ended, attempt)


def test_bars_stand_oldest_first_and_the_longest_fills_the_picture() -> None:
    chart = durations([run(2, 10), run(1, 40), run(0, 20)])
    assert [mark.x for mark in chart.marks] == [0, STEP, 2 * STEP]
    assert [mark.height for mark in chart.marks] == [HEIGHT // 2, HEIGHT, HEIGHT // 4]
    assert all(mark.y + mark.height == HEIGHT for mark in chart.marks)
    assert chart.marks[0].href == f"/runs/{UUID(int=0)}"


def test_the_line_lies_where_the_95th_percentile_does() -> None:
    chart = durations([run(index, float(index)) for index in range(1, 101)])
    assert (chart.p95_s, chart.most_s) == (95.0, 100.0)
    assert chart.line == HEIGHT - 95


def test_what_has_not_ended_took_no_time_yet() -> None:
    assert durations([run(0, None)]).marks == []
    assert durations([]).label == "nothing to show yet"


def test_the_shortest_run_is_still_seen() -> None:
    chart = durations([run(1, 1000), run(0, 0.001)])
    assert chart.marks[0].height == LEAST


def test_a_later_attempt_has_no_lag() -> None:
    chart = lags([run(1, 1, late=5, attempt=2), run(0, 1, late=2)])
    assert [mark.title[-5:] for mark in chart.marks] == ["2.0 s"]


def test_percentiles_are_values_that_were_there() -> None:
    assert percentile([], 0.95) is None
    assert percentile([3.0], 0.95) == 3.0
    assert percentile([float(value) for value in range(20)], 0.95) == 18.0
