"""Holding leases: a fair share of the partitions, trusted for less time than they are granted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID, uuid5

import structlog

from matins.domain.ports import Clock, Hints, Leases
from matins.domain.runs.cluster import Figures
from matins.domain.runs.placement import may_move, to_acquire, to_shed
from matins.domain.values.errors import BlockedError, UnavailableError
from matins.kernel.contact import Contact
from matins.kernel.metrics import PARTITIONS_HELD
from matins.kernel.service import background, pause

log = structlog.get_logger()


UNHEARD_TERMS = 2.5
"""For so many terms renewals without an answer may keep others from taking over."""

HAND_OVER_TERMS = 0.5
"""For so many terms who leaves waits for successors to be ready; then it releases all."""

HAND_OVER_LOOK_S = 0.1
"""How often who leaves looks whether its successors are ready."""

_CHANNEL = "leases"


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

    What it gives up it offers first, and releases when its successor has loaded the jobs of it.

    A lease is trusted from before it was asked for, until a margin before the database lets it go.
    An unknown answer prolongs nothing here, and after a while nothing in the database either.
    """

    def __init__(  # noqa: PLR0913 # two ports, and what the services around it say
        self,
        holder: UUID,
        leases: Leases,
        clock: Clock,
        term_s: float,
        *,
        hints: Hints,
        watermark: Callable[[], datetime | None],
        figures: Callable[[], Figures],
        before_release: Callable[[Collection[int]], Awaitable[None]],
        renewed: Callable[[datetime | None, float], None],
    ) -> None:
        """`before_release` is awaited with partitions that are no longer trusted here, before
        they are given up. `renewed` is told each watermark that is committed, and for how many
        seconds from before it was asked for the leases are granted at most.
        """
        self.holder = holder
        self.changed = asyncio.Event()
        """Set when partitions were gained or lost; whoever looks clears it."""
        self._leases = leases
        self._clock = clock
        self._term_s = term_s
        # The holder has to stop trusting first, also when its clock is slower than the database's.
        self._margin_s = max(0.1 * term_s, 0.2)
        self._hints = hints
        self._watermark = watermark
        self._figures = figures
        self._before_release = before_release
        self._renewed = renewed
        self._held: dict[int, Lease] = {}
        self._in_touch_until_s = float("-inf")
        self._heard_s = self._renew_at_s = clock.elapsed_s()
        self._stopping = asyncio.Event()
        self.reserved: dict[int, int] = {}
        """What is to come here next, with the epochs that it will have."""
        self._may_have_reserved = False
        self._loaded: set[int] = set()
        self._told_loaded: set[int] = set()
        self._offered_s: dict[int, float] = {}
        self._leaving_until_s: float | None = None
        self._left = asyncio.Event()
        self._called = asyncio.Event()

    def epochs(self) -> dict[int, int]:
        """Return the partitions whose leases can be trusted at this moment, with their epochs."""
        now_s = self._clock.elapsed_s()
        return {
            partition: epoch
            for partition, (epoch, trusted_until_s) in self._held.items()
            if now_s < trusted_until_s
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
        async with background(self._listen, self._clock, name="scheduler.leases"):
            await self._hold()
        try:
            await self._release(list(self._held))
        except UnavailableError as error:
            log.warning("leases.not_released", error=str(error))

    async def _hold(self) -> None:
        contact = Contact(self._clock.elapsed_s, "leases.unavailable", "leases.available")
        while not self._stopping.is_set():
            self._called.clear()
            wait_s = self._term_s / 10
            try:
                if self._clock.elapsed_s() >= self._renew_at_s:
                    await self.renew()
                if self._leaving_until_s is None:
                    await self.balance()
                else:
                    wait_s = HAND_OVER_LOOK_S
                    await self._leave()
                contact.worked()
            except BlockedError as error:
                log.warning("leases.blocked", error=str(error), held=len(self.epochs()))
                if not self.epochs():
                    self._change_name()
            except UnavailableError as error:
                contact.failed(error, held=len(self.epochs()))
                # Ask again at the next turn, while what is held can still be trusted.
                self._renew_at_s = self._clock.elapsed_s()
            await pause(wait_s, self._clock, self._stopping, self._called)

    def _change_name(self) -> None:
        """Take another name: somebody has the lease's row locked, and it has run out meanwhile."""
        self.holder = uuid5(self.holder, "again")
        self._held.clear()
        self.reserved = {}
        self._heard_s = self._clock.elapsed_s()
        self._notify()

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def hand_over(self) -> None:
        """Give everything to successors that have loaded it, while claims of it go on.

        Returns when that is done, or was tried for long enough.
        """
        patience_s = HAND_OVER_TERMS * self._term_s
        self._leaving_until_s = self._clock.elapsed_s() + patience_s
        self._called.set()
        await pause(patience_s + self._term_s / 3, self._clock, self._left)

    def note_loaded(self, partitions: Collection[int]) -> None:
        """Note which of the reserved partitions are in memory, so that they can come here."""
        if not self._loaded.issuperset(partitions):
            self._called.set()
        self._loaded = set(partitions)

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
        watermark = self._watermark()
        renewed = await self._leases.renew(self.holder, epochs, watermark, ttl_s, self._figures())
        self._renewed(watermark, ttl_s)
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
        """Offer what is above the fair share, or take over up to it: what is free, or offered."""
        alive = await self._leases.count_alive(self._term_s)
        await self._shed(to_shed(list(self._held), alive))
        count = to_acquire(len(self._held), alive)
        if count:
            count -= await self._acquire(count)
        if count or self._may_have_reserved:  # what is not taken is given up
            await self._reserve(count)

    async def _acquire(self, count: int) -> int:
        """Take over at most so many; gives how many it were."""
        asked_s = self._clock.elapsed_s()
        gained = await self._leases.acquire(self.holder, count, self._term_s)
        for partition, epoch in gained.items():
            self._held[partition] = Lease(epoch, asked_s + self._term_s - self._margin_s)
        if gained:
            log.info("leases.gained", partitions=len(gained), held=len(self._held))
            self._notify()
        return len(gained)

    async def _reserve(self, count: int) -> None:
        """Reserve what others offer, up to so many; say of which of it the jobs are loaded."""
        loaded = self._loaded & self.reserved.keys()
        self._may_have_reserved = True  # also if the answer is lost
        reserved = await self._leases.reserve(self.holder, count, loaded, self._term_s)
        self._may_have_reserved = bool(reserved)
        if loaded - self._told_loaded:
            await self._call("loaded")
        self._told_loaded = loaded
        if reserved != self.reserved:
            self.reserved = reserved
            self.changed.set()

    async def _shed(self, surplus: list[int]) -> None:
        """Offer the surplus; release of it what has a successor, or was offered for a term."""
        now_s = self._clock.elapsed_s()
        if not surplus and not self._offered_s:
            return
        offer = await self._leases.offer(self.holder, surplus, self._term_s, leaving=False)
        if surplus_s := set(surplus) - self._offered_s.keys():
            log.info("leases.offered", partitions=len(surplus_s), held=len(self._held))
            await self._call("offered")
        self._offered_s = {
            partition: self._offered_s.get(partition, now_s) for partition in surplus
        }
        overdue = {
            partition
            for partition, since_s in self._offered_s.items()
            if now_s - since_s > self._term_s
        }
        movable = [
            partition for partition in surplus if partition in offer.ready or partition in overdue
        ]
        if movable and may_move(self._clock.now()):
            await self._release(movable)
            for partition in movable:
                del self._offered_s[partition]

    async def _leave(self) -> None:
        """One look at who could take over; the last one releases all that is left."""
        assert self._leaving_until_s is not None
        try:
            offer = await self._leases.offer(
                self.holder, list(self._held), self._term_s, leaving=True
            )
            if self._offered_s.keys() != self._held.keys():
                self._offered_s = dict.fromkeys(self._held, self._clock.elapsed_s())
                log.info("leases.offered", partitions=len(self._held), held=len(self._held))
                await self._call("offered")
            if ready := [partition for partition in self._held if partition in offer.ready]:
                if not may_move(self._clock.now()):
                    return
                # What can be written before is, so that for a shorter time nobody claims.
                await self._before_release(())
                await self._release(ready)
                self._renew_at_s = self._clock.elapsed_s()  # that frees what was locked, too
        except UnavailableError:
            self._left.set()
            raise
        is_late = self._clock.elapsed_s() >= self._leaving_until_s
        if not self._held or not offer.others or (is_late and may_move(self._clock.now())):
            self._left.set()

    async def _call(self, word: str) -> None:
        """Let others look at once; each looks by itself, too."""
        try:
            await self._hints.send(_CHANNEL, [word])
        except UnavailableError as error:
            log.debug("leases.not_called", error=str(error))

    async def _listen(self) -> None:
        async for _ in self._hints.listen(_CHANNEL):
            self._called.set()

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
        await self._call("released")
        log.info("leases.released", partitions=len(epochs), held=len(self._held))

    def _notify(self) -> None:
        PARTITIONS_HELD.set(len(self._held))
        self.changed.set()
