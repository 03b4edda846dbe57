"""What dead letters need of the world: of their owners, and of the scheduler that replays them.

See `domain.ports`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol
from uuid import UUID

import msgspec

from matins.domain.runs.dead import DeadChoice, Dismissal
from matins.domain.runs.replays import OpenReplay, Replay, ReplayDead, ReplayStep


class NewReplay(msgspec.Struct, frozen=True):
    """A replay that is to be made, of a team's letters; `by` is who wants it."""

    id: UUID
    team: str
    letters: ReplayDead
    by: str = ""


class LetterChanges(Protocol):
    """Closes dead letters."""

    async def dismiss(
        self, team: str, letters: DeadChoice, dismissal: Dismissal, limit: int
    ) -> int:
        """Dismiss open letters of a team, so many at most, oldest due time first; return how many
        were.
        """


class ReplayChanges(Protocol):
    """The owners' side of replays."""

    async def create(self, replay: NewReplay) -> bool:
        """Make a replay of the letters that are there now; False if there is no such team."""

    async def cancel(self, replay_id: UUID) -> bool:
        """End a replay; False if it is over."""

    async def find_replay(self, replay_id: UUID) -> Replay | None:
        """Return how a replay stands; None if there is none."""


class Replays(Protocol):
    """The scheduler's side of replays."""

    async def unfinished_replays(self, partitions: Collection[int]) -> list[OpenReplay]:
        """Return the replays in these partitions that are not over."""

    async def next_letters(self, replay_id: UUID, limit: int) -> list[UUID]:
        """Return the runs of the next letters of a replay, oldest due time first."""

    async def proceed(self, step: ReplayStep) -> int:
        """Carry out a step in one statement: each of its runs waits for one attempt more, as when
        its owner replays it, unless it can't go on. Return how many do.

        It needs no lease: nothing at all is done where the replay has gone on since.
        """
