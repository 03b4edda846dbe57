"""Admission: asking about the runs that wait, and carrying out what was decided.

What it decides, and by what, is `domain.runs.admission`.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from uuid import UUID

import msgspec
import structlog

from matins.domain.ports import Agenda, Clock, WaitingRoom
from matins.domain.runs.admission.deciding import decide, left_open
from matins.domain.runs.admission.hints import gate_word
from matins.domain.runs.admission.open_runs import NOTED_EVERY, OpenRuns
from matins.domain.runs.admission.overlap import replaced_by
from matins.domain.runs.admission.waiting import (
    AdmissionFacts,
    Candidate,
    CarriedOut,
    Decision,
    Verdict,
    Waiting,
)
from matins.domain.runs.states import Kind, RunState
from matins.domain.values.errors import BlockedError, UnavailableError
from matins.kernel.contact import Contact
from matins.kernel.hinting import HintSender
from matins.kernel.metrics import ADMISSIONS
from matins.kernel.service import pause
from matins.kernel.skips import count_skips
from matins.scheduler.leases import LeaseHolder
from matins.scheduler.pieces import piecewise
from matins.scheduler.ranking import Ranker
from matins.scheduler.working_set import WorkingSet

log = structlog.get_logger()

BATCH = 1_000
"""The most runs about which one statement decides."""

_AGAIN_S = 0.25
"""The pause before decisions are sent again of which the outcome is unknown."""


class Admission:
    """Decides about what was claimed and must be asked about, and what comes due in the waiting
    room. To carry out twice does nothing, so it is simply repeated.
    """

    def __init__(  # noqa: PLR0913, PLR0917 # two ports, and what every service is given
        self,
        working_set: WorkingSet,
        leases: LeaseHolder,
        agenda: Agenda,
        room: WaitingRoom,
        ranker: Ranker,
        dispatch_hints: HintSender,
        clock: Clock,
        admission_hints: HintSender,
        *,
        claiming: Callable[[AbstractSet[UUID]], AbstractSet[UUID]],
        fired: asyncio.Event,
        pause_s: float,
    ) -> None:
        """`claiming` gives those of some jobs of which a claim is under way; `fired` is set
        whenever none is any more, or something may have come due; `pause_s` is waited while all is
        away.
        """
        self._working_set = working_set
        self._leases = leases
        self._agenda = agenda
        self._room = room
        self._ranker = ranker
        self._dispatch_hints = dispatch_hints
        self._admission_hints = admission_hints
        self._clock = clock
        self._claiming = claiming
        self._postponed: list[Waiting] = []
        self._fired = fired
        self._pause_s = pause_s
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Admit until `stop`: whatever has come due, and what could not be decided before."""
        contact = Contact(self._clock.elapsed_s, "admission.unavailable", "admission.available")
        while not self._stopping.is_set():
            self._fired.clear()
            try:
                await self._admit_all()
            except UnavailableError as error:
                contact.failed(error)
                await pause(self._pause_s, self._clock, self._stopping)
            else:
                contact.worked()
                await pause(self._pause_s, self._clock, self._stopping, self._fired)

    async def stop(self) -> None:
        """See `kernel.service.Service`."""
        self._stopping.set()

    async def _admit_all(self) -> None:
        runs = self._working_set.waiting
        postponed, self._postponed = self._postponed, []
        runs.ask_about(postponed)
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
            locked = await self._agenda.locked_partitions({waiting.partition for waiting in batch})
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
        facts = await self._room.admission_facts(kept)
        counting = {run_id for run_id, run in facts.candidates.items() if self._counts_anew(run)}
        minding = {facts.candidates[run_id].job_id for run_id in counting}
        # A claim that is under way may or may not be seen: what is of its job is decided after it.
        busy = self._claiming(minding)
        free = self._postpone(kept, facts, counting, busy)
        # What is claimed from here on is asked about as well.
        with self._working_set.open_runs.asking(minding - busy):
            await self._decide(free, facts, minding - busy, trusted)

    def _counts_anew(self, run: Candidate) -> bool:
        """Return whether a run minds others of its job, or is one that they do not know of: a dead
        run that is replayed may be due before where they are looked for.
        """
        if run.minds_others:
            return True
        if run.overlap.policy == "allow" or not run.attempt or run.kind is Kind.BACKFILL:
            return False
        place = self._working_set.where_to_look(run.job_id, run.open_since)
        return run.due_at < place.since and run.id not in place.runs

    def _postpone(
        self,
        batch: Sequence[Waiting],
        facts: AdmissionFacts,
        counting: AbstractSet[UUID],
        busy: AbstractSet[UUID],
    ) -> Sequence[Waiting]:
        """Put aside what is of some jobs; return the rest."""
        if not busy:
            return batch
        later = {run_id for run_id in counting if facts.candidates[run_id].job_id in busy}
        self._postponed += [waiting for waiting in batch if waiting.run_id in later]
        return [waiting for waiting in batch if waiting.run_id not in later]

    async def _decide(
        self,
        batch: Sequence[Waiting],
        facts: AdmissionFacts,
        minding: AbstractSet[UUID],
        trusted: Mapping[int, int],
    ) -> None:
        if not batch:
            return
        runs = {waiting.run_id for waiting in batch}
        candidates = {run_id: run for run_id, run in facts.candidates.items() if run_id in runs}
        facts = msgspec.structs.replace(facts, candidates=candidates)
        where = {
            run.job_id: self._working_set.where_to_look(run.job_id, run.open_since)
            for run in candidates.values()
            if run.job_id in minding
        }
        facts = await self._with_open_runs(facts, where)
        decisions = decide(batch, facts)
        if replacing := [decision for decision in decisions if decision.verdict.replaces]:
            for decision in replacing:
                reason = replaced_by(candidates[decision.waiting.run_id])
                await self._room.cancel_runs(decision.verdict.replaces, reason)
            facts = await self._with_open_runs(facts, where)
            decisions = decide(batch, facts)
        found = _found(decisions, facts, where)
        decisions = self._ranker.rank_admitted(decisions)
        done = await self._carry_out(trusted, decisions)
        for job_id in found.keys() - done.stale:
            self._working_set.note_open(job_id, found[job_id])
        self._apply(batch, decisions, done)
        if lagging := _lagging(facts, found):
            await self._room.record_open_since(self._leases.holder, trusted, lagging)

    async def _with_open_runs(
        self, facts: AdmissionFacts, where: Mapping[UUID, OpenRuns]
    ) -> AdmissionFacts:
        if not where:
            return facts
        open_runs = await self._room.open_runs(where)
        return msgspec.structs.replace(facts, open_runs=open_runs)

    async def _carry_out(
        self, trusted: Mapping[int, int], decisions: Sequence[Decision]
    ) -> CarriedOut:
        """Send decisions until their outcome is known: what may have been carried out must not be
        decided anew in another order. Raises BlockedError, and UnavailableError when the leases can
        no longer be trusted.
        """
        while True:
            try:
                return await self._room.carry_out(self._leases.holder, trusted, decisions)
            except BlockedError:
                raise
            except UnavailableError as error:
                log.warning("admission.unknown", decisions=len(decisions), error=str(error))
                still = self._working_set.trusted(self._leases.epochs())
                if self._stopping.is_set() or not trusted.items() <= still.items():
                    raise
                await pause(_AGAIN_S, self._clock, self._stopping)

    def _apply(
        self, batch: Sequence[Waiting], decisions: Sequence[Decision], done: CarriedOut
    ) -> None:
        if done.refused:
            self._leases.drop(done.refused)
            self._working_set.drop_partitions(done.refused)
        for waiting in batch:
            self._working_set.waiting.forget(waiting)
        fenced = [
            decision for decision in decisions if decision.waiting.partition not in done.refused
        ]
        self._working_set.waiting.ask_about(
            [decision.waiting for decision in fenced if done.is_void(decision)]
        )
        _count([decision.verdict for decision in fenced if not done.is_void(decision)])
        self._dispatch_hints.send(done.pools)
        self._admission_hints.send(map(gate_word, done.gates))


def _found(
    decisions: Sequence[Decision], facts: AdmissionFacts, where: Mapping[UUID, OpenRuns]
) -> dict[UUID, OpenRuns]:
    """Return by job where to look for unfinished runs once the decisions are carried out."""
    asked = defaultdict[UUID, list[Candidate]](list)
    for run in facts.candidates.values():
        asked[run.job_id].append(run)
    left = left_open(decisions, facts)
    return {job_id: place.advanced(asked[job_id], left[job_id]) for job_id, place in where.items()}


def _lagging(facts: AdmissionFacts, found: Mapping[UUID, OpenRuns]) -> dict[UUID, datetime]:
    """Return what the rows of jobs are to say of it, where they lag far behind."""
    stored = {run.job_id: run.open_since for run in facts.candidates.values()}
    return {
        job_id: place.safe_since
        for job_id, place in found.items()
        if place.safe_since - stored[job_id] > NOTED_EVERY
    }


def _count(verdicts: Sequence[Verdict]) -> None:
    for state, count in Counter(verdict.state for verdict in verdicts).items():
        ADMISSIONS.labels(state).inc(count)
    count_skips((verdict.reason, 1) for verdict in verdicts if verdict.state is RunState.SKIPPED)
