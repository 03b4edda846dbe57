"""What a simulated owner does to runs that are to be tried again."""

from __future__ import annotations

from random import Random
from uuid import UUID

from matins.domain.runs.states import RunState
from matins.testing.deeds import Work
from matins.testing.memory.world import World


def retry_now(world: World, rng: Random) -> Work | None:
    """Have the next attempt of a run made now."""
    run = _some(world, rng)
    return None if run is None else lambda owners: owners.runs.retry_now(run)


def stop_retrying(world: World, rng: Random) -> Work | None:
    """Want no further attempt of a run."""
    run = _some(world, rng)
    return None if run is None else lambda owners: owners.runs.stop_retrying(run)


def _some(world: World, rng: Random) -> UUID | None:
    runs = [run.id for run in world.runs.values() if run.state is RunState.RETRYING]
    return rng.choice(runs) if runs else None
