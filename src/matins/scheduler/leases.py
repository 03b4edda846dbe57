"""Holding leases: a fair share of the partitions, trusted for less time than they are granted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID, uuid5

import structlog

from matins.domain.ports import Clock, Leases
from matins.domain.runs.placement import to_acquire, to_shed
from matins.domain.values.errors import BlockedError, UnavailableError
from matins.kernel.metrics import PARTITIONS_HELD
from matins.kernel.service import pause

log = structlog.get_logger()


UNHEARD_TERMS = 2.5
"""For so many terms renewals without an answer may keep others from taking over."""


def to_ask_s(term_s: float, unheard_s: float) -> float:
    """Return for how many seconds a lease is asked for when no renewal was answered for so long.

    A term; less and less, and in the end nothing, when the answers stay away: renewals that reach
    the database would hold for ever what can't be used.
    """
    return min(term_s, max(0.0, UNHEARD_TERMS * term_s - unheard_s))


class Lease(NamedTuple):
    """A partition under lease: `trusted_until_s` is a reading of the clock's `elapsed_s`."""

    epoch: int
    trusted_until_s: float


class LeaseHolder:
    """Renews when a third of a lease is over, and looks for free partitions every tenth of a term.

    A lease is trusted from before it was asked for, until a margin before the database lets it go.
    An unknown answer prolongs nothing here, and after a while nothing in the database either.
    """

    def __init__(
        self,
        holder: UUID,
        leases: Leases,
        clock: Clock,
        term_s: float,
        *,
        watermark: Callable[[], datetime | None],
        before_release: Callable[[Collection[int]], Awaitable[None]],
    ) -> None:
        """`before_release` is awaited with partitions that are no longer trusted here, before
        they are given up.
        """
        self.holder = holder
        self.changed = asyncio.Event()
        """Set when partitions were gained or lost; whoever looks clears it."""
        self._leases = leases
        self._clock = clock
        self._term_s = term_s
        # The holder has to stop trusting first, also when its clock is slower than the database's.
        self._margin_s = max(0.1 * term_s, 0.2)
        self._watermark = watermark
        self._before_release = before_release
        self._held: dict[int, Lease] = {}
        self._in_touch_until_s = float("-inf")
        self._heard_s = self._renew_at_s = clock.elapsed_s()
        self._stopping = asyncio.Event()

    def epochs(self) -> dict[int, int]:
        """Return the partitions whose leases can be trusted at this moment, with their epochs."""
        now_s = self._clock.elapsed_s()
        return {
            partition: lease.epoch
            for partition, lease in self._held.items()
            if now_s < lease.trusted_until_s
        }

    def is_in_touch(self) -> bool:
        """Return whether a renewal, of any number of leases, was answered within the last term."""
        return self._clock.elapsed_s() < self._in_touch_until_s

    def drop(self, partitions: Collection[int]) -> None:
        """Stop trusting leases that the fence refused."""
        for partition in partitions:
            self._held.pop(partition, None)
        self._notify()

    async def run(self) -> None:
        """Hold leases until `stop`, then give them all up."""
        while not self._stopping.is_set():
            try:
                if self._clock.elapsed_s() >= self._renew_at_s:
                    await self.renew()
                await self.balance()
            except BlockedError as error:
                log.warning("leases.blocked", error=str(error), held=len(self.epochs()))
                if not self.epochs():
                    self._change_name()
            except UnavailableError as error:
                log.warning("leases.unavailable", error=str(error), held=len(self.epochs()))
                # Ask again at the next turn, while what is held can still be trusted.
                self._renew_at_s = self._clock.elapsed_s()
            await pause(self._term_s / 10, self._clock, self._stopping)
        try:
            await self._release(list(self._held))
        except UnavailableError as error:
            log.warning("leases.not_released", error=str(error))

    def _change_name(self) -> None:
        """Take another name: somebody has the lease's row locked, and it has run out meanwhile."""
        self.holder = uuid5(self.holder, "again")
        self._held.clear()
        self._heard_s = self._clock.elapsed_s()
        self._notify()

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def take_over_from(self, holder: UUID) -> None:
        """Free what one held that has ended, so that nobody waits for the end of its term."""
        try:
            await self._leases.retire(holder)
        except UnavailableError as error:
            log.warning("leases.not_released", error=str(error))

    async def renew(self) -> None:
        """Prolong what is held, and show that this scheduler is alive."""
        # Read before the call: the database counts the term from when it runs the statement.
        asked_s = self._clock.elapsed_s()
        epochs = {partition: lease.epoch for partition, lease in self._held.items()}
        ttl_s = to_ask_s(self._term_s, asked_s - self._heard_s)
        renewed = await self._leases.renew(self.holder, epochs, self._watermark(), ttl_s)
        self._heard_s = asked_s
        self._renew_at_s = asked_s + ttl_s / 3
        self._in_touch_until_s = asked_s + self._term_s
        for partition, epoch in epochs.items():
            lease = self._held.get(partition)
            if lease is None or lease.epoch != epoch:
                continue  # dropped, or acquired again, while the answer was on its way
            if partition in renewed:
                self._held[partition] = Lease(epoch, asked_s + ttl_s - self._margin_s)
            else:
                del self._held[partition]
        if lost := epochs.keys() - renewed:
            log.warning("leases.lost", partitions=len(lost))
            self._notify()

    async def balance(self) -> None:
        """Shed what is above the fair share, or take over what nobody holds up to it."""
        alive = await self._leases.alive(self._term_s)
        shed = to_shed(list(self._held), alive)
        if shed:
            await self._release(shed)
        count = to_acquire(len(self._held), alive)
        if count == 0:
            return
        asked_s = self._clock.elapsed_s()
        gained = await self._leases.acquire(self.holder, count, self._term_s)
        for partition, epoch in gained.items():
            self._held[partition] = Lease(epoch, asked_s + self._term_s - self._margin_s)
        if gained:
            log.info("leases.gained", partitions=len(gained), held=len(self._held))
            self._notify()

    async def _release(self, partitions: list[int]) -> None:
        """Give up partitions: first here, so that nothing is claimed in them any more."""
        epochs = {
            partition: self._held.pop(partition).epoch
            for partition in partitions
            if partition in self._held
        }
        self._notify()
        await self._before_release(epochs.keys())
        await self._leases.release(self.holder, epochs)
        log.info("leases.released", partitions=len(epochs), held=len(self._held))

    def _notify(self) -> None:
        PARTITIONS_HELD.set(len(self._held))
        self.changed.set()
