"""The decision of admission: whether a run may start, what it waits for, or why it is skipped.

Pure. A new way of waiting is a member: one file beside this one, and a line in `MEMBERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import msgspec

from matins.domain.runs.admission.gates import IN_LINE, LinePlace, Passed, RankedRun, pass_gates
from matins.domain.runs.admission.open_runs import OpenRun
from matins.domain.runs.admission.overlap import ask_overlap
from matins.domain.runs.admission.waiting import (
    ADMITTED,
    GATE,
    AdmissionFacts,
    Candidate,
    Decision,
    Question,
    Verdict,
    Waiting,
)
from matins.domain.runs.admission.windows import ask_windows
from matins.domain.runs.ranking import rank_at
from matins.domain.runs.states import RunState
from matins.domain.values.ids import due_of

_NEVER: Final = datetime(9999, 12, 31, tzinfo=UTC)

Member = Callable[[Question], Verdict | None]
"""Says what speaks against a run; None: nothing that this member knows of."""

MEMBERS: Final[tuple[Member, ...]] = (ask_windows, ask_overlap)
"""Who is asked. The order does not matter."""


def ask(question: Question) -> Verdict:
    """Return what becomes of a run: skipped if any member says so, else it waits for the last."""
    against = [verdict for member in MEMBERS if (verdict := member(question)) is not None]
    return max(against, key=_weight, default=ADMITTED)


def decide(batch: Iterable[Waiting], facts: AdmissionFacts) -> list[Decision]:
    """Return a decision on each of the runs, under the rules of its team.

    First come, first served: what is admitted counts for those that came later. What no member
    speaks against passes its gates, in the order of their lines.
    """
    waiting_runs, open_runs = list(batch), _OpenRuns(facts)
    decided = {
        waiting.run_id: _decide(waiting, facts, open_runs)
        for waiting in sorted(waiting_runs, key=_turn(facts))
    }
    for passed in _pass_gates(decided, facts):
        run_id = passed.place.run_id
        decided[run_id] = _at_gates(decided[run_id], passed)
    return [decided[waiting.run_id] for waiting in waiting_runs]


def _pass_gates(decided: Mapping[UUID, Decision], facts: AdmissionFacts) -> list[Passed]:
    """Ask the gates of the runs that nothing else holds."""
    if facts.lines is None:
        return []
    asked = {
        RankedRun(rank_at(run.fire_at, run.priority), run.id): run.gate_ids
        for run in facts.candidates.values()
        if run.gate_ids and decided[run.id].verdict.state is RunState.QUEUED
    }
    others = {
        gate_id: [place for place in places if place.run_id not in decided]
        for gate_id, places in facts.lines.places.items()
    }
    return pass_gates(asked, facts.lines.gates, others, facts.lines.now)


def _at_gates(decision: Decision, passed: Passed) -> Decision:
    if passed.blocked_by is None:
        return msgspec.structs.replace(decision, permits=passed.permits)
    verdict = Verdict(RunState.WAITING, passed.reason, IN_LINE, GATE)
    line = LinePlace(passed.blocked_by.id, passed.place.rank)
    return msgspec.structs.replace(decision, verdict=verdict, line=line)


def left_open(
    decisions: Iterable[Decision], facts: AdmissionFacts
) -> Mapping[UUID, Sequence[OpenRun]]:
    """Return by job what is unfinished once it is carried out, where that matters."""
    open_runs = _OpenRuns(facts)
    for decision in decisions:
        if candidate := facts.candidates.get(decision.waiting.run_id):
            open_runs.move(candidate, decision.verdict)
    return {job_id: open_runs.of(job_id) for job_id in facts.open_runs}


class _OpenRuns:
    """The unfinished runs of each job, after all that was decided so far."""

    def __init__(self, facts: AdmissionFacts) -> None:
        self._by_job = {
            job_id: {run.id: run for run in runs} for job_id, runs in facts.open_runs.items()
        }
        for run in facts.candidates.values():
            if run.job_id in self._by_job:  # even one that is due earlier than was looked for
                self._by_job[run.job_id].setdefault(run.id, run)

    def of(self, job_id: UUID) -> Sequence[OpenRun]:
        return list(self._by_job.get(job_id, {}).values())

    def beside(self, run: Candidate) -> Sequence[OpenRun]:
        return [other for other in self.of(run.job_id) if other.id != run.id]

    def move(self, run: Candidate, verdict: Verdict) -> None:
        runs = self._by_job.get(run.job_id)
        if runs is None:
            return
        if verdict.state is RunState.SKIPPED:
            runs.pop(run.id, None)
        elif verdict.state is RunState.QUEUED:
            runs[run.id] = msgspec.structs.replace(runs[run.id], state=RunState.QUEUED)


def _decide(waiting: Waiting, facts: AdmissionFacts, open_runs: _OpenRuns) -> Decision:
    rules = None if waiting.team_id is None else facts.rules.get(waiting.team_id)
    run = facts.candidates.get(waiting.run_id)
    if rules is None or run is None:
        return Decision(waiting, ADMITTED, rules)
    verdict = ask(Question(run, rules, facts.now, open_runs.beside(run)))
    open_runs.move(run, verdict)
    return Decision(waiting, verdict, rules, run.job_id, run.job_revision)


def _turn(facts: AdmissionFacts) -> Callable[[Waiting], tuple[datetime, datetime, UUID]]:
    def turn(waiting: Waiting) -> tuple[datetime, datetime, UUID]:
        run = facts.candidates.get(waiting.run_id)
        since = waiting.ready_at if run is None else run.claimed_at
        return since, due_of(waiting.run_id), waiting.run_id

    return turn


def _weight(verdict: Verdict) -> tuple[bool, datetime]:
    return verdict.state is RunState.SKIPPED, verdict.until or _NEVER
