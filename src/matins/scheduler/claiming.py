"""Claiming what is due: every second the wheel is fired, and batches of claims are made of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from itertools import chain
from random import Random
from uuid import UUID

import structlog

from matins.domain.ports import Agenda, Clock
from matins.domain.runs.claims import Claim, Claimed
from matins.domain.runs.states import RunState
from matins.domain.values.errors import BlockedError, UnavailableError
from matins.kernel.hinting import HintSender
from matins.kernel.metrics import (
    CLAIM_LAG,
    CLAIM_REFUSED,
    CLAIM_REPEATED,
    CLAIMED,
    WHEEL_SIZE,
)
from matins.kernel.service import pause
from matins.kernel.skips import count_skips
from matins.scheduler.batches import Batch, BatchStep
from matins.scheduler.blocked_claims import BlockedClaims
from matins.scheduler.leases import LeaseHolder
from matins.scheduler.planning import LoadedJob, Rank, instant_of, plan, seconds_of, slot_of
from matins.scheduler.ranking import Ranker
from matins.scheduler.working_set import WorkingSet

log = structlog.get_logger()

STATEMENTS_MAX = 2
"""How many claim statements run at once, besides one for what somebody else has locked."""

TICK_S = 0.005
"""The shortest time between two looks at the wheel."""

_DRAIN_LOOKS = 50

_LOOK_MAX = 20_000
"""After so many due times a batch is closed, so that planning it does not hold up the wheel."""

_PAUSES_S = (0.05, 0.1, 0.25, 0.5, 1.0)
"""The longest pauses between repeats of a claim whose outcome is unknown."""


class Claimer:
    """Fires the wheel and claims, under leases that are looked at before each statement."""

    def __init__(  # noqa: PLR0913 # two ports, and what every service is given
        self,
        working_set: WorkingSet,
        leases: LeaseHolder,
        agenda: Agenda,
        ranker: Ranker,
        dispatch_hints: HintSender,
        clock: Clock,
        *,
        rng: Random,
        batch_max: int,
    ) -> None:
        self._working_set = working_set
        self._leases = leases
        self._agenda = agenda
        self._ranker = ranker
        self._dispatch_hints = dispatch_hints
        self._clock = clock
        self._rng = rng
        self._batch_max = batch_max
        self._paused_until_s = 0.0
        self._work = asyncio.Event()
        self._stopping = asyncio.Event()
        self._in_flight: list[Batch] = []
        self._blocked = BlockedClaims(agenda, clock)
        self.fired = asyncio.Event()
        """Set whenever the wheel was fired, or runs are to be asked about."""

    def hold(self, seconds: float) -> None:
        """Claim nothing for a moment."""
        self._paused_until_s = self._clock.elapsed_s() + seconds

    def lag_s(self) -> float:
        """Return how old the oldest due and unclaimed fire time is, in seconds."""
        oldest_s = self.oldest_s()
        return 0.0 if oldest_s is None else max(0.0, self._now_s() - oldest_s)

    def oldest_s(self) -> int | None:
        """Return the oldest fire time that has no row for sure: in the wheel, queued or being
        claimed.
        """
        oldest = [batch.oldest_s for batch in (*self._in_flight, *self._blocked.batches())]
        if (waiting := self._working_set.oldest_s()) is not None:
            oldest.append(waiting)
        return min(oldest, default=None)

    async def drain(self) -> None:
        """Wait for the end of the statements that are under way, but not for long."""
        under_way = list(self._in_flight)
        for _ in range(_DRAIN_LOOKS):
            if not any(batch is other for batch in under_way for other in self._in_flight):
                return
            await self._clock.sleep(TICK_S)

    async def run(self) -> None:
        """Claim until `stop`; a statement under way is waited for."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._tick())
            for _ in range(STATEMENTS_MAX):
                group.create_task(self._claim_always())
            group.create_task(self._claim_blocked())

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def _tick(self) -> None:
        """Fire the slots that have begun; wake at the beginning of each second, and for retries."""
        while not self._stopping.is_set():
            # Cleared before the wheel is fired: what is put into a fired slot then sets it again.
            self._working_set.overdue.clear()
            now = self._clock.now()
            second = int(seconds_of(now))
            self._working_set.fire(second)
            ready_at = self._working_set.waiting.collect_ready(now)
            WHEEL_SIZE.set(self._working_set.wheel_size)
            if self._working_set.has_due:
                self._work.set()
            self.fired.set()
            next_s = second + 1 if ready_at is None else min(second + 1, seconds_of(ready_at))
            wait_s = max(next_s - seconds_of(now), TICK_S)
            await pause(wait_s, self._clock, self._stopping, self._working_set.overdue)
        self._work.set()

    def _now_s(self) -> float:
        return seconds_of(self._clock.now())

    async def _claim_always(self) -> None:
        while not self._stopping.is_set():
            if await self._is_held():
                continue
            batch = self._next_batch()
            if batch.claims:
                await self._try(batch)
            elif not self._stopping.is_set():
                self._work.clear()
                await self._work.wait()

    async def _claim_blocked(self) -> None:
        while batch := await self._blocked.next(self._stopping):
            await self._try(batch)
            await self._is_held()

    async def _is_held(self) -> bool:
        """Wait for the end of a pause; whether there was one."""
        held_s = self._paused_until_s - self._clock.elapsed_s()
        if held_s > 0:
            await pause(held_s, self._clock, self._stopping)
        return held_s > 0

    async def _try(self, batch: Batch) -> None:
        self._in_flight.append(batch)
        try:
            await self._claim(batch)
        except BlockedError as error:
            await self._blocked.put(batch, error)
        finally:
            self._in_flight.remove(batch)
            self.fired.set()

    def claiming(self, job_ids: Collection[UUID]) -> set[UUID]:
        """Return those of the jobs of which claims are under way, or their outcome is unknown."""
        under_way = chain(self._in_flight, self._blocked.batches())
        return {
            step.entry.job.id
            for batch in under_way
            for step in batch.steps
            if step.entry.job.id in job_ids
        }

    def _trusted(self) -> dict[int, int]:
        """Return the partitions that are in memory under a lease that can still be trusted."""
        return self._working_set.trusted(self._leases.epochs())

    def _next_batch(self) -> Batch:
        """Plan claims until the statement is full: first what is on time, then what is late."""
        batch = Batch(self._trusted())
        now_s, rank = self._now_s(), self._ranker.ranking()
        lost = set()
        while len(batch.claims) < self._batch_max and batch.looked_at < _LOOK_MAX:
            entry = self._working_set.pop_due()
            if entry is None:
                break
            if entry.job.partition in batch.epochs:
                self._plan_into(batch, entry, now_s, rank)
            else:
                lost.add(entry.job.partition)
        if lost:
            self._working_set.drop_partitions(lost)
        self._blocked.divert(batch)
        return batch

    def _plan_into(self, batch: Batch, entry: LoadedJob, now_s: float, rank: Rank) -> None:
        try:
            must_ask = self._working_set.open_runs.must_ask(entry.job.id)
            claims, next_s, looked_at = plan(
                entry,
                now_s,
                rank,
                must_ask=must_ask,
                uncertain_until_s=self._working_set.uncertain_until_s,
            )
        except Exception as error:  # of this one job; the others go on
            self._working_set.quarantine(entry.job, error)
            return
        batch.add(BatchStep(entry, claims, next_s))
        batch.looked_at += looked_at

    async def _claim(self, batch: Batch) -> None:
        """Send a batch until its outcome is known or its leases can no longer be trusted.

        Raises BlockedError.
        """
        attempts = 0
        while True:
            self._forget_untrusted(batch)
            if not batch.claims:
                return
            try:
                answer = await self._agenda.claim(self._leases.holder, batch.epochs, batch.claims)
            except BlockedError:
                raise
            except UnavailableError as error:
                # It may be committed all the same. Repeating it is safe: a claim that was made
                # meets its own row. The pause varies, so that schedulers do not return in step.
                log.warning("claim.unknown", claims=len(batch.claims), error=str(error))
                if self._stopping.is_set():
                    return
                limit_s = _PAUSES_S[min(attempts, len(_PAUSES_S) - 1)]
                await pause(self._rng.uniform(limit_s / 2, limit_s), self._clock, self._stopping)
                attempts += 1
            else:
                self._apply(batch, answer)
                return

    def _forget_untrusted(self, batch: Batch) -> None:
        trusted = self._trusted()
        kept = {
            partition
            for partition, epoch in batch.epochs.items()
            if trusted.get(partition) == epoch
        }
        if len(kept) == len(batch.epochs):
            return
        lost = {claim.partition for claim in batch.claims} - kept
        if lost:
            log.warning("claim.given_up", partitions=sorted(lost))
            self._working_set.drop_partitions(lost)
        batch.keep(kept)

    def _apply(self, batch: Batch, answer: Claimed) -> None:
        """Go on from what the database answered; memory changes only here, after the commit."""
        if answer.refused:
            self._refused(batch, answer.refused)
        if answer.waiting:
            self._working_set.waiting.ask_about(answer.waiting)
            self.fired.set()
        conflicts = {
            claim.job_id: slot_of(claim.due_until)
            for claim in batch.claims
            if claim.due_until is not None and claim.run_id not in answer.made
        }
        if answer.stale:
            self._working_set.mark_stale(answer.stale)
        straight = answer.made
        if answer.waiting:
            straight = straight.difference(waiting.run_id for waiting in answer.waiting)
        are_all = len(straight) == len(batch.claims)
        for entry, claims, next_s in batch.steps:
            job = entry.job
            if job.partition in answer.refused or job.id in answer.stale:
                continue
            if entry.minds_others:
                self._note_straight(entry, claims, None if are_all else straight)
            if job.id in conflicts and entry.due_s is not None:
                # The range met a row within it, of one due time, since past a range the job has
                # stepped. So retry with one row per due time.
                entry.no_ranges_until_s = conflicts[job.id]
                self._working_set.advance(entry, entry.due_s)
            else:
                self._working_set.advance(entry, next_s)
        self._measure(batch, answer)

    def _note_straight(
        self, entry: LoadedJob, claims: Iterable[Claim], made: AbstractSet[UUID] | None
    ) -> None:
        """Note which claims were queued of those that were `made`; None: all were."""
        for claim in claims:
            if claim.state is RunState.QUEUED and (made is None or claim.run_id in made):
                self._working_set.claimed_straight(entry, claim.due_at)

    def _refused(self, batch: Batch, refused: set[int]) -> None:
        count = sum(1 for claim in batch.claims if claim.partition in refused)
        CLAIM_REFUSED.inc(count)
        log.warning("claim.refused", partitions=sorted(refused), claims=count)
        self._leases.drop(refused)
        self._working_set.drop_partitions(refused)

    def _measure(self, batch: Batch, answer: Claimed) -> None:
        pools = {claim.pool for claim in batch.claims if claim.state is RunState.QUEUED}
        self._dispatch_hints.send(pools)
        made = answer.made
        new = batch.claims
        if len(made) != len(new):
            new = [claim for claim in batch.claims if claim.run_id in made]
            CLAIM_REPEATED.inc(_known_before(batch.claims, answer))
        states = Counter(claim.state for claim in new)
        held = len(answer.waiting) - states[RunState.WAITING]
        states[RunState.QUEUED] -= held
        states[RunState.WAITING] += held
        for state, count in states.items():
            CLAIMED.labels(state).inc(count)
        if states[RunState.SKIPPED]:
            count_skips(
                (claim.reason, claim.due_count) for claim in new if claim.state is RunState.SKIPPED
            )
        lag = (self._clock.now() - instant_of(batch.oldest_s)).total_seconds()
        CLAIM_LAG.observe(max(lag, 0.0))


def _known_before(claims: Iterable[Claim], answer: Claimed) -> int:
    """Return how many of the claims met their row."""
    return sum(
        claim.run_id not in answer.made
        and claim.partition not in answer.refused
        and claim.job_id not in answer.stale
        for claim in claims
    )
