"""Dead letters in memory. See `domain.ports.dead`."""

from __future__ import annotations

from dataclasses import replace

from matins.domain.runs.dead import DeadChoice, Dismissal
from matins.testing.memory.rows import LetterRow
from matins.testing.memory.world import World


class MemoryDeadLetters:
    """The dead letters of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def dismiss(
        self, team: str, letters: DeadChoice, dismissal: Dismissal, limit: int
    ) -> int:
        """See `domain.ports.dead.LetterChanges`."""
        chosen = chosen_letters(self._world, team, letters)[:limit]
        for letter in chosen:
            closed = replace(letter, dismissed_at=self._world.now(), dismissal=dismissal)
            self._world.dead_letters[letter.run_id] = closed
        return len(chosen)


def chosen_letters(world: World, team: str, letters: DeadChoice) -> list[LetterRow]:
    """Return the open letters that are asked for, oldest due time first."""
    found = [
        letter for letter in world.dead_letters.values() if _is_chosen(world, letter, team, letters)
    ]
    return sorted(found, key=lambda letter: letter.run_id)


def _is_chosen(world: World, letter: LetterRow, team: str, letters: DeadChoice) -> bool:
    job = world.jobs[world.runs_by_id[letter.run_id].job_id]
    return (
        letter.is_open
        and job.team == team
        and letters.job in (None, job.spec.name)
        and letters.fingerprint in (None, letter.failure.fingerprint)
        and (letters.since is None or letter.dead_at >= letters.since)
        and (letters.until is None or letter.dead_at < letters.until)
        and (letters.runs is None or letter.run_id in letters.runs)
    )
