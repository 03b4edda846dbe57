"""Admission: asking about the runs that wait, and carrying out what was decided.

What it decides, and by what, is `domain.runs.admission`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence

import structlog

from matins.domain.ports import Agenda, Clock, WaitingRoom
from matins.domain.runs.admission.deciding import decide
from matins.domain.runs.admission.waiting import Waiting
from matins.domain.runs.states import RunState
from matins.domain.values.errors import BlockedError, UnavailableError
from matins.kernel.metrics import ADMISSIONS
from matins.kernel.service import pause
from matins.scheduler.hinting import HintSender
from matins.scheduler.leases import LeaseHolder
from matins.scheduler.pieces import piecewise
from matins.scheduler.ranking import Ranker
from matins.scheduler.working_set import WorkingSet

log = structlog.get_logger()

BATCH = 1_000
"""The most runs about which one statement decides."""


class Admission:
    """Decides about what was claimed and must be asked about, and what comes due in the waiting
    room. To carry out twice does nothing, so it is simply repeated.
    """

    def __init__(  # noqa: PLR0913 # two ports, and what every service is given
        self,
        working_set: WorkingSet,
        leases: LeaseHolder,
        agenda: Agenda,
        room: WaitingRoom,
        ranker: Ranker,
        dispatch_hints: HintSender,
        clock: Clock,
        *,
        fired: asyncio.Event,
        pause_s: float,
    ) -> None:
        """`fired` is set whenever something may have come due; `pause_s` is waited while all is
        away.
        """
        self._working_set = working_set
        self._leases = leases
        self._agenda = agenda
        self._room = room
        self._ranker = ranker
        self._dispatch_hints = dispatch_hints
        self._clock = clock
        self._fired = fired
        self._pause_s = pause_s
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Admit until `stop`: whatever has come due, and what could not be decided before."""
        while not self._stopping.is_set():
            self._fired.clear()
            try:
                await self._admit_all()
            except UnavailableError as error:
                log.warning("admission.unavailable", error=str(error))
                await pause(self._pause_s, self._clock, self._stopping)
            else:
                await pause(self._pause_s, self._clock, self._stopping, self._fired)

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def _admit_all(self) -> None:
        runs = self._working_set.waiting
        while (batch := runs.ready(BATCH)) and not self._stopping.is_set():
            blocked = await piecewise(batch, self._admit_free)
            for waiting in blocked:
                log.warning("admission.blocked", run=str(waiting.run_id))
                runs.defer(waiting)
            runs.drop_ready(len(batch))

    async def _admit_free(self, batch: Sequence[Waiting]) -> None:
        """Admit what is of no locked partition; a later poll finds the rest. Raises BlockedError
        for what else is locked.
        """
        try:
            await self._admit(batch)
        except BlockedError:
            locked = await self._agenda.locked({waiting.partition for waiting in batch})
            if not locked:
                raise
            log.warning("admission.locked", partitions=sorted(locked))
            for waiting in batch:
                if waiting.partition in locked:
                    self._working_set.waiting.defer(waiting)
            await self._admit([waiting for waiting in batch if waiting.partition not in locked])

    async def _admit(self, batch: Sequence[Waiting]) -> None:
        trusted = self._working_set.trusted(self._leases.epochs())
        kept = [waiting for waiting in batch if waiting.partition in trusted]
        if lost := {waiting.partition for waiting in batch} - trusted.keys():
            self._working_set.drop_partitions(lost)
        if not kept:
            return
        decisions = self._ranker.rank_admitted(decide(kept, await self._room.look_up(kept)))
        done = await self._room.carry_out(self._leases.holder, trusted, decisions)
        if done.refused:
            self._leases.drop(done.refused)
            self._working_set.drop_partitions(done.refused)
        for waiting in kept:
            self._working_set.waiting.forget(waiting)
        fenced = [
            decision for decision in decisions if decision.waiting.partition not in done.refused
        ]
        again = [
            decision.waiting for decision in fenced if decision.waiting.team_id in done.outdated
        ]
        self._working_set.waiting.ask_about(again)
        _count(
            decision.verdict.state
            for decision in fenced
            if decision.waiting.team_id not in done.outdated
        )
        self._dispatch_hints.send(done.pools)


def _count(states: Iterable[RunState]) -> None:
    for state, count in Counter(states).items():
        ADMISSIONS.labels(state).inc(count)
