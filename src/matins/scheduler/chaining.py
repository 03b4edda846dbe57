"""Chains: jobs that are due with the runs of other jobs, once these have ended.

Levels, not edges: whoever holds a partition looks again and again at what its chains wait for, so
no end can be missed. A hint lets it look at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from matins.domain.ports import Agenda, Clock, Hints
from matins.domain.runs.chains import Link, LinkVerdict, claim_of, decide_link
from matins.domain.runs.claims import Claimed
from matins.domain.values.errors import UnavailableError
from matins.kernel.contact import Contact
from matins.kernel.service import background, pause
from matins.scheduler.leases import LeaseHolder
from matins.scheduler.working_set import WorkingSet

BATCH: Final = 1_000
"""The most runs that one statement claims."""

_HINT_PAUSE_S: Final = 0.01
"""Hints come in bursts: for so long they are gathered, and one look answers them all."""

_IDLE: Final = 2
"""Where no chain waits for anything, looks are so many times as far apart."""


class Chaining:
    """Claims the runs of chains. To claim twice does nothing, so it is simply repeated."""

    def __init__(  # two ports, and what every service is given
        self,
        working_set: WorkingSet,
        leases: LeaseHolder,
        agenda: Agenda,
        hints: Hints,
        clock: Clock,
        *,
        fired: asyncio.Event,
        pause_s: float,
    ) -> None:
        """`fired` is set when there is something to admit; `pause_s` lies between two looks,
        or more where there are no chains.
        """
        self._working_set = working_set
        self._leases = leases
        self._agenda = agenda
        self._hints = hints
        self._clock = clock
        self._fired = fired
        self._pause_s = pause_s
        self._hinted = asyncio.Event()
        self._stopping = asyncio.Event()
        self._has_chains = True
        self._looked: dict[int, int] = {}
        self._complete_at: datetime | None = None

    def complete_at(self, partitions: Mapping[int, int]) -> datetime | None:
        """Return when all that had ended was answered last in these partitions, with the epochs of
        their leases; None if it never was.
        """
        return self._complete_at if self._looked == partitions else None

    async def run(self) -> None:
        """Look until `stop`: at each hint, and every `pause_s`."""
        contact = Contact(self._clock.elapsed_s, "chains.unavailable", "chains.available")
        async with background(self._listen, self._clock, name="scheduler.chains"):
            while not self._stopping.is_set():
                self._hinted.clear()
                try:
                    await self.look()
                    contact.worked()
                except UnavailableError as error:
                    contact.failed(error)
                pause_s = self._pause_s * (1 if self._has_chains else _IDLE)
                await pause(pause_s, self._clock, self._hinted, self._stopping)
                if self._hinted.is_set():
                    await pause(_HINT_PAUSE_S, self._clock, self._stopping)

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def look(self) -> None:
        """Decide about all that can be decided. Raises UnavailableError; the next look finds again
        what was left.
        """
        trusted = self._working_set.trusted(self._leases.epochs())
        if not trusted:
            return
        begun_at = self._clock.now()
        page = await self._agenda.links(trusted)
        has_chains = self._has_chains = page.has_chains
        await self._decide(trusted, page.links)
        while page.last is not None and not self._stopping.is_set():
            page = await self._agenda.links(trusted, page.last)
            await self._decide(trusted, page.links)
        if has_chains:
            await self._agenda.advance_chains(trusted)
        if page.last is None:
            self._looked, self._complete_at = trusted, begun_at

    async def _decide(self, trusted: Mapping[int, int], links: Sequence[Link]) -> None:
        decided = [(link, verdict) for link in links if (verdict := decide_link(link))]
        claims = [claim_of(link, verdict) for link, verdict in decided if not link.is_again]
        for first in range(0, len(claims), BATCH):
            batch = claims[first : first + BATCH]
            self._note(await self._agenda.claim(self._leases.holder, trusted, batch))
        await self._revive(trusted, [(link, verdict) for link, verdict in decided if link.is_again])

    async def _revive(
        self, trusted: Mapping[int, int], decided: Sequence[tuple[Link, LinkVerdict]]
    ) -> None:
        if decided:
            links, starts = zip(*((link, verdict.starts) for link, verdict in decided), strict=True)
            self._note(await self._agenda.revive(self._leases.holder, trusted, links, starts))

    def _note(self, done: Claimed) -> None:
        if done.refused:
            self._leases.drop(done.refused)
            self._working_set.drop_partitions(done.refused)
        if done.waiting:
            self._working_set.waiting.ask_about(done.waiting)
            self._fired.set()

    async def _listen(self) -> None:
        async for _ in self._hints.listen("chains"):
            self._hinted.set()
