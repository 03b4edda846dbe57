"""Runs as marks, one a run: how the last ones went, at a glance."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from matins.cli.tables import state
from matins.domain.runs.recent import RecentRun
from matins.domain.runs.states import RunState

_MARKS = {
    RunState.SUCCEEDED: ("●", "S"),
    RunState.DEAD: ("✗", "D"),
    RunState.RETRYING: ("↻", "T"),
    RunState.RUNNING: ("▶", "R"),
    RunState.QUEUED: ("○", "Q"),
    RunState.WAITING: ("◌", "W"),
    RunState.CANCELLED: ("⊘", "C"),
    RunState.SKIPPED: ("-", "-"),
}
"""By state: the mark on a terminal that shows colours, and the letter everywhere else."""

LEGEND = ", ".join(f"{mark} or {letter} {name}" for name, (mark, letter) in _MARKS.items())
"""What the marks say."""


def marks(printer: Console, runs: Sequence[RecentRun]) -> Text:
    """Return a mark for each of the runs, which are given newest first: the newest is the last."""
    is_plain = not printer.is_terminal or printer.no_color or not _shows_marks(printer)
    line = Text()
    for run in reversed(runs):
        line += state(run.state, _MARKS[run.state][is_plain])
    return line


def _shows_marks(printer: Console) -> bool:
    return printer.encoding.lower().startswith("utf")
