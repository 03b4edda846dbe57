"""What an operator decides after a restore from a backup."""

from __future__ import annotations

from typing import Final

import msgspec

from matins.domain.ports import Hints
from matins.domain.ports.restores import RestoreChanges
from matins.domain.runs.restores import Resumed, Resumption
from matins.domain.values.errors import NotFoundError
from matins.kernel.hints import notify

PAGE: Final = 1000
"""About how many due times are decided by one statement."""


class Restores:
    """Decides about due times that may have run before the database was restored."""

    def __init__(self, changes: RestoreChanges, hints: Hints) -> None:
        self._changes = changes
        self._hints = hints

    async def resume(self, resumption: Resumption, *, dry_run: bool = False) -> Resumed:
        """Decide about all that is uncertain, page by page; a repeat goes on with what is left.

        Raises NotFoundError when no restore was noticed.
        """
        restore = await self._changes.newest_restore()
        if restore is None:
            raise NotFoundError("no restore was noticed: nothing is uncertain")
        resumed = await self._changes.count_uncertain(restore, resumption)
        if dry_run:
            return resumed
        await self._changes.resolve(restore)  # first: what is claimed from now on is as usual
        to_run = left_out = 0
        while any(page := await self._changes.resume(restore, resumption, PAGE)):
            to_run, left_out = to_run + page[0], left_out + page[1]
            await notify(self._hints, "jobs")
        resolved = await self._changes.newest_restore() or restore
        return msgspec.structs.replace(
            resumed,
            restore=resolved,
            uncertain=to_run + left_out,
            to_run=to_run,
            left_out=left_out,
        )
