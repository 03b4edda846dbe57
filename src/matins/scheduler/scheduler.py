"""A scheduler: its services, and how they hang together."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Collection
from datetime import datetime, timedelta
from importlib.metadata import version
from random import Random
from uuid import UUID

import structlog

from matins.domain.ports import Agenda, Hints, Leases, WaitingRoom, Watch
from matins.domain.ports.backfills import BackfillSteps
from matins.domain.ports.dead import Replays
from matins.domain.ports.pools import Queues
from matins.domain.ports.restores import RestoreMarks, SeenNotes
from matins.domain.runs.admission.hints import CHANNEL
from matins.domain.runs.cluster import Figures
from matins.domain.runs.restores import Seen
from matins.domain.values.errors import UnavailableError
from matins.kernel.contact import Contact
from matins.kernel.hinting import HintSender
from matins.kernel.service import pause, run_services
from matins.kernel.settings import Settings
from matins.scheduler.admission import Admission
from matins.scheduler.backfilling import Backfiller
from matins.scheduler.chaining import Chaining
from matins.scheduler.claiming import Claimer
from matins.scheduler.flushing import Flusher
from matins.scheduler.hearing import AdmissionListener
from matins.scheduler.leases import LeaseHolder
from matins.scheduler.lines import LineWatch
from matins.scheduler.loading import OVERLAP, Loader
from matins.scheduler.ranking import Ranker
from matins.scheduler.replaying import Replayer
from matins.scheduler.restoring import RestoreWatch
from matins.scheduler.timing import MeasuredClock, Timekeeper
from matins.scheduler.watching import Watcher
from matins.scheduler.working_set import WorkingSet

log = structlog.get_logger()


class Scheduler:
    """A scheduler incarnation: needs ports only, and any number of them may run.

    `holder` names the incarnation: it must be new at every start of a process.
    """

    def __init__(  # noqa: PLR0913 # a port for each kind of work, and what every role is given
        self,
        holder: UUID,
        *,
        leases: Leases,
        agenda: Agenda,
        room: WaitingRoom,
        queues: Queues,
        watch: Watch,
        backfills: BackfillSteps,
        replays: Replays,
        restores: RestoreMarks,
        notes: SeenNotes,
        hints: Hints,
        clock: MeasuredClock,
        rng: Random,
        settings: Settings,
    ) -> None:
        self._clock = clock
        self._leaving, self._stopping = asyncio.Event(), asyncio.Event()
        self._name, self._version = settings.name or platform.node(), version("matins")
        working_set = self._working_set = WorkingSet()
        poll_s = settings.poll_s
        self._notes = notes
        self._restores = RestoreWatch(restores, notes, working_set, clock)
        self._leases = self._lease_holder(holder, leases, hints, settings)
        self._dispatch_hints = HintSender(hints, "dispatch")
        self._admission_hints = HintSender(hints, CHANNEL)
        shared = (working_set, self._leases, agenda)
        self._ranker = Ranker(queues, self._leases, clock)
        self._flusher = Flusher(*shared, clock, settings.flush_s)
        self._loader = Loader(
            *(*shared, room, hints, clock), horizon_s=settings.horizon_s, poll_s=poll_s
        )
        handing = (self._ranker, self._dispatch_hints, clock)
        self._claimer = Claimer(*shared, *handing, rng=rng, batch_max=settings.claim_batch)
        claiming, fired = self._claimer.claiming, self._claimer.fired
        asking = (*shared, room, *handing, self._admission_hints)
        self._admission = Admission(*asking, claiming=claiming, fired=fired, pause_s=poll_s)
        self._chaining = Chaining(*(*shared, hints, clock), fired=fired, pause_s=poll_s / 2)
        filling = (working_set, self._leases, backfills, hints, clock, fired, poll_s)
        self._backfiller = Backfiller(*filling)
        self._replayer = Replayer(self._leases, replays, hints, clock, poll_s)
        self._lines = LineWatch(*(working_set, room, hints, clock), fired=fired, poll_s=poll_s)
        self._listener = AdmissionListener(working_set, room, hints, clock)
        watching = (self._leases, watch, self._admission_hints, clock)
        self._watcher = Watcher(
            *watching, rng=rng, every_s=settings.heartbeat_s, lost_after_s=settings.lost_after_s
        )
        self._timekeeper = Timekeeper(clock, self._claimer.hold)

    async def run(self, predecessor: UUID | None = None) -> None:
        """Hold leases and claim until `stop`; then hand them over, and end.

        What the holder `predecessor` held, which has ended, is free at once.
        """
        if not await self._read_clock() or not await self._restores.compare(self._leaving):
            return
        if predecessor is not None:
            await self._leases.take_over_from(predecessor)
        # They are stopped last first: whoever makes work ends before whoever finishes it.
        services = (
            self._dispatch_hints,
            self._admission_hints,
            self._flusher,
            self._leases,
            self._ranker,
            self._loader,
            self._admission,
            self._chaining,
            self._lines,
            self._listener,
            self._claimer,
            self._backfiller,
            self._replayer,
            self._watcher,
            self._timekeeper,
            self._restores,
        )
        leaving = asyncio.create_task(self._leave())
        try:
            await run_services(services, self._stopping)
        finally:
            leaving.cancel()

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._leaving.set()

    def _lease_holder(
        self, holder: UUID, leases: Leases, hints: Hints, settings: Settings
    ) -> LeaseHolder:
        return LeaseHolder(
            holder,
            leases,
            self._clock,
            settings.lease_term_s,
            hints=hints,
            watermark=self._watermark,
            figures=self._figures,
            before_release=self._before_release,
            renewed=self._note_seen,
        )

    async def _leave(self) -> None:
        """Stop the services, once successors go on with what they do."""
        await self._leaving.wait()
        await self._leases.hand_over()
        self._stopping.set()

    @property
    def holder(self) -> UUID:
        """The name under which it holds leases."""
        return self._leases.holder

    def is_ready(self) -> bool:
        """Return whether the database answered within the last lease term."""
        return self._leases.is_in_touch()

    def lag_s(self) -> float:
        """Return how old the oldest due and unclaimed fire time in memory is, in seconds."""
        return self._claimer.lag_s()

    def epochs(self) -> dict[int, int]:
        """Return the partitions under a lease that can be trusted now, with their epochs."""
        return self._leases.epochs()

    async def _read_clock(self) -> bool:
        events = "scheduler.waits_for_database", "scheduler.found_database"
        contact = Contact(self._clock.elapsed_s, *events)
        while not self._leaving.is_set():
            try:
                await self._clock.measure()
            except UnavailableError as error:
                contact.failed(error)
                await pause(1.0, self._clock, self._leaving)
            else:
                contact.worked()
                return True
        return False

    def _watermark(self) -> datetime | None:
        recorded = self._loader.recorded_until(self._claimer.oldest_s())
        answered = self._chaining.complete_at(self._leases.epochs())
        return None if recorded is None or answered is None else min(recorded, answered - OVERLAP)

    def _note_seen(self, watermark: datetime | None, granted_s: float) -> None:
        if watermark is None:  # not known yet, but claims go on
            watermark = self._notes.last_seen.watermark if self._notes.last_seen else None
        if watermark is not None:
            until = self._clock.now() + timedelta(seconds=granted_s)
            self._notes.note_seen(Seen(watermark, until))

    def _figures(self) -> Figures:
        return Figures(
            name=self._name,
            version=self._version,
            wheel_size=self._working_set.wheel_size,
            clock_offset_s=self._clock.host_ahead_s(),
            lag_s=self._claimer.lag_s(),
        )

    async def _before_release(self, _partitions: Collection[int]) -> None:
        """Write next due times for a successor; without them it claims some due times in vain.

        Claims under way are waited for: they have the partitions' rows locked.
        """
        await self._claimer.drain()
        try:
            await self._flusher.flush()
        except UnavailableError as error:
            log.warning("flush.unavailable", error=str(error))
