"""What must be true of a team's windows whenever a run is queued."""

from __future__ import annotations

from collections.abc import Iterator

from matins.domain.runs.states import Kind, RunState
from matins.testing.memory.rows import RunRow
from matins.testing.memory.world import World


def window_faults(world: World, run: RunRow, before: RunState | None) -> Iterator[str]:
    """Yield the windows that hold a run which a scheduler queues: a retry is held by none that
    skips.
    """
    if run.kind not in (Kind.SCHEDULED, Kind.BACKFILL) or not run.epoch:
        return
    job, now = world.jobs[run.job_id], world.now()
    for window in world.rules_of(job.team_id).windows:
        holds = window.policy == "hold" or before is not RunState.RETRYING
        if holds and window.covers(job.spec.labels, now):
            yield f"run {run.id} was queued within the window {window.name}"
