"""What must hold of dead letters, whatever befalls the processes."""

from __future__ import annotations

from collections import Counter

from matins.domain.runs.states import RunState
from matins.testing.memory.world import World


def letter_faults(world: World) -> list[str]:
    """Each dead run has one letter, open or dismissed, and no other run has any."""
    dead = {run.id for run in world.runs.values() if run.state is RunState.DEAD}
    lettered = world.dead_letters.keys()
    missing = [f"run {run} is dead and has no letter" for run in sorted(dead - lettered)]
    return missing + [f"run {run} has a letter and is not dead" for run in sorted(lettered - dead)]


def replay_faults(world: World) -> list[str]:
    """Each replay has come to its end."""
    unfinished = [row.id for row in world.replays.values() if row.finished_at is None]
    return [f"the replay {replay} did not end" for replay in unfinished]


def paths_taken(world: World) -> Counter[str]:
    """Return which rare paths were taken, and how often."""
    letters, replays = world.dead_letters.values(), world.replays.values()
    taken = Counter(f"replay {row.state}" for row in replays)
    taken["letter dismissed"] = sum(not letter.is_open for letter in letters)
    taken["letter replayed at a rate"] = sum(row.replayed for row in replays)
    return taken
