"""What a simulated owner does to dead letters."""

from __future__ import annotations

from random import Random
from typing import Final

from matins.domain.runs.dead import DismissDead
from matins.domain.runs.inputs import RunInput
from matins.domain.runs.replays import ReplayDead
from matins.owners.owners import Owners
from matins.testing.deeds import Work
from matins.testing.memory.rows import LetterRow
from matins.testing.memory.world import World

RATES: Final = ("20/s", "1/s", "12/m")

_ONE: Final = 0.7
"""How often one letter is meant, and not all that are alike."""


def replay(world: World, rng: Random) -> Work | None:
    """Replay a dead run, also one whose letter was dismissed."""
    letter = _some(world, rng)
    return None if letter is None else lambda owners: owners.runs.replay(letter.run_id)


def replay_changed(world: World, rng: Random) -> Work | None:
    """Replay a dead run with another input, perhaps twice, as who is not sure of the answer."""
    letter = _some(world, rng)
    if letter is None:
        return None
    key, times = str(rng.getrandbits(64)), rng.choice((1, 2))

    async def work(owners: Owners) -> None:
        for _ in range(times):
            await owners.runs.replay_changed(letter.run_id, RunInput(body=key), key=key)

    return work


def dismiss(world: World, rng: Random) -> Work | None:
    """Dismiss a letter, or all of its job that are alike."""
    letter = _some(world, rng)
    if letter is None:
        return None
    job = world.jobs[world.runs_by_id[letter.run_id].job_id]
    if rng.random() < _ONE:
        dismissal = DismissDead(runs=[letter.run_id], note="not worth it")
    else:
        dismissal = DismissDead(job=job.spec.name, fingerprint=letter.failure.fingerprint)
    return lambda owners: owners.dead.dismiss(job.team, dismissal)


def replay_many(world: World, rng: Random) -> Work | None:
    """Replay all letters of a job, or those that are alike, or all there are."""
    letter = _some(world, rng)
    if letter is None:
        return None
    job, rate = world.jobs[world.runs_by_id[letter.run_id].job_id], rng.choice(RATES)
    wanted = rng.choice(
        (
            ReplayDead(everything=True, rate=rate),
            ReplayDead(job=job.spec.name, rate=rate),
            ReplayDead(fingerprint=letter.failure.fingerprint, rate=rate),
        )
    )
    return lambda owners: owners.dead.replay(job.team, wanted)


def cancel_replay(world: World, rng: Random) -> Work | None:
    """Cancel a replay, perhaps one that is over."""
    replays = sorted(world.replays)
    if not replays:
        return None
    chosen = rng.choice(replays)
    return lambda owners: owners.dead.cancel_replay(chosen)


def _some(world: World, rng: Random) -> LetterRow | None:
    letters = sorted(world.dead_letters.values(), key=lambda letter: letter.run_id)
    return rng.choice(letters) if letters else None
