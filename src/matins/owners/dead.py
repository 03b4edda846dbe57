"""What owners do to dead letters: dismiss them, replay many of them at a rate."""

from __future__ import annotations

from random import Random
from typing import Final
from uuid import UUID

from matins.domain.jobs.authors import NOBODY, Author
from matins.domain.ports import Hints
from matins.domain.ports.dead import LetterChanges, NewReplay, ReplayChanges
from matins.domain.runs.dead import Dismissal, DismissDead, Dismissed
from matins.domain.runs.replays import Replay, ReplayDead, ReplayState
from matins.domain.values.errors import ConflictError, NotFoundError, check
from matins.domain.values.names import check_name
from matins.kernel.hints import notify

PAGE: Final = 5_000
"""So many letters are dismissed in a statement."""


class DeadLetters:
    """Closes dead letters. What is replayed at a rate is worked off by schedulers."""

    def __init__(
        self, letters: LetterChanges, replays: ReplayChanges, hints: Hints, rng: Random
    ) -> None:
        """`rng` draws the ids of replays."""
        self._letters = letters
        self._replays = replays
        self._hints = hints
        self._rng = rng

    async def dismiss(self, team: str, wanted: DismissDead, author: Author = NOBODY) -> Dismissed:
        """Dismiss open dead letters of a team: their runs stay dead, and go as others do that are
        over. Raises InvalidInputError.

        When the answer is lost it can be repeated: what is dismissed keeps its note.
        """
        check_name("team", team)
        check(wanted.problems())
        dismissal = Dismissal(author.name, wanted.note)
        count = dismissed = await self._letters.dismiss(team, wanted, dismissal, PAGE)
        while count == PAGE:
            count = await self._letters.dismiss(team, wanted, dismissal, PAGE)
            dismissed += count
        return Dismissed(dismissed)

    async def replay(self, team: str, wanted: ReplayDead, author: Author = NOBODY) -> Replay:
        """Replay open dead letters of a team, at a rate: those that are there now.

        When the answer is lost it can be repeated: no letter is replayed twice. Raises
        InvalidInputError, and NotFoundError when there is no such team.
        """
        check_name("team", team)
        check(wanted.problems())
        replay = NewReplay(
            UUID(int=self._rng.getrandbits(128), version=4), team, wanted, author.name
        )
        if not await self._replays.create(replay):
            raise NotFoundError(f"there is no team {team!r}")
        await notify(self._hints, "replays")
        return await self._show(replay.id)

    async def cancel_replay(self, replay_id: UUID) -> Replay:
        """End a replay: what it has replayed goes on, the other letters stay as they are.

        Raises ConflictError when it is done.
        """
        cancelled = await self._replays.cancel(replay_id)
        replay = await self._show(replay_id)
        if not cancelled and replay.state is not ReplayState.CANCELLED:
            raise ConflictError(f"the replay is {replay.state}, so that it can't be cancelled")
        return replay

    async def _show(self, replay_id: UUID) -> Replay:
        replay = await self._replays.find_replay(replay_id)
        if replay is None:
            raise NotFoundError(f"there is no replay {replay_id}")
        return replay
