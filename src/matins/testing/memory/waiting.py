"""The waiting room in memory. See `domain.ports.WaitingRoom`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple
from uuid import UUID

import msgspec

from matins.domain.runs.admission.gates import IN_LINE, RankedRun
from matins.domain.runs.admission.open_runs import OpenRun, OpenRuns
from matins.domain.runs.admission.overlap import CAUSE as OVERLAP
from matins.domain.runs.admission.waiting import (
    AdmissionFacts,
    Candidate,
    CarriedOut,
    Decision,
    Lines,
    Rules,
    Waiting,
)
from matins.domain.runs.claims import Mark
from matins.domain.runs.states import FINAL, Kind, RunState
from matins.testing.memory.agenda import first_places
from matins.testing.memory.open_runs import open_run, rows_of
from matins.testing.memory.rows import RunRow, WaitingRow
from matins.testing.memory.world import World


class _Taken(NamedTuple):
    """A run that was taken out of the room, what was decided, and in which gate's line it stood."""

    run: RunRow
    decision: Decision
    left_gate_id: int | None


class MemoryWaitingRoom:
    """What waits in a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def load_waiting(
        self, after: Mapping[int, Mark], until: datetime, share: int
    ) -> list[Waiting]:
        """See `domain.ports.WaitingRoom`."""
        rooms, now = self._world.waiting, self._world.now()
        for (partition, run_id), row in rooms.items():
            outdated = (
                row.asked is not None and row.asked < self._world.rules_of(row.team_id).revision
            )
            if outdated and row.ready_at > now and partition in after:
                rooms[partition, run_id] = replace(row, ready_at=now)
        places = ((partition, Mark(row.ready_at, run)) for (partition, run), row in rooms.items())
        return [
            self._waiting(partition, mark, rooms[partition, mark.id])
            for partition, mark in first_places(places, after, until, share)
        ]

    def _waiting(self, partition: int, mark: Mark, row: WaitingRow) -> Waiting:
        run = self._world.runs_by_id.get(mark.id)
        pool, priority = (run.pool, run.priority) if run else ("", 1)
        place = (mark.id, partition, mark.at, row.team_id, row.cause)
        return Waiting(*place, pool, priority, row.let_in)

    async def admission_facts(self, batch: Sequence[Waiting]) -> AdmissionFacts:
        """See `domain.ports.WaitingRoom`."""
        teams = {run.team_id for run in batch if run.team_id is not None}
        now = self._world.now()
        rules = {team: _from(self._world.rules_of(team), now) for team in teams}
        candidates = {
            run.run_id: self._candidate(run, self._world.runs_by_id[run.run_id])
            for run in batch
            if run.team_id is not None
        }
        gate_ids = {gate_id for run in candidates.values() for gate_id in run.gate_ids}
        lines = self._lines(gate_ids, len(self._world.waiting)) if gate_ids else None
        return AdmissionFacts(now, rules, candidates, lines)

    async def open_runs(self, jobs: Mapping[UUID, OpenRuns]) -> dict[UUID, list[OpenRun]]:
        """See `domain.ports.WaitingRoom`."""
        found = {}
        for job_id, place in jobs.items():
            known = [self._world.runs_by_id.get(run) for run in place.runs]
            runs = [run for run in known if run is not None and run.finished_at is None]
            runs += rows_of(self._world, job_id, place.since)
            runs += [run for run in rows_of(self._world, job_id) if run.kind is Kind.BACKFILL]
            found[job_id] = [open_run(run) for run in {run.id: run for run in runs}.values()]
        return found

    async def cancel_runs(self, run_ids: Sequence[UUID], reason: str) -> None:
        """See `domain.ports.WaitingRoom`."""
        for run_id in run_ids:
            run = self._world.runs_by_id[run_id]
            if run.state not in FINAL:
                run.cancel_at = run.cancel_at or self._world.now()
                self._world.cancel_waiting(run, reason)

    async def wake_waiting(self, job_ids: Collection[UUID]) -> list[Waiting]:
        """See `domain.ports.WaitingRoom`."""
        rooms, blockers, now = self._world.waiting, set(map(str, job_ids)), self._world.now()
        woken = []
        for (partition, run_id), row in rooms.items():
            if row.cause == OVERLAP and row.blocker in blockers:
                rooms[partition, run_id] = replace(row, ready_at=now)
                woken.append(Waiting(run_id, partition, now, row.team_id, row.cause))
        return woken

    async def carry_out(
        self, holder: UUID, epochs: Mapping[int, int], decisions: Sequence[Decision]
    ) -> CarriedOut:
        """See `domain.ports.WaitingRoom`."""
        wanted = {decision.waiting.partition for decision in decisions}
        fenced = self._world.fence(holder, epochs) & wanted
        outdated = {
            team
            for decision in decisions
            if (team := decision.waiting.team_id) is not None
            and not self._is_current(team, decision.rules)
        }
        stale = {
            decision.job_id
            for decision in decisions
            if decision.job_id is not None
            and self._world.jobs[decision.job_id].revision != decision.job_revision
        }
        contended = self._world.gates.contended(
            permit for decision in decisions for permit in decision.permits
        )
        done = CarriedOut(wanted - fenced, outdated, stale, contended)
        taken = self._take(
            [
                decision
                for decision in decisions
                if decision.waiting.partition in fenced and not done.is_void(decision)
            ]
        )
        for run, decision, left_gate_id in taken:
            self._move(run, decision)
            if decision.line is not None:
                done.gates.add(decision.line.gate_id)
            if left_gate_id is not None and not run.holds_permits:
                done.gates.add(left_gate_id)
            if run.state is RunState.QUEUED:
                done.pools.add(run.pool)
        return done

    def _take(self, decisions: Iterable[Decision]) -> list[_Taken]:
        """Take out of the room what was decided about and is still there, in the order in which it
        was: watchers are told of one after the other, of what is one statement.
        """
        taken = []
        for decision in decisions:
            place = decision.waiting
            key = (place.partition, place.run_id)
            row = self._world.waiting.get(key)
            if row is not None and row.ready_at == place.ready_at:
                del self._world.waiting[key]
                run = self._world.runs_by_id[place.run_id]
                if run.state in (RunState.WAITING, RunState.RETRYING):
                    taken.append(_Taken(run, decision, row.gate_id))
        return sorted(taken, key=_turn)

    async def gate_lines(self, gate_ids: Collection[int] | None, limit: int) -> Lines:
        """See `domain.ports.WaitingRoom`."""
        lined = {row.gate_id for row in self._world.waiting.values()}
        every = lined - {None} if gate_ids is None else {*gate_ids}
        return self._lines(self._world.gates.rows.keys() & every, limit)

    def _lines(self, gate_ids: Collection[int], limit: int) -> Lines:
        world = self._world
        gates = {gate_id: world.gates.rows[gate_id].seen() for gate_id in sorted(gate_ids)}
        lines = {
            gate_id: [
                (place, self._waiting(partition, Mark(IN_LINE, place.run_id), row))
                for place, partition, row in _line(world, gate_id)
                if (holder := world.partitions[partition].holder) is not None
                and world.is_in_force(holder)
            ][:limit]
            for gate_id, gate in gates.items()
        }
        places = {gate_id: [place for place, _ in line] for gate_id, line in lines.items()}
        runs = {run.run_id: run for line in lines.values() for _, run in line}
        return Lines(world.now(), gates, places, runs)

    async def record_open_since(
        self, holder: UUID, epochs: Mapping[int, int], since: Mapping[UUID, datetime]
    ) -> None:
        """See `domain.ports.WaitingRoom`."""
        fenced = self._world.fence(holder, epochs)
        for job_id, at in since.items():
            job = self._world.jobs[job_id]
            if job.partition in fenced:
                earliest = min(at, job.next_due_at or at, job.follows or at)
                job.open_since = max(job.open_since, earliest)

    def _candidate(self, waiting: Waiting, run: RunRow) -> Candidate:
        job = self._world.jobs[run.job_id]
        return Candidate(
            **msgspec.structs.asdict(open_run(run)),
            cause=waiting.cause_under(job.revision),
            fire_at=run.fire_at,
            job_id=job.id,
            job_revision=job.revision,
            open_since=job.open_since,
            labels=job.spec.labels,
            priority=run.priority,
            gate_ids=(*job.gates, *self._world.gates.limit_team(job.team_id)),
            overlap=job.spec.overlapping,
            allow_overlap=run.allow_overlap,
        )

    def _is_current(self, team_id: int, rules: Rules | None) -> bool:
        """Return whether rules are what still holds."""
        if rules is None or rules.revision != self._world.rules_of(team_id).revision:
            return False
        return rules.valid_until is None or rules.valid_until > self._world.now()

    def _move(self, run: RunRow, decision: Decision) -> None:
        now, verdict = self._world.now(), decision.verdict
        if verdict.state is not RunState.QUEUED or run.state is not RunState.RETRYING:
            run.reason = verdict.reason
        run.retry_at = None
        if verdict.state is RunState.SKIPPED:
            run.finished_at = now
        if verdict.state is RunState.WAITING:
            assert verdict.until is not None
            line = decision.line
            self._world.wait(
                run,
                verdict.until,
                verdict.cause,
                blocker=verdict.blocker,
                asked=decision.asked,
                line=(*line, decision.let_in) if line else (None, None, None),
            )
        run.holds_permits = bool(decision.permits)
        self._world.gates.grant(run.id, decision.permits)
        if run.state is not verdict.state:
            self._world.move(run, verdict.state)
        if run.awaits_replay is not None:
            run.awaits_replay = run.state is RunState.WAITING
        if verdict.state is RunState.QUEUED:
            self._world.enqueue(run, decision.rank)


def _turn(taken: _Taken) -> tuple[datetime, datetime, UUID]:
    return taken.run.claimed_at, taken.run.due_at, taken.run.id


def _line(world: World, gate_id: int) -> list[tuple[RankedRun, int, WaitingRow]]:
    """Return a gate's line: the places in their order, each with its partition and row."""
    return sorted(
        (
            (RankedRun(row.line_rank, run_id), partition, row)
            for (partition, run_id), row in world.waiting.items()
            if row.gate_id == gate_id and row.line_rank is not None
        ),
        key=itemgetter(0),
    )


def _from(rules: Rules, now: datetime) -> Rules:
    """Return the rules, and until when they hold from now on."""
    coming = [window.starts_at for window in rules.windows if window.starts_at > now]
    return msgspec.structs.replace(rules, valid_until=min(coming, default=None))
