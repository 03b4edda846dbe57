"""The last runs of a job as marks: coloured on a terminal that can show them, letters elsewhere."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from uuid import UUID

import pytest
from rich.console import Console

from matins.cli.marks import LEGEND, marks
from matins.domain.runs.recent import RecentRun
from matins.domain.runs.states import RunState

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
NEWEST_FIRST = [RunState.RUNNING, RunState.SKIPPED, RunState.DEAD, RunState.SUCCEEDED]


def printed(
    states: list[RunState], encoding: str = "utf-8", *, terminal: bool, colours: bool = False
) -> str:
    runs = [RecentRun(UUID(int=1), NOON, NOON, "scheduled", state) for state in states]
    printer = Console(
        file=io.TextIOWrapper(io.BytesIO(), encoding=encoding),
        width=80,
        force_terminal=terminal,
        color_system="standard",
        no_color=not colours,
    )
    with printer.capture() as capture:
        printer.print(marks(printer, runs))
    return capture.get().strip()


def test_a_terminal_shows_marks_in_their_colours_the_newest_at_the_right() -> None:
    shown = printed(NEWEST_FIRST, terminal=True, colours=True)
    assert shown == "\x1b[32m●\x1b[0m\x1b[1;31m✗\x1b[0m\x1b[90m-\x1b[0m\x1b[34m▶\x1b[0m"


@pytest.mark.parametrize(
    ("encoding", "terminal", "colours"),
    [("utf-8", False, True), ("utf-8", True, False), ("latin-1", True, True)],
)
def test_letters_stand_where_there_are_no_colours_or_no_marks(
    encoding: str, terminal: bool, colours: bool
) -> None:
    shown = printed(NEWEST_FIRST, encoding, terminal=terminal, colours=colours)
    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == "SD-R"


def test_every_state_has_a_mark_and_a_letter_of_its_own() -> None:
    for terminal in (True, False):
        shown = [printed([state], terminal=terminal, colours=True) for state in RunState]
        assert len(set(shown)) == len(RunState)
    assert all(state in LEGEND for state in RunState)
