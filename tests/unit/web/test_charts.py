"""Charts: where shapes stand, and what they tell."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.runs.recent import RecentRun
from matins.domain.runs.states import RunState
from matins.domain.views import DueTime
from matins.web.charts.bars import HEIGHT, WIDTH, run_bars
from matins.web.charts.columns import HEIGHT as COLUMNS_HEIGHT
from matins.web.charts.columns import columns
from matins.web.charts.gantt import WIDTH as GANTT_WIDTH
from matins.web.charts.gantt import GanttLine, gantt
from matins.web.charts.graph import Dependency, components, graph
from matins.web.charts.heat import LEVELS, heat_map

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def ran(minutes: float, took_s: float, state: RunState = RunState.SUCCEEDED) -> RecentRun:
    begin = NOON + timedelta(minutes=minutes)
    end = begin + timedelta(seconds=took_s)
    return RecentRun(UUID(int=7), begin, begin, "scheduled", state, begin, end, 1)


def test_the_newest_run_stands_at_the_right_end_and_the_longest_is_the_highest() -> None:
    bars = run_bars([ran(2, 1), ran(1, 100), ran(0, 10)], 30)
    oldest, longest, newest = bars.bars
    assert newest.x + WIDTH + 1 == bars.width
    assert (longest.height, longest.y) == (HEIGHT, 0)
    assert newest.height < oldest.height < longest.height


def test_runs_are_told_in_words_too() -> None:
    drawn = run_bars([ran(1, 1, RunState.DEAD), ran(0, 1)], 30)
    assert drawn.label == "the last 2 runs: 1 dead, 1 succeeded; newest dead"


def test_an_hour_stands_in_the_row_of_its_day_and_the_column_of_its_hour() -> None:
    drawn = heat_map(NOON, [0.0] * 11 + [4.0, 100.0])
    last_of_today, first_of_tomorrow = drawn.cells[11], drawn.cells[12]
    assert last_of_today.y < first_of_tomorrow.y
    assert first_of_tomorrow.x < drawn.cells[0].x < last_of_today.x
    assert (drawn.cells[0].level, last_of_today.level, first_of_tomorrow.level) == (0, 1, LEVELS)
    assert first_of_tomorrow.title == "Tue 2026-03-03 00:00 UTC: 100 fires"


def test_a_week_without_a_busy_hour_is_pale() -> None:
    assert {cell.level for cell in heat_map(NOON, [7.0] * 48).cells} == {2}


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200))
def test_columns_stay_in_their_picture(counts: list[float]) -> None:
    texts = [""] * len(counts)
    drawn = columns(counts, texts, texts, 720)
    for column in drawn.columns:
        assert 0 <= column.height <= COLUMNS_HEIGHT
        assert column.x + column.width <= 721
    assert any(column.is_most for column in drawn.columns) == (max(counts) > 0)


def test_runs_and_due_times_stand_on_either_side_of_now() -> None:
    due = DueTime(NOON + HOUR, NOON + HOUR, NOON + HOUR)
    late = DueTime(NOON + 30 * HOUR, NOON + 30 * HOUR, NOON + 30 * HOUR)
    line = GanttLine([ran(-60, 600)], [due, late], 60.0)
    drawn = gantt([line], NOON, NOON - 24 * HOUR, NOON + 24 * HOUR)
    [run, coming] = drawn.rows[0]
    assert run.x + run.width < drawn.now_x < coming.x < GANTT_WIDTH
    assert (run.state, coming.state) == ("succeeded", "coming")


def test_what_is_too_much_to_be_drawn_is_one_bar() -> None:
    due = [DueTime(at, at, at) for at in (NOON + HOUR, NOON + 2 * HOUR)]
    drawn = gantt([GanttLine([], due, None, 2)], NOON, NOON - HOUR, NOON + 24 * HOUR)
    *_, rest = drawn.rows[0]
    assert (rest.state, rest.x + rest.width) == ("more", GANTT_WIDTH)


def test_a_job_stands_right_of_all_that_it_follows() -> None:
    links = [Dependency("a", "b"), Dependency("b", "d"), Dependency("a", "d"), Dependency("c", "d")]
    places = {node.name: node.x for node in graph(links).nodes}
    assert all(places[link.upstream] < places[link.job] for link in links)
    assert places["b"] < places["d"]


def test_no_two_jobs_stand_at_one_place() -> None:
    links = [Dependency(f"a{number % 3}", f"b{number}") for number in range(9)]
    nodes = graph(links).nodes
    assert len({(node.x, node.y) for node in nodes}) == len(nodes)


def test_jobs_that_hang_together_are_one_graph() -> None:
    found = components([Dependency("a", "b"), Dependency("x", "y"), Dependency("b", "c")])
    assert [len(links) for links in found] == [2, 1]


@pytest.mark.parametrize("count", [0, 1, 50])
def test_bars_never_leave_their_room(count: int) -> None:
    drawn = run_bars([ran(minute, minute) for minute in range(count)], 30)
    assert len(drawn.bars) == min(count, 30)
    assert all(bar.x >= 0 and bar.x + bar.width <= drawn.width for bar in drawn.bars)
