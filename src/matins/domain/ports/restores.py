"""What is known of restores from a backup. See `domain.runs.restores`."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from matins.domain.runs.restores import Restore, Resumed, Resumption, Seen, Watermarks


class SeenNotes(Protocol):
    """What a scheduler keeps of its progress where no restore of the database reaches."""

    @property
    def last_seen(self) -> Seen | None:
        """What was noted last, by this process or the one before it."""

    def note_seen(self, seen: Seen) -> None:
        """Keep it; what can't be kept is lost."""


class RestoreMarks(Protocol):
    """The scheduler's side of restores. Each method is one autocommit statement."""

    async def watermarks(self) -> Watermarks | None:
        """Return how far the database knows all fire times; None if of nothing at all."""

    async def note_restore(self, lost_since: datetime, seen_until: datetime) -> None:
        """Note a restore. One that is unresolved becomes as wide as both."""

    async def unresolved_restore(self) -> Restore | None:
        """Return the restore about which nobody has decided yet."""


class RestoreChanges(Protocol):
    """The operator's side of restores. Each method is one transaction."""

    async def newest_restore(self) -> Restore | None:
        """Return the newest restore, whether it is resolved or not."""

    async def count_uncertain(self, restore: Restore, resumption: Resumption) -> Resumed:
        """Return what would become of what is uncertain."""

    async def resolve(self, restore: Restore) -> None:
        """Let schedulers go on as usual from now on."""

    async def resume(self, restore: Restore, resumption: Resumption, limit: int) -> tuple[int, int]:
        """Decide about the oldest uncertain due times, `limit` of them at most.

        Return how many are to run, and how many are left out. What runs is asked about by admission
        under the name that it had, as long as its job is active.
        """
