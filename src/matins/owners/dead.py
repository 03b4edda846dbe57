"""What owners do to dead letters: dismiss them."""

from __future__ import annotations

from typing import Final

from matins.domain.jobs.authors import NOBODY, Author
from matins.domain.ports.dead import LetterChanges
from matins.domain.runs.dead import Dismissal, DismissDead, Dismissed
from matins.domain.values.errors import check
from matins.domain.values.names import check_name

PAGE: Final = 5_000
"""So many letters are dismissed in a statement."""


class DeadLetters:
    """Closes dead letters."""

    def __init__(self, changes: LetterChanges) -> None:
        self._changes = changes

    async def dismiss(self, team: str, wanted: DismissDead, author: Author = NOBODY) -> Dismissed:
        """Dismiss open dead letters of a team: their runs stay dead, and go as others do that are
        over. Raises InvalidInputError.

        When the answer is lost it can be repeated: what is dismissed keeps its note.
        """
        check_name("team", team)
        check(wanted.problems())
        dismissal = Dismissal(author.name, wanted.note)
        count = dismissed = await self._changes.dismiss(team, wanted, dismissal, PAGE)
        while count == PAGE:
            count = await self._changes.dismiss(team, wanted, dismissal, PAGE)
            dismissed += count
        return Dismissed(dismissed)
