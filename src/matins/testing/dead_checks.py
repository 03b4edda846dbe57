"""What must hold of dead letters, whatever befalls the processes."""

from __future__ import annotations

from collections import Counter

from matins.domain.runs.states import RunState
from matins.testing.memory.rows import RunRow
from matins.testing.memory.world import World


def dead_faults(world: World) -> list[str]:
    """Return what is wrong with dead letters, once all has come to its end."""
    return letter_faults(world) + stand_in_faults(world) + replay_faults(world)


def letter_faults(world: World) -> list[str]:
    """Each dead run of ours has one letter, open or dismissed, and no other run has any."""
    runs = [run for run in world.runs.values() if job_is_ours(world, run)]
    dead = {run.id for run in runs if run.state is RunState.DEAD}
    lettered = world.dead_letters.keys()
    missing = [f"run {run} is dead and has no letter" for run in sorted(dead - lettered)]
    return missing + [f"run {run} has a letter and is not dead" for run in sorted(lettered - dead)]


def job_is_ours(world: World, run: RunRow) -> bool:
    """Return whether it was us who ran a run, and no check-in tells of it."""
    return world.jobs[run.job_id].spec.target.checkin is None


def stand_in_faults(world: World) -> list[str]:
    """What was replayed with another input has one run in its place, which its letter names."""
    runs = world.runs.values()
    stand_ins = {run.id: run.replay_of for run in runs if run.replay_of is not None}
    letters = {run: world.dead_letters.get(of) for run, of in stand_ins.items()}
    faults = [
        f"run {run} stands in for {stand_ins[run]}, of which its letter knows nothing"
        for run, letter in letters.items()
        if letter is None or letter.replayed_as != run
    ]
    named = {letter.replayed_as for letter in world.dead_letters.values() if letter.replayed_as}
    lost = named - stand_ins.keys()
    return faults + [f"run {run} stands in for another and is not there" for run in sorted(lost)]


def replay_faults(world: World) -> list[str]:
    """Each replay has come to its end."""
    unfinished = [row.id for row in world.replays.values() if row.finished_at is None]
    return [f"the replay {replay} did not end" for replay in unfinished]


def paths_taken(world: World) -> Counter[str]:
    """Return which rare paths were taken, and how often."""
    letters, replays = world.dead_letters.values(), world.replays.values()
    taken = Counter(f"replay {row.state}" for row in replays)
    taken["letter replayed with input"] = sum(letter.replayed_as is not None for letter in letters)
    taken["letter dismissed"] = sum(not letter.is_open for letter in letters)
    taken["letter replayed at a rate"] = sum(row.replayed for row in replays)
    return taken
