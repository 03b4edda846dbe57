"""Noticing that the database was restored from a backup, and holding what may have run."""

from __future__ import annotations

import asyncio
from math import inf
from typing import Final

import structlog

from matins.domain.ports import Clock
from matins.domain.ports.restores import RestoreMarks, SeenNotes
from matins.domain.runs.restores import Restore, find_restore
from matins.domain.values.errors import UnavailableError
from matins.kernel.contact import Contact
from matins.kernel.metrics import RESTORE_UNRESOLVED
from matins.kernel.service import pause
from matins.scheduler.planning import seconds_of
from matins.scheduler.working_set import WorkingSet

log = structlog.get_logger()

LOOK_S: Final = 2.0
"""How often a scheduler looks whether another one has noticed a restore, or it was resolved."""


class RestoreWatch:
    """Compares what was noted outside of the database with what is in it, once, before anything is
    claimed. Then it keeps up with what others notice and operators decide.
    """

    def __init__(
        self, restores: RestoreMarks, notes: SeenNotes, working_set: WorkingSet, clock: Clock
    ) -> None:
        self._restores = restores
        self._notes = notes
        self._working_set = working_set
        self._clock = clock
        self._known: Restore | None = None
        self._stopping = asyncio.Event()

    async def compare(self, stopping: asyncio.Event) -> bool:
        """Compare, once the database answers; False if it was stopped before."""
        contact = Contact(self._clock.elapsed_s, "restore.not_compared", "restore.compared")
        while not stopping.is_set():
            try:
                await self._compare()
            except UnavailableError as error:
                contact.failed(error)
                await pause(1.0, self._clock, stopping)
            else:
                contact.worked()
                return True
        return False

    async def run(self) -> None:
        """Look until `stop`."""
        contact = Contact(self._clock.elapsed_s, "restore.not_read", "restore.read")
        while not self._stopping.is_set():
            await pause(LOOK_S, self._clock, self._stopping)
            try:
                self._hold(await self._restores.unresolved_restore())
                contact.worked()
            except UnavailableError as error:
                contact.failed(error)

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def _compare(self) -> None:
        seen = self._notes.last_seen
        restore = find_restore(seen, await self._restores.watermarks(), self._clock.now())
        if restore is not None:
            await self._restores.note_restore(restore.lost_since, restore.seen_until)
        self._hold(await self._restores.unresolved_restore())

    def _hold(self, restore: Restore | None) -> None:
        until_s = -inf if restore is None else seconds_of(restore.seen_until)
        self._working_set.uncertain_until_s = until_s
        RESTORE_UNRESOLVED.set(restore is not None)
        if restore == self._known:
            return
        self._known = restore
        if restore is None:
            log.warning("restore.resolved")
        else:
            log.error(
                "restore.noticed",
                lost_since=restore.lost_since.isoformat(),
                seen_until=restore.seen_until.isoformat(),
                so="what misfire policy `all` would catch up waits for matins resume-after-restore",
            )
