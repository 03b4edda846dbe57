"""What others hold locked is claimed apart from all else, so that it holds up nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from operator import attrgetter

import structlog

from matins.domain.ports import Agenda, Clock
from matins.domain.values.errors import BlockedError, UnavailableError
from matins.kernel.metrics import CLAIM_BLOCKED
from matins.kernel.service import pause
from matins.scheduler.batches import Batch

log = structlog.get_logger()

_AGAIN_S = 0.25
"""The pause before a batch is tried again that has something locked in it."""

_LOCKED_S = 5.0
"""For so long a partition that was found locked is taken to be locked still."""


class BlockedClaims:
    """Batches that were blocked. Each is cut into pieces until only what is locked waits.

    Claims in a partition that is locked come here without being tried, for some seconds.
    """

    def __init__(self, agenda: Agenda, clock: Clock) -> None:
        self._agenda = agenda
        self._clock = clock
        self._batches: list[Batch] = []
        self._locked_until_s: dict[int, float] = {}
        self._put = asyncio.Event()

    def batches(self) -> Sequence[Batch]:
        """Return all that waits here."""
        return self._batches

    async def put(self, batch: Batch, error: BlockedError) -> None:
        """Keep a batch that was blocked; first find out what of it is."""
        log.warning("claim.blocked", claims=len(batch.claims), error=str(error))
        CLAIM_BLOCKED.inc(len(batch.claims))
        self._keep([batch], later=True)
        try:
            locked = await self._agenda.locked_partitions(
                {claim.partition for claim in batch.claims}
            )
        except UnavailableError:
            return  # then the next try finds it out
        if batch not in self._batches:
            return  # it was taken for its next try while we asked
        if locked:
            until_s = self._clock.elapsed_s() + _LOCKED_S
            self._locked_until_s |= dict.fromkeys(locked, until_s)
            self._batches.remove(batch)
            self._keep([batch.split(locked)], later=True)
            self._keep([batch], later=False)
        elif len(batch.steps) > 1:
            self._batches.remove(batch)
            self._keep(batch.pieces(), later=False)

    def divert(self, batch: Batch) -> None:
        """Take out of a batch what is known to be locked."""
        now_s = self._clock.elapsed_s()
        locked = {
            partition for partition, until_s in self._locked_until_s.items() if now_s < until_s
        }
        self._locked_until_s = {partition: self._locked_until_s[partition] for partition in locked}
        if locked:
            self._keep([batch.split(locked)], later=False)

    async def next(self, stopping: asyncio.Event) -> Batch | None:
        """Wait for the next batch to be tried again; None once `stopping` is set."""
        while not stopping.is_set():
            self._put.clear()
            first = min(self._batches, key=attrgetter("ready_s"), default=None)
            wait_s = float("inf") if first is None else first.ready_s - self._clock.elapsed_s()
            if first is not None and wait_s <= 0:
                self._batches.remove(first)
                return first
            await pause(min(wait_s, _LOCKED_S), self._clock, stopping, self._put)
        return None

    def _keep(self, batches: Sequence[Batch], *, later: bool) -> None:
        for batch in batches:
            if batch.claims:
                batch.ready_s = self._clock.elapsed_s() + (_AGAIN_S if later else 0.0)
                self._batches.append(batch)
        self._put.set()
