"""Bringing jobs and waiting runs into memory: the horizon, changes, ends, and what is stale.

Quarantined jobs go out of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta

import structlog

from matins.domain.ports import Agenda, Clock, Hints, WaitingRoom
from matins.domain.runs.admission.waiting import Waiting
from matins.domain.runs.claims import DueJob, Mark
from matins.domain.values.errors import BlockedError, UnavailableError
from matins.kernel.contact import Contact
from matins.kernel.metrics import QUARANTINED
from matins.kernel.service import background, pause
from matins.scheduler.coverage import PAGE, Coverage
from matins.scheduler.following import Follower
from matins.scheduler.leases import LeaseHolder
from matins.scheduler.planning import instant_of, slot_of
from matins.scheduler.preloading import Preloaded
from matins.scheduler.working_set import WorkingSet

log = structlog.get_logger()

OVERLAP = timedelta(seconds=10)
"""How far a poll for changes looks back: a change, or an end, is visible once it is committed."""

_HINT_PAUSE_S = 0.02
"""Hints come in bursts: for so long they are gathered, and one read answers them all."""


class Loader:
    """Reads what falls due, one query at a time, so that no older answer follows a newer one."""

    def __init__(  # noqa: PLR0913 # three ports, and what every service is given
        self,
        working_set: WorkingSet,
        leases: LeaseHolder,
        agenda: Agenda,
        room: WaitingRoom,
        hints: Hints,
        clock: Clock,
        *,
        horizon_s: float,
        poll_s: float,
    ) -> None:
        self._working_set = working_set
        self._leases = leases
        self._agenda = agenda
        self._room = room
        self._hints = hints
        self._clock = clock
        self._horizon = timedelta(seconds=horizon_s)
        self._poll_s = poll_s
        # Past the poll after the next, so that no run comes due before it was read.
        self._near = timedelta(seconds=2 * poll_s + 1)
        self._follower = Follower(working_set, agenda, clock, poll_s / 2)
        self._jobs = Coverage()
        self._preloaded = Preloaded(agenda)
        self._waiting = Coverage()
        self._complete: dict[int, int] = {}
        self._polled_at: datetime | None = None
        self._hinted = asyncio.Event()
        self._stopping = asyncio.Event()

    def recorded_until(self, oldest_s: int | None) -> datetime | None:
        """Return up to when all fire times have their rows; None while that can't be said.

        `oldest_s` is the oldest fire time in memory that has none.
        """
        working_set, held = self._working_set, self._leases.epochs()
        followed_at = self._follower.complete_at(held)
        if self._polled_at is None or followed_at is None or self._complete != held:
            return None
        if not working_set.is_certain:
            return None
        seen_at = min(self._polled_at, followed_at) - OVERLAP
        recorded = min(seen_at, instant_of(working_set.horizon_s))
        return recorded if oldest_s is None else min(recorded, instant_of(oldest_s - 1))

    async def run(self) -> None:
        """Read until `stop`: at every hint, change of leases or stale job, and every `poll_s`."""
        contact = Contact(self._clock.elapsed_s, "loader.unavailable", "loader.available")
        async with background(self._listen, self._clock, name="scheduler.listen"):
            while not self._stopping.is_set():
                try:
                    await self.read()
                    contact.worked()
                except UnavailableError as error:
                    contact.failed(error)
                    await pause(self._poll_s, self._clock, self._stopping)
                await pause(self._poll_s, self._clock, *self._wake_ups(), self._stopping)
                if self._hinted.is_set():
                    await pause(_HINT_PAUSE_S, self._clock, self._stopping)

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def read(self) -> None:
        """Bring the working set up to date: leases, stale jobs, horizon, changes, waits, ends."""
        # Cleared first: what is set while we read makes us read again.
        for event in self._wake_ups():
            event.clear()
        # No read is under way here that could bring back a due time older than what is evicted.
        self._working_set.evict()
        await self._quarantine()
        await self._refresh()
        self._drop_lost()
        await self._load()
        await self._poll()
        await self._follower.look()
        await self._preload()

    def _wake_ups(self) -> tuple[asyncio.Event, ...]:
        return self._hinted, self._leases.changed, self._working_set.unread

    def _drop_lost(self) -> None:
        held = self._leases.epochs()
        loaded = self._working_set.epochs
        if lost := [
            partition for partition, epoch in loaded.items() if held.get(partition) != epoch
        ]:
            self._working_set.drop_partitions(lost)
        self._complete = {
            partition: epoch
            for partition, epoch in self._complete.items()
            if loaded.get(partition) == epoch
        }
        self._jobs.forget_all_but(loaded)
        self._waiting.forget_all_but(loaded)

    async def _load(self) -> None:
        """Load the horizon of partitions that were gained, and of all when half of it is over."""
        now = self._clock.now()
        working_set = self._working_set
        held = self._leases.epochs()
        # Claims go first: a reload waits for a quiet moment while there is time.
        reload_within = self._horizon / (4 if working_set.has_due_on_time else 2)
        if working_set.horizon_s < slot_of(now + reload_within):
            working_set.extend_horizon(slot_of(now + self._horizon))
            self._complete = {}
        if self._polled_at is None:
            self._polled_at = now  # what is committed later, the polls for changes find
        missing = {
            partition: epoch
            for partition, epoch in held.items()
            if self._complete.get(partition) != epoch
        }
        if not missing:
            return
        self._adopt(missing, slot_of(now))
        await self._load_pages(missing, now, instant_of(working_set.horizon_s))

    def _adopt(self, missing: Mapping[int, int], second: int) -> None:
        """Begin with what was read of partitions before they were gained."""
        for partition, epoch in missing.items():
            entries = self._preloaded.take(partition, epoch, second)
            if entries is None or partition in self._working_set.epochs:
                continue
            self._working_set.add_partitions({partition: epoch})
            for entry in entries:
                self._working_set.adopt(entry)

    async def _preload(self) -> None:
        """Read what is to come here, up to the same horizon."""
        reserved = self._leases.reserved
        if not reserved and not self._preloaded.partitions:
            return
        now = self._clock.now()
        await self._preloaded.read(reserved, now, now + self._horizon)
        self._leases.note_loaded(self._preloaded.partitions)

    async def _load_pages(self, missing: dict[int, int], now: datetime, until: datetime) -> None:
        """Load partitions page by page; one that is dropped meanwhile has to begin again."""
        working_set = self._working_set
        loaded = working_set.epochs
        gained = {
            partition: epoch for partition, epoch in missing.items() if partition not in loaded
        }
        reading = self._jobs.begin(missing, now)
        while reading.marks:
            page = await self._agenda.load(reading.marks, until, reading.share)
            working_set.add_partitions(gained)
            gained = {}
            for job in page:
                # A partition may have been dropped, or gained anew, while its page was read.
                if loaded.get(job.partition) == missing[job.partition]:
                    working_set.put(job)
            self._complete |= reading.turn(map(_place_of_job, page), loaded)

    async def _poll(self) -> None:
        """Read what changed and what is to be asked about soon."""
        partitions = self._working_set.epochs.keys()
        if not partitions:
            return
        now = self._clock.now()
        assert self._polled_at is not None
        since = min(self._polled_at, now) - OVERLAP
        for job in await self._agenda.changed_jobs(partitions, since):
            self._working_set.put(job)
        self._polled_at = now
        await self._load_waiting(now)

    async def _load_waiting(self, now: datetime) -> None:
        """Read what is to be asked about soon; where that is very much, the rest of it later."""
        runs, loaded = self._working_set.waiting, self._working_set.epochs
        self._waiting.forget(runs.take_deferred())
        reading, count = self._waiting.begin(loaded, now), 0
        while reading.marks and count < PAGE:
            page = await self._room.load_waiting(reading.marks, now + self._near, reading.share)
            for waiting in page:
                if waiting.partition in loaded:
                    runs.put(waiting)
            reading.turn(map(_place_of_waiting, page), loaded)
            count += len(page)
        runs.note_read(has_more=bool(reading.marks))

    async def _refresh(self) -> None:
        if stale := self._working_set.stale_jobs():
            self._working_set.refresh(stale, await self._agenda.find_jobs(stale))

    async def _quarantine(self) -> None:
        for job_id, revision, reason in self._working_set.quarantined_jobs():
            try:
                await self._agenda.quarantine(job_id, revision, reason)
            except BlockedError as error:  # it is being changed; the others are read meanwhile
                log.warning("job.not_quarantined", job=str(job_id), error=str(error))
                continue
            QUARANTINED.inc()
            log.error("job.quarantined", job=str(job_id), revision=revision, reason=reason)
            self._working_set.quarantine_written(job_id)

    async def _listen(self) -> None:
        async for _ in self._hints.listen("jobs"):
            self._hinted.set()


def _place_of_job(job: DueJob) -> tuple[int, Mark]:
    assert job.next_fire_at is not None
    return job.partition, Mark(job.next_fire_at, job.id)


def _place_of_waiting(waiting: Waiting) -> tuple[int, Mark]:
    return waiting.partition, Mark(waiting.ready_at, waiting.run_id)
