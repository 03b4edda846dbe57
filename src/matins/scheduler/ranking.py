"""Ranking what is claimed and admitted, by what is known of pools: see `domain.runs.ranking`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from matins.domain.ports import Clock
from matins.domain.ports.pools import Queues
from matins.domain.runs.admission.waiting import Decision
from matins.domain.runs.ranking import VirtualClocks, rank_of
from matins.domain.runs.states import RunState
from matins.domain.values.ids import PARTITIONS
from matins.kernel.service import repeat
from matins.scheduler.leases import LeaseHolder
from matins.scheduler.planning import Rank

LOOK_S = 1.0
"""How often it is read what is known of the pools."""


class Ranker:
    """Keeps the virtual clocks of a scheduler."""

    def __init__(self, queues: Queues, leases: LeaseHolder, clock: Clock) -> None:
        self._queues = queues
        self._leases = leases
        self._clock = clock
        self._clocks = VirtualClocks()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Keep up with the pools until `stop`."""
        await repeat(self.look, LOOK_S, self._clock, self._stopping, name="ranks")

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def look(self) -> None:
        """Read what is known of the pools."""
        seen = await self._queues.read()
        share = max(1, len(self._leases.epochs())) / PARTITIONS
        self._clocks.look(seen, share, self._clock.now())

    def ranking(self) -> Rank:
        """Return what ranks the next runs of jobs, as of now."""
        now = rank_of(self._clock.now())
        rank = self._clocks.rank
        return lambda job: rank(job.pool, job.team_id, job.priority, now)

    def rank_admitted(self, decisions: Iterable[Decision]) -> list[Decision]:
        """Return decisions with the ranks of the runs that are admitted."""
        now = rank_of(self._clock.now())
        ranked = []
        for decision in decisions:
            run = decision.waiting
            if decision.verdict.state is RunState.QUEUED and run.team_id is not None:
                rank = self._clocks.rank(run.pool, run.team_id, run.priority, now)
                ranked.append(msgspec.structs.replace(decision, rank=rank))
            else:
                ranked.append(decision)
        return ranked
