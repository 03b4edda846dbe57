"""Hearing at once of runs that are to be asked about; the loader's poll stands behind it."""

from __future__ import annotations

import asyncio
from collections import deque

import structlog

from matins.domain.ports import Clock, Hints, WaitingRoom
from matins.domain.runs.admission.hints import CHANNEL, hear
from matins.domain.runs.claims import BEGINNING
from matins.domain.time.instants import SECOND
from matins.domain.values.errors import UnavailableError
from matins.domain.values.ids import partition_of
from matins.kernel.contact import Contact
from matins.kernel.service import background
from matins.scheduler.working_set import WorkingSet

log = structlog.get_logger()

_HEARD_MAX = 10_000
_SHARE = 1_000


class AdmissionListener:
    """Listens to the channel `admission`, and reads what its words name; what comes meanwhile is
    read together.
    """

    def __init__(
        self,
        working_set: WorkingSet,
        room: WaitingRoom,
        hints: Hints,
        clock: Clock,
    ) -> None:
        self._working_set = working_set
        self._room = room
        self._hints = hints
        self._clock = clock
        self._words: deque[str] = deque(maxlen=_HEARD_MAX)
        self._heard = asyncio.Event()
        self._stopping = False

    async def run(self) -> None:
        """Read until `stop`."""
        contact = Contact(self._clock.elapsed_s, "hints.not_read", "hints.read")
        async with background(self._listen, self._clock, name="scheduler.hear"):
            while not self._stopping:
                await self._heard.wait()
                self._heard.clear()
                try:
                    await self._read()
                    contact.worked()
                except UnavailableError as error:
                    contact.failed(error)

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping = True
        self._heard.set()

    async def _listen(self) -> None:
        async for word in self._hints.listen(CHANNEL):
            self._words.append(word)
            self._heard.set()

    async def _read(self) -> None:
        heard = hear(self._words)
        self._words.clear()
        held = self._working_set.epochs.keys()
        partitions = heard.partitions & held
        jobs = {job_id for job_id in heard.jobs if partition_of(job_id) in held}
        if jobs:
            partitions |= {waiting.partition for waiting in await self._room.wake_waiting(jobs)}
        if partitions:
            after = dict.fromkeys(partitions, BEGINNING)
            for waiting in await self._room.load_waiting(after, self._clock.now() + SECOND, _SHARE):
                if waiting.partition in self._working_set.epochs:
                    self._working_set.waiting.put(waiting)
