"""Watching executors: what sends no more heartbeats is declared lost, and what it held goes on."""

from __future__ import annotations

import asyncio
from random import Random
from uuid import UUID

import msgspec
import structlog

from matins.domain.executors.liveness import Silence, company, listen, lost
from matins.domain.executors.protocol import End, Ending, Running, awaited_words
from matins.domain.ports import Clock, Watch
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome, RunState, decide
from matins.domain.values.ids import partition_of
from matins.kernel.ends import note_ends
from matins.kernel.hinting import HintSender
from matins.kernel.metrics import EXECUTORS_LOST, MASS_LOSS_GUARD, RECORDED
from matins.kernel.service import repeat
from matins.scheduler.leases import LeaseHolder

log = structlog.get_logger()

_ABANDONED_MAX = 1_000
_REASON = "the executor was lost"


class Watcher:
    """Looks at all executors, and acts on those whose partition is held by this scheduler.

    Silence counts only while the watcher itself was awake and connected: between two looks that
    both succeeded, no further apart than twice the period.
    """

    def __init__(
        self,
        leases: LeaseHolder,
        watch: Watch,
        admission_hints: HintSender,
        clock: Clock,
        *,
        rng: Random,
        every_s: float,
        lost_after_s: float,
    ) -> None:
        self._leases = leases
        self._watch = watch
        self._clock = clock
        self._rng = rng
        self._every_s = every_s
        self._lost_after_s = lost_after_s
        self._admission_hints = admission_hints
        self._heard: dict[UUID, Silence] = {}
        self._looked_s: float | None = None
        self._is_guarding = False
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Watch until `stop`."""
        await repeat(self.look, self._every_s, self._clock, self._stopping, name="watch")

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def look(self) -> None:
        """Look once: 1 who is silent, 2 declare the lost, 3 take back what the lost still hold."""
        # Unset until this look has succeeded: time in which we saw nothing is nobody's silence.
        before_s, self._looked_s = self._looked_s, None
        asked_s = self._clock.elapsed_s()
        seen = await self._watch.executors()
        answered_s = self._clock.elapsed_s()
        since_s = 0.0 if before_s is None else asked_s - before_s
        on_time = since_s <= 2 * self._every_s and answered_s - asked_s <= self._every_s
        self._heard = listen(self._heard, seen, since_s if on_time else 0.0)
        self._looked_s = asked_s
        silent, is_guarded = lost(self._heard, self._lost_after_s)
        self._set_guard(is_guarded, len(silent))
        names = {executor.id: executor.name for executor in seen}
        for executor in silent:
            if self._is_mine(executor):
                await self._declare(executor, names[executor])
        await self._end_abandoned()

    def _is_mine(self, executor: UUID) -> bool:
        return partition_of(executor) in self._leases.epochs()

    def _set_guard(self, is_guarded: bool, silent: int) -> None:
        MASS_LOSS_GUARD.set(is_guarded)
        if is_guarded and not self._is_guarding:
            log.error("executors.mass_silence", silent=silent, executors=len(self._heard))
        self._is_guarding = is_guarded

    async def _declare(self, executor: UUID, name: str) -> None:
        # Only if the heartbeat that we judged by is still its last one.
        if await self._watch.declare_lost(executor, self._heard[executor].heartbeat_at):
            EXECUTORS_LOST.inc()
            log.warning("executor.lost", executor=str(executor), name=name)
            await self._watch.drop_handouts(executor)

    async def _end_abandoned(self) -> None:
        """End the attempts of lost and stopped executors, until none of mine is left."""
        while True:
            abandoned = await self._watch.abandoned_runs(_ABANDONED_MAX)
            own = [(executor, runs) for executor, runs in abandoned if self._is_mine(executor)]
            for executor, runs in own:
                endings = [self._ending(run, runs) for run in runs]
                recorded = await self._watch.record(executor, endings)
                self._admission_hints.send(awaited_words(recorded))
                RECORDED.labels(Outcome.LOST).inc(len(runs))
                note_ends(end.status for end in recorded)
                log.info("attempts.lost", executor=str(executor), attempts=len(runs))
                await self._watch.drop_handouts(executor)
            if not own:
                return

    def _ending(self, run: Running, held: list[Running]) -> Ending:
        tried = msgspec.structs.replace(run.tried, company=company(run, held))
        end = End(run.run_id, run.tried.attempt, Result(Outcome.LOST, _REASON))
        try:
            after = decide(tried, Outcome.LOST, run.policy, self._rng, reason=_REASON)
        except Exception as error:  # of this one run: it ends, and the others go on
            log.exception("run.undecidable", run=str(run.run_id))
            return Ending(end, RunState.DEAD, f"its retry policy can't be applied: {error}")
        return Ending(end, after.state, after.reason, after.retry_in_s, after.shared)
