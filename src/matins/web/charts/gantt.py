"""Runs of jobs on a time line: what ran, what runs, and what is due."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from matins.domain.runs.recent import RecentRun
from matins.domain.views import DueTime
from matins.web.wording import length, run_path

WIDTH: Final = 880
ROW: Final = 26
LEAST: Final = 3.0
"""How wide the bar is of a run that took no time."""

_BAR = 14


class GanttBar(NamedTuple):
    """A run's bar in a row; a due time that is to come has no address."""

    x: float
    width: float
    state: str
    href: str
    title: str


class Tick(NamedTuple):
    """A line at an instant."""

    x: float
    text: str


class Gantt(NamedTuple):
    """The rows of jobs under one axis; `now_x` is where the present is."""

    width: int
    row: int
    bar: int
    ticks: list[Tick]
    now_x: float
    rows: list[list[GanttBar]]


class GanttLine(NamedTuple):
    """What is drawn of a job: its runs, and what it is due; `usual_s` is how long it takes.

    `most`: so many of each were asked for, and there may be more.
    """

    runs: Sequence[RecentRun]
    coming: Sequence[DueTime]
    usual_s: float | None = None
    most: int = 0


def gantt(lines: Sequence[GanttLine], now: datetime, since: datetime, until: datetime) -> Gantt:
    """Draw jobs between two instants."""
    axis = _Axis(since, until)
    first = since.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    hours = [first + timedelta(hours=hour) for hour in range(int((until - first) / _HOUR) + 1)]
    ticks = [Tick(axis.x(hour), f"{hour:%H:%M}") for hour in hours if hour.hour % 4 == 0]
    rows = [_ran(line, axis, now) + _due(line, axis, now) for line in lines]
    return Gantt(WIDTH, ROW, _BAR, ticks, axis.x(now), rows)


_HOUR = timedelta(hours=1)


class _Axis(NamedTuple):
    since: datetime
    until: datetime

    def x(self, at: datetime) -> float:
        share = (at - self.since) / (self.until - self.since)
        return round(min(max(share, 0.0), 1.0) * WIDTH, 1)


def _ran(line: GanttLine, axis: _Axis, now: datetime) -> list[GanttBar]:
    spans = []
    for run in line.runs:
        begin = run.started_at or run.due_at
        end = run.finished_at or (now if run.started_at else begin)
        if end < axis.since or begin > axis.until:
            continue
        x = axis.x(begin)
        took = f", {length(run.took_s)}" if run.took_s is not None else ""
        title = f"{run.due_at:%a %H:%M:%S} UTC {run.state}{took}"
        width = max(LEAST, axis.x(end) - x)
        spans.append(GanttBar(x, round(width, 1), run.state, run_path(run.id), title))
    if line.runs and len(line.runs) == line.most and line.runs[-1].due_at > axis.since:
        spans.append(_more(0.0, axis.x(line.runs[-1].due_at), "earlier runs"))
    return spans


def _due(line: GanttLine, axis: _Axis, now: datetime) -> list[GanttBar]:
    spans = []
    for due in line.coming:
        if not now < due.fire_at <= axis.until:
            continue
        x = axis.x(due.fire_at)
        end = axis.x(due.fire_at + timedelta(seconds=line.usual_s or 0.0))
        what = due.skipped or due.held
        title = f"{due.utc:%a %H:%M:%S} UTC {'skipped: ' if due.skipped else ''}{what or 'due'}"
        state = "skipped" if due.skipped else "coming"
        spans.append(GanttBar(x, round(max(LEAST, end - x), 1), state, "", title))
    if line.coming and len(line.coming) == line.most and line.coming[-1].fire_at < axis.until:
        spans.append(_more(axis.x(line.coming[-1].fire_at), float(WIDTH), "further due times"))
    return spans


def _more(begin: float, end: float, what: str) -> GanttBar:
    """Draw what is too much to be drawn one by one."""
    return GanttBar(begin, round(end - begin, 1), "more", "", f"{what}, too many to be drawn")
