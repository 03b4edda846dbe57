"""Putting runs back on the dispatch queue when the time of their next attempt has come."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import islice

import structlog

from matins.domain.ports import Agenda, Clock
from matins.domain.runs.claims import RetryDue
from matins.domain.values.errors import BlockedError, UnavailableError
from matins.kernel.service import pause
from matins.scheduler.hinting import HintSender
from matins.scheduler.leases import LeaseHolder
from matins.scheduler.pieces import piecewise
from matins.scheduler.roster import Roster

log = structlog.get_logger()

BATCH = 1_000
"""The most runs promoted by one statement."""


class Promoter:
    """Promotes what the wheel fired. To promote twice does nothing, so it is simply repeated."""

    def __init__(
        self,
        roster: Roster,
        leases: LeaseHolder,
        agenda: Agenda,
        dispatch_hints: HintSender,
        clock: Clock,
        *,
        fired: asyncio.Event,
        pause_s: float,
    ) -> None:
        """`fired` is set whenever the wheel was fired; `pause_s` is waited while all is away."""
        self._roster = roster
        self._leases = leases
        self._agenda = agenda
        self._dispatch_hints = dispatch_hints
        self._clock = clock
        self._fired = fired
        self._pause_s = pause_s
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Promote until `stop`: whatever the wheel fired, and what could not be promoted before."""
        while not self._stopping.is_set():
            self._fired.clear()
            try:
                await self._promote_all()
            except UnavailableError as error:
                log.warning("promoter.unavailable", error=str(error))
                await pause(self._pause_s, self._clock, self._stopping)
            else:
                await pause(self._pause_s, self._clock, self._stopping, self._fired)

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def _promote_all(self) -> None:
        queue = self._roster.due_retries
        while queue and not self._stopping.is_set():
            batch = list(islice(queue, BATCH))
            blocked = await piecewise(batch, self._promote_free)
            for _ in batch:
                queue.popleft()
            for retry in blocked:
                log.warning("promoter.blocked", run=str(retry.run_id))
                self._leave(retry)
            if not queue and self._roster.more_retries:
                self._roster.room.set()

    async def _promote_free(self, batch: Sequence[RetryDue]) -> None:
        """Promote what is of no locked partition; a later poll finds the rest. Raises BlockedError
        for what else is locked.
        """
        try:
            await self._promote(batch)
        except BlockedError:
            locked = await self._agenda.locked({retry.partition for retry in batch})
            if not locked:
                raise
            log.warning("promoter.locked", partitions=sorted(locked))
            for retry in batch:
                if retry.partition in locked:
                    self._leave(retry)
            await self._promote([retry for retry in batch if retry.partition not in locked])

    async def _promote(self, batch: Sequence[RetryDue]) -> None:
        held = self._leases.epochs()
        loaded = self._roster.loaded
        trusted = {it: epoch for it, epoch in held.items() if loaded.get(it) == epoch}
        kept = [retry for retry in batch if retry.partition in trusted]
        if lost := {retry.partition for retry in batch} - trusted.keys():
            self._roster.drop_partitions(lost)
        if not kept:
            return
        refused = await self._agenda.promote(self._leases.holder, trusted, kept)
        if refused:
            self._leases.drop(refused)
            self._roster.drop_partitions(refused)
        for retry in kept:
            self._forget(retry)
        self._dispatch_hints.send([""])

    def _leave(self, retry: RetryDue) -> None:
        """Leave it to the next poll, which finds it again."""
        self._forget(retry)
        self._roster.unread.add(retry.partition)

    def _forget(self, retry: RetryDue) -> None:
        if self._roster.retries.get(retry.run_id) == retry:
            del self._roster.retries[retry.run_id]
