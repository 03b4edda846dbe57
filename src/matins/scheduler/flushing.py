"""Writing next due times some seconds after their claims, in batches."""

from __future__ import annotations

import asyncio
from functools import partial

from matins.domain.ports import Agenda, Clock
from matins.kernel.service import pause, repeat
from matins.scheduler.leases import LeaseHolder
from matins.scheduler.pieces import piecewise
from matins.scheduler.working_set import WorkingSet

BATCH = 1_000
"""The most next due times written by one statement."""

_GIVE_WAY_S = 0.05


class Flusher:
    """Writes every `every_s`; while claims are waiting they go first, for at most as long again."""

    def __init__(
        self,
        working_set: WorkingSet,
        leases: LeaseHolder,
        agenda: Agenda,
        clock: Clock,
        every_s: float,
    ) -> None:
        self._working_set = working_set
        self._leases = leases
        self._agenda = agenda
        self._clock = clock
        self._every_s = every_s
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Write until `stop`."""
        await pause(self._every_s, self._clock, self._stopping)
        await repeat(self._turn, self._every_s, self._clock, self._stopping, name="flush")

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def flush(self) -> None:
        """Write all that there is now. Raises UnavailableError; what was not written is kept."""
        for _ in range(-(-self._working_set.dirty_count // BATCH)):
            await self._write()

    async def _turn(self) -> None:
        begun_s = self._clock.elapsed_s()
        for _ in range(-(-self._working_set.dirty_count // BATCH)):
            while (
                self._working_set.has_due_on_time
                and self._clock.elapsed_s() - begun_s < self._every_s
            ):
                await pause(_GIVE_WAY_S, self._clock, self._stopping)
                if self._stopping.is_set():
                    return
            await self._write()

    async def _write(self) -> None:
        taken = self._working_set.take_advances(BATCH)
        if not taken:
            return
        unwritten = {entry.job.id: entry for entry, _ in taken}
        try:
            write = partial(self._agenda.advance, self._leases.holder)
            blocked = await piecewise([advance for _, advance in taken], write)
            written = unwritten.keys() - {advance.job_id for advance in blocked}
            self._working_set.mark_flushed([unwritten.pop(job_id) for job_id in written])
        finally:
            # Also those with an unknown outcome: to write an advance twice changes nothing.
            self._working_set.return_advances(unwritten.values())
