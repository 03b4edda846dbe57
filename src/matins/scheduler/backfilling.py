"""Backfills: the runs of past due times are made, never more of one at once than it may have.

Levels, not edges: whoever holds a partition looks at its backfills again and again, and tops up
what has ended. A step that is lost or comes late is done once, or not at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final
from uuid import UUID

import structlog

from matins.domain.ports import Clock, Hints
from matins.domain.ports.backfills import BackfillSteps
from matins.domain.runs.backfills.expansion import BackfillExpansion, DueThen, judge
from matins.domain.runs.backfills.stepping import OpenBackfill, step
from matins.domain.values.errors import BlockedError
from matins.kernel.service import background, repeat_at_hints
from matins.scheduler.leases import LeaseHolder
from matins.scheduler.working_set import WorkingSet

log = structlog.get_logger()

PAGE_MIN: Final = 16
PAGE_MAX: Final = 2_048
"""How many due times are looked at in one go: few at first, more while none of them runs."""

IDLE_S: Final = 5.0
"""How often it is looked for backfills where there was none, should the hint of one be lost."""

_BUSY: Final = 10
"""While runs end, looks follow each other so many times as fast."""


class Backfiller:
    """Looks at the backfills of the partitions in memory, and takes each a step further."""

    def __init__(
        self,
        working_set: WorkingSet,
        leases: LeaseHolder,
        backfills: BackfillSteps,
        hints: Hints,
        clock: Clock,
        fired: asyncio.Event,
        poll_s: float,
    ) -> None:
        """`fired` is set when runs were made, which are to be asked about at once."""
        self._working_set = working_set
        self._leases = leases
        self._backfills = backfills
        self._hints = hints
        self._clock = clock
        self._fired = fired
        self._poll_s = poll_s
        self._expansions: dict[UUID, BackfillExpansion] = {}
        self._has_any = True
        self._looked: dict[int, int] = {}
        self._looked_s = 0.0
        self._hinted = asyncio.Event()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Look until `stop`: at every hint, and every `poll_s`; more often while runs end."""
        async with background(self._listen, self._clock, name="scheduler.listen_backfills"):
            await repeat_at_hints(
                *(self._look, self._poll_s, self._clock, self._hinted, self._stopping),
                name="backfills.look",
            )

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    def _is_worth_a_look(self) -> bool:
        """Return whether there may be a backfill: where none was, a hint tells of the next."""
        if self._hinted.is_set() or self._has_any:
            return True
        trusted = self._working_set.trusted(self._leases.epochs())
        return trusted != self._looked or self._clock.elapsed_s() >= self._looked_s + IDLE_S

    async def _look(self) -> float:
        """Take every backfill a step further, if there may be any; return how long it is to the
        next look.
        """
        if not self._is_worth_a_look():
            return self._poll_s
        self._hinted.clear()
        return self._poll_s / _BUSY if await self._step_all() else self._poll_s

    async def _step_all(self) -> bool:
        """Take every backfill a step further; return whether any has done something."""
        trusted = self._working_set.trusted(self._leases.epochs())
        if not trusted:
            return False
        begun_s = self._clock.elapsed_s()
        self._has_any = True  # for as long as this is not answered
        unfinished = await self._backfills.unfinished_backfills(trusted)
        self._looked, self._looked_s = trusted, begun_s
        self._has_any = bool(unfinished)
        self._forget_all_but({backfill.id for backfill in unfinished})
        moved = False
        for backfill in unfinished:
            try:
                moved |= await self._step(backfill)
            except BlockedError as error:  # somebody has its job locked; the others go on
                log.warning("backfill.blocked", backfill=str(backfill.id), error=str(error))
        return moved

    async def _step(self, backfill: OpenBackfill) -> bool:
        """Take a backfill a step further; what is left out may be many pages, a step each."""
        due, is_last = await self._next(backfill) if backfill.room else ([], False)
        done = step(backfill, due, is_last=is_last)
        if not done.changes_something:
            return False
        trusted = self._working_set.trusted(self._leases.epochs())
        made = await self._backfills.proceed(self._leases.holder, trusted, done)
        if made:
            self._working_set.waiting.ask_about(made)
            self._fired.set()
        return True

    async def _next(self, backfill: OpenBackfill) -> tuple[list[DueThen], bool]:
        """Return the next due times of a backfill: enough for its room, if there are any."""
        expansion = await self._expansion(backfill)
        due: list[DueThen] = []
        mark, count, is_last = backfill.mark, max(PAGE_MIN, 2 * backfill.room), False
        while not is_last and len(due) < PAGE_MAX:
            page = expansion.page(mark, count)
            is_last = page.is_last
            if page.due:
                ends = page.due[0].due_at, page.due[-1].due_at
                mark = ends[1]
                ledger = await self._backfills.ledger(backfill.job_id, min(ends), max(ends))
                due += judge(page.due, ledger, again=backfill.span.again)
            if sum(not occurrence.reason for occurrence in due) >= backfill.room:
                break
            count *= 2
        return due, is_last

    async def _expansion(self, backfill: OpenBackfill) -> BackfillExpansion:
        if backfill.id not in self._expansions:
            past = await self._backfills.job_past(backfill.job_id)
            self._expansions[backfill.id] = BackfillExpansion(past, backfill.span)
        return self._expansions[backfill.id]

    def _forget_all_but(self, backfills: Collection[UUID]) -> None:
        self._expansions = {
            backfill: kept for backfill, kept in self._expansions.items() if backfill in backfills
        }

    async def _listen(self) -> None:
        async for _ in self._hints.listen("backfills"):
            self._hinted.set()
