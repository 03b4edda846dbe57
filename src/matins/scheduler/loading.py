"""Bringing jobs and waiting runs into memory: the horizon, changes, ends, doubts.

Poisoned jobs go out of it.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import structlog

from matins.domain.ports import Agenda, Clock, Hints, WaitingRoom
from matins.domain.runs.admission.waiting import Waiting
from matins.domain.runs.claims import DueJob, Mark
from matins.domain.values.errors import BlockedError, UnavailableError
from matins.kernel.metrics import QUARANTINED
from matins.kernel.service import pause, restarted
from matins.scheduler.coverage import PAGE, Coverage
from matins.scheduler.following import Follower
from matins.scheduler.leases import LeaseHolder
from matins.scheduler.planning import instant_of, slot_of
from matins.scheduler.roster import Roster

log = structlog.get_logger()

OVERLAP = timedelta(seconds=10)
"""How far a poll for changes looks back: a change, or an end, is visible once it is committed."""

_HINT_PAUSE_S = 0.02


class Loader:
    """Reads what falls due, one query at a time, so that no older answer follows a newer one."""

    def __init__(  # noqa: PLR0913 # three ports, and what every service is given
        self,
        roster: Roster,
        leases: LeaseHolder,
        agenda: Agenda,
        room: WaitingRoom,
        hints: Hints,
        clock: Clock,
        *,
        horizon_s: float,
        poll_s: float,
    ) -> None:
        self._roster = roster
        self._leases = leases
        self._agenda = agenda
        self._room = room
        self._hints = hints
        self._clock = clock
        self._horizon = timedelta(seconds=horizon_s)
        self._poll_s = poll_s
        self._near = timedelta(seconds=2 * poll_s + 1)
        self._follower = Follower(roster, agenda, clock, poll_s / 2)
        self._jobs = Coverage()
        self._waiting = Coverage()
        self._complete: dict[int, int] = {}
        self._polled_at: datetime | None = None
        self._hinted = asyncio.Event()
        self._stopping = asyncio.Event()

    def settled_until(self, oldest_s: int | None) -> datetime | None:
        """Up to when all fire times have their rows; None while that can't be said.

        `oldest_s` is the oldest fire time in memory that has none.
        """
        roster, held = self._roster, self._leases.epochs()
        followed_at = self._follower.complete_at(held)
        if self._polled_at is None or followed_at is None or self._complete != held:
            return None
        if roster.doubtful or roster.poisoned:
            return None
        seen_at = min(self._polled_at, followed_at) - OVERLAP
        known = min(seen_at, instant_of(roster.horizon_s))
        return known if oldest_s is None else min(known, instant_of(oldest_s - 1))

    async def run(self) -> None:
        """Read until `stop`: at every hint, change of leases or doubt, and every `poll_s`."""
        listening = asyncio.create_task(
            restarted(self._listen, self._clock, name="scheduler.listen")
        )
        try:
            while not self._stopping.is_set():
                try:
                    await self.read()
                except UnavailableError as error:
                    log.warning("loader.unavailable", error=str(error))
                    await pause(self._poll_s, self._clock, self._stopping)
                await pause(self._poll_s, self._clock, *self._wake_ups(), self._stopping)
                if self._hinted.is_set():
                    await pause(_HINT_PAUSE_S, self._clock, self._stopping)
        finally:
            listening.cancel()
            await asyncio.wait([listening])

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def read(self) -> None:
        """Bring the memory up to date once: leases, doubts, horizon, changes, what waits, ends."""
        for event in self._wake_ups():
            event.clear()
        self._roster.let_go()
        await self._quarantine()
        await self._resolve_doubts()
        self._drop_lost()
        await self._load()
        await self._poll()
        await self._follower.look()

    def _wake_ups(self) -> tuple[asyncio.Event, ...]:
        return self._hinted, self._leases.changed, self._roster.doubts, self._roster.room

    def _drop_lost(self) -> None:
        held = self._leases.epochs()
        loaded = self._roster.loaded
        if lost := [it for it, epoch in loaded.items() if held.get(it) != epoch]:
            self._roster.drop_partitions(lost)
        self._complete = {
            it: epoch for it, epoch in self._complete.items() if loaded.get(it) == epoch
        }
        self._jobs.forget_all_but(loaded)
        self._waiting.forget_all_but(loaded)

    async def _load(self) -> None:
        """Load the horizon of partitions that were gained, and of all when half of it is over."""
        now = self._clock.now()
        roster = self._roster
        held = self._leases.epochs()
        # Claims go first: a reload waits for a quiet moment while there is time.
        left = self._horizon / (4 if roster.due else 2)
        if roster.horizon_s < slot_of(now + left):
            roster.horizon_s = slot_of(now + self._horizon)
            self._complete = {}
        if self._polled_at is None:
            self._polled_at = now
        missing = {it: epoch for it, epoch in held.items() if self._complete.get(it) != epoch}
        if not missing:
            return
        await self._load_pages(missing, now, instant_of(roster.horizon_s))

    async def _load_pages(self, missing: dict[int, int], now: datetime, until: datetime) -> None:
        """Load partitions page by page; one that is dropped meanwhile has to begin again."""
        roster = self._roster
        gained = {it: epoch for it, epoch in missing.items() if it not in roster.loaded}
        reading = self._jobs.begin(missing, now)
        while reading.marks:
            page = await self._agenda.load(reading.marks, until, reading.share)
            roster.loaded.update(gained)
            gained = {}
            for job in page:
                if roster.loaded.get(job.partition) == missing[job.partition]:
                    roster.put(job)
            self._complete |= reading.turn(map(_place_of_job, page), roster.loaded)

    async def _poll(self) -> None:
        """Read what changed and what is to be asked about soon."""
        partitions = self._roster.loaded.keys()
        if not partitions:
            return
        now = self._clock.now()
        assert self._polled_at is not None
        since = min(self._polled_at, now) - OVERLAP
        for job in await self._agenda.changed(partitions, since):
            self._roster.put(job)
        self._polled_at = now
        await self._load_waiting(now)

    async def _load_waiting(self, now: datetime) -> None:
        """Read what is to be asked about soon; where that is very much, the rest of it later."""
        roster = self._roster
        self._waiting.forget(roster.unread)
        roster.unread.clear()
        reading, count = self._waiting.begin(roster.loaded, now), 0
        while reading.marks and count < PAGE:
            page = await self._room.load(reading.marks, now + self._near, reading.share)
            for waiting in page:
                if waiting.partition in roster.loaded:
                    roster.put_waiting(waiting)
            reading.turn(map(_place_of_waiting, page), roster.loaded)
            count += len(page)
        roster.more_waiting = bool(reading.marks)

    async def _resolve_doubts(self) -> None:
        doubtful = set(self._roster.doubtful)
        if not doubtful:
            return
        found = await self._agenda.find(doubtful)
        for job_id in doubtful:
            self._roster.forget(job_id)
        for job in found:
            self._roster.replace(job)
        self._roster.doubtful -= doubtful

    async def _quarantine(self) -> None:
        for job_id, (revision, reason) in list(self._roster.poisoned.items()):
            try:
                await self._agenda.quarantine(job_id, revision, reason)
            except BlockedError as error:  # it is being changed; the others are read meanwhile
                log.warning("job.not_quarantined", job=str(job_id), error=str(error))
                continue
            QUARANTINED.inc()
            log.error("job.quarantined", job=str(job_id), revision=revision, reason=reason)
            del self._roster.poisoned[job_id]

    async def _listen(self) -> None:
        async for _ in self._hints.listen("jobs"):
            self._hinted.set()


def _place_of_job(job: DueJob) -> tuple[int, Mark]:
    assert job.next_fire_at is not None
    return job.partition, Mark(job.next_fire_at, job.id)


def _place_of_waiting(waiting: Waiting) -> tuple[int, Mark]:
    return waiting.partition, Mark(waiting.ready_at, waiting.run_id)
