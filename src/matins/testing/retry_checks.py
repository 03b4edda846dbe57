"""What must hold of a run that is to be tried again, by the policies of simulated jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from matins.domain.jobs.retry import Backoff
from matins.domain.runs.states import RunState
from matins.domain.values.durations import parse_duration
from matins.testing.memory.rows import RunRow
from matins.testing.memory.world import World

BACKOFF: Final = Backoff(initial="2s", max="20s")
"""How simulated jobs wait."""

ATTEMPTS: Final = 3
"""How many attempts simulated jobs allow at most."""

_LONGEST_S: Final = parse_duration(BACKOFF.max)


def watch_retries(world: World, violations: list[str]) -> None:
    """Check each run that is to be tried again from now on."""

    def changed(run: RunRow, before: RunState | None) -> None:
        if run.state is RunState.RETRYING and before is RunState.RUNNING:
            violations.extend(_faults(world, run))

    world.watchers.append(changed)


def _faults(world: World, run: RunRow) -> Iterator[str]:
    """Yield what is wrong with a run whose attempt has just ended, if it is tried again."""
    assert run.retry_at is not None
    wait_s = (run.retry_at - world.now()).total_seconds()
    if not 0 <= wait_s <= _LONGEST_S:
        yield f"run {run.id} is tried again {wait_s} s after attempt {run.attempt}"
    failures = run.attempt - run.lost_count
    if failures >= ATTEMPTS:
        yield f"run {run.id} is tried again after {failures} failures"
