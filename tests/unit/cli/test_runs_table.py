"""The table of runs: what is told of one that is to be tried again."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from uuid import UUID

from rich.console import Console

from matins.cli.runs import runs_table
from matins.cli.showing import local
from matins.domain.runs.states import Kind, RunState
from matins.domain.views import Run

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
RETRY_AT = datetime(2026, 12, 1, 12, 0, 40, tzinfo=UTC)


def shown(state: RunState, retry_at: datetime | None) -> str:
    run = Run(
        id=UUID(int=1),
        team="payments",
        job="settle",
        kind=Kind.SCHEDULED,
        state=state,
        due_at=NOON,
        fire_at=NOON,
        attempt=1,
        reason="HTTP 503",
        retry_at=retry_at,
    )
    printer = Console(file=io.StringIO(), width=400)
    printer.print(runs_table(printer, [run]))
    assert isinstance(printer.file, io.StringIO)
    return printer.file.getvalue()


def test_a_run_that_is_to_be_tried_again_says_when_before_why() -> None:
    told = shown(RunState.RETRYING, RETRY_AT)
    assert f"next attempt {local(RETRY_AT)}; HTTP 503" in told


def test_a_run_that_is_over_names_no_next_attempt() -> None:
    assert "next attempt" not in shown(RunState.DEAD, RETRY_AT)
