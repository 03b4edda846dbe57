"""What must hold of dead letters, whatever befalls the processes."""

from __future__ import annotations

from matins.domain.runs.states import RunState
from matins.testing.memory.world import World


def letter_faults(world: World) -> list[str]:
    """Each dead run has one letter, open or dismissed, and no other run has any."""
    dead = {run.id for run in world.runs.values() if run.state is RunState.DEAD}
    lettered = world.dead_letters.keys()
    missing = [f"run {run} is dead and has no letter" for run in sorted(dead - lettered)]
    return missing + [f"run {run} has a letter and is not dead" for run in sorted(lettered - dead)]


def dismissed_letters(world: World) -> int:
    """Return how many letters were dismissed, and are there still."""
    return sum(not letter.is_open for letter in world.dead_letters.values())
