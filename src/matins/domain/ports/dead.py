"""What owners' deeds to dead letters need of the world. See `domain.ports`."""

from __future__ import annotations

from typing import Protocol

from matins.domain.runs.dead import DeadChoice, Dismissal


class LetterChanges(Protocol):
    """Closes dead letters."""

    async def dismiss(
        self, team: str, letters: DeadChoice, dismissal: Dismissal, limit: int
    ) -> int:
        """Dismiss open letters of a team, so many at most, oldest due time first; return how many
        were.
        """
