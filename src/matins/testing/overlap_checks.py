"""What must be true of the other runs of a job whenever one is admitted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from matins.domain.runs.admission.overlap import REPLACED_WITHIN
from matins.domain.runs.states import Kind, RunState
from matins.testing.memory.rows import RunRow
from matins.testing.memory.world import World


def overlap_faults(
    world: World, run: RunRow, unfinished: Iterable[RunRow], *, is_timed: bool
) -> Iterator[str]:
    """Yield beside which runs of its job one was admitted, though neither its owner nor its policy
    allows it.

    One that is replaced is waited for within bounds, which mean nothing if not `is_timed`.
    """
    policy, now = world.jobs[run.job_id].spec.overlapping.policy, world.now()
    if policy == "allow" or run.allow_overlap or (run.attempt and not run.awaits_replay):
        return
    for other in unfinished:
        is_apart = other.state in (RunState.WAITING, RunState.RETRYING)
        is_waiting = is_apart and (not other.attempt or other.awaits_replay)
        are_backfills = run.kind is other.kind is Kind.BACKFILL
        if other.id == run.id or is_waiting or are_backfills:
            continue
        is_replaced = policy == "replace" and other.cancel_at is not None
        if is_replaced and (not is_timed or now >= (other.cancel_at or now) + REPLACED_WITHIN):
            continue
        yield f"run {run.id} was admitted beside run {other.id} of its job"


def overlap_paths(run: RunRow) -> Iterator[str]:
    """Yield what overlap has made of a run that has just changed."""
    if run.reason.startswith("overlap:"):
        yield f"overlap: {run.state}"
        if run.awaits_replay:
            yield "replay waits for another run"
