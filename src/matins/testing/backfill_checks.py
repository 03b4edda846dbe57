"""What must hold of backfills in a simulation: at every step, and at its end."""

from __future__ import annotations

from collections.abc import Iterator

from matins.domain.runs.backfills.expansion import BackfillExpansion, DueThen
from matins.domain.runs.backfills.values import BackfillState
from matins.domain.runs.states import FINAL, Kind
from matins.testing.memory.revisions import past_of, unfinished_backfill
from matins.testing.memory.rows import BackfillRow, RunRow
from matins.testing.memory.world import World


def broken_by_run(world: World, run: RunRow) -> Iterator[str]:
    """Yield what is wrong with a run that a backfill makes."""
    backfill = unfinished_backfill(world, run.job_id)
    if backfill is None:
        yield f"run {run.id} was made by no backfill"
        return
    others = [world.runs_by_id[other] for other in backfill.open]
    count = sum(other.state not in FINAL for other in others) + 1
    if count > backfill.limit:
        yield f"run {run.id} is the {count}th at once of a backfill that may have {backfill.limit}"


def broken_at_the_end(world: World, backfill: BackfillRow) -> Iterator[str]:
    """Yield what is wrong with a backfill: when it is done, each due time was made or left out."""
    if backfill.finished_at is None:
        yield f"backfill {backfill.id} did not end: it is {backfill.state}"
        return
    ended = backfill.ended.total()
    if backfill.open or ended != backfill.made:
        yield f"backfill {backfill.id} made {backfill.made} runs, and ended {ended}"
    if backfill.state is not BackfillState.DONE:
        return
    decided = _all_due(world, backfill)
    left_out = sum(group.due_count for group in backfill.left_out)
    if len(decided) != backfill.made + left_out:
        count = f"{backfill.made} runs and {left_out} left out"
        yield f"backfill {backfill.id} of {len(decided)} due times has {count}"
    for due in decided:
        run = world.runs.get((backfill.job_id, due.due_at, Kind.BACKFILL))
        is_left_out = any(
            group.due_count and group.first_at <= due.due_at <= group.last_at
            for group in backfill.left_out
        )
        if run is None and not is_left_out:
            yield f"backfill {backfill.id} lacks the run of {due.due_at}"
        if run is not None and run.revision != due.revision:
            yield f"run {run.id} has revision {run.revision} instead of {due.revision}"


def _all_due(world: World, backfill: BackfillRow) -> list[DueThen]:
    expansion = BackfillExpansion(past_of(world, world.jobs[backfill.job_id]), backfill.span)
    return expansion.page(None, 1_000_000).due
