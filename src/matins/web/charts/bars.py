"""The last runs of a job as bars: colour is the result, height the duration."""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p
from typing import Final, NamedTuple

from matins.domain.runs.recent import RecentRun
from matins.web.wording import length, run_path

WIDTH: Final = 5
GAP: Final = 1
HEIGHT: Final = 24
LEAST: Final = 4
"""How high the bar is of a run that took no time, or did not run."""


class Bar(NamedTuple):
    """A run's bar, in units of its picture from the upper left; `title` is told on hovering.

    Of all these only the title may have words of an owner.
    """

    x: int
    y: int
    width: int
    height: int
    state: str
    href: str
    title: str


class Bars(NamedTuple):
    """All bars; `label` tells them in words."""

    width: int
    height: int
    bars: list[Bar]
    label: str


def run_bars(runs: Sequence[RecentRun], room: int) -> Bars:
    """Draw runs, given newest first, with the newest at the right end of the room for so many.

    Heights are logarithmic, so that one very long run does not flatten the others.
    """
    shown = list(reversed(runs[:room]))
    longest = max((run.took_s or 0.0 for run in shown), default=0.0)
    start = (room - len(shown)) * (WIDTH + GAP)
    bars = [_bar(run, start + index * (WIDTH + GAP), longest) for index, run in enumerate(shown)]
    return Bars(room * (WIDTH + GAP), HEIGHT, bars, _label(runs[:room]))


def _bar(run: RecentRun, x: int, longest: float) -> Bar:
    share = log1p(run.took_s or 0.0) / log1p(longest) if longest else 0.0
    height = LEAST + round(share * (HEIGHT - LEAST))
    took = f", {length(run.took_s)}" if run.took_s is not None else ""
    why = f": {run.reason}" if run.reason else ""
    title = f"{run.due_at:%Y-%m-%d %H:%M:%S} UTC {run.state}{took}{why}"
    return Bar(x, HEIGHT - height, WIDTH, height, run.state, run_path(run.id), title)


def _label(runs: Sequence[RecentRun]) -> str:
    if not runs:
        return "no runs yet"
    counts: dict[str, int] = {}
    for run in runs:
        counts[run.state] = counts.get(run.state, 0) + 1
    told = ", ".join(f"{number} {state}" for state, number in counts.items())
    return f"the last {len(runs)} runs: {told}; newest {runs[0].state}"
