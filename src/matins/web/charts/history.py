"""The last runs of a job one beside the other: how long each took, or how late it started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from matins.domain.runs.recent import RecentRun
from matins.web.charts.bars import Bar
from matins.web.wording import length, run_path

HEIGHT: Final = 100
STEP: Final = 10
WIDTH: Final = 8
LEAST: Final = 2


class RunHistory(NamedTuple):
    """Bars of runs, oldest first, that fill a picture of any size.

    `line` is where the 95th percentile lies, if there is one. `label` tells all of it in words.
    """

    width: int
    height: int
    marks: list[Bar]
    line: int | None
    most_s: float | None
    p95_s: float | None
    label: str


def durations(runs: Sequence[RecentRun]) -> RunHistory:
    """Draw how long runs took, given newest first."""
    return _history(runs, lambda run: run.took_s, "took")


def lags(runs: Sequence[RecentRun]) -> RunHistory:
    """Draw how long after its due time each run started; of a later attempt that is not known."""
    return _history(runs, lag_s, "started late by")


def lag_s(run: RecentRun) -> float | None:
    """Return how long after its due time a run started, if that was its first attempt."""
    if run.started_at is None or run.attempt > 1:
        return None
    return max(0.0, (run.started_at - run.due_at).total_seconds())


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the value below which that share of the values lies (the nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, -(-round(len(ordered) * share * 100) // 100) - 1)] if ordered else None


def _history(
    runs: Sequence[RecentRun], measured: Callable[[RecentRun], float | None], verb: str
) -> RunHistory:
    shown = [(run, value) for run in reversed(runs) if (value := measured(run)) is not None]
    values = [value for _, value in shown]
    most, p95 = max(values, default=None), percentile(values, 0.95)
    top = most or 1.0
    marks = [_mark(index, run, value, top, verb) for index, (run, value) in enumerate(shown)]
    line = None if p95 is None else HEIGHT - round(p95 / top * HEIGHT)
    label = "nothing to show yet"
    if most is not None and p95 is not None:
        label = f"{len(shown)} runs, oldest first; p95 {length(p95)}, at most {length(most)}"
    return RunHistory(max(len(marks), 1) * STEP, HEIGHT, marks, line, most, p95, label)


def _mark(index: int, run: RecentRun, value: float, top: float, verb: str) -> Bar:
    height = max(LEAST, round(value / top * HEIGHT))
    title = f"{run.due_at:%Y-%m-%d %H:%M:%S} UTC {run.state}, {verb} {length(value)}"
    return Bar(
        index * STEP, HEIGHT - height, WIDTH, height, run.state.value, run_path(run.id), title
    )
