"""The waiting room in PostgreSQL. See `domain.ports.WaitingRoom`."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.jobs.limits import parse_rate
from matins.domain.jobs.overlap import WrittenOverlap, overlap_of
from matins.domain.jobs.windows import Window
from matins.domain.runs.admission.gates import IN_LINE, Gate, RankedRun
from matins.domain.runs.admission.open_runs import OpenRun, OpenRuns
from matins.domain.runs.admission.waiting import (
    CLAIM,
    GATE,
    AdmissionFacts,
    Candidate,
    CarriedOut,
    Decision,
    Lines,
    Rules,
    Waiting,
)
from matins.domain.runs.claims import Mark
from matins.domain.runs.states import SUSPECT_AFTER, Kind, RunState
from matins.domain.values.ids import due_of, partition_of
from matins.store.agenda import marks_of
from matins.store.columns import fence_columns, unless_usual
from matins.store.database import Database
from matins.store.queries import load_queries

_Q = load_queries("waiting.sql")
_MANUAL = load_queries("manual.sql")
_KINDS: Final = {kind.value: kind for kind in Kind}
_STATES: Final = {state.value: state for state in RunState}
"""Looked up at every row, where to call the classes would take as long as all the rest."""

_LABELS: Final = msgspec.json.Decoder(dict[str, str])
_OVERLAP: Final[msgspec.json.Decoder[WrittenOverlap]] = msgspec.json.Decoder(WrittenOverlap)
_WINDOWS: Final = msgspec.json.Decoder(list[Window])


_IN_LINE = ("run_id", "partition", "team_id", "cause", "pool", "priority", "let_in")


class PostgresWaitingRoom:
    """Reads what waits, and carries out what was decided; that has connections of its own."""

    def __init__(self, decided: Database, reads: Database) -> None:
        self._decided = decided
        self._reads = reads

    async def load_waiting(
        self, after: Mapping[int, Mark], until: datetime, share: int
    ) -> list[Waiting]:
        """See `domain.ports.WaitingRoom`.

        What was decided by rules that have changed is due at once: as much of it as fills a page,
        so where there is more, some partition gives its whole share.
        """
        limit = share * len(after)
        await self._reads.fetch(_Q["ask_again"], partitions=list(after), limit=limit)
        rows = await self._reads.fetch(
            _Q["load_waiting"], until=until, share=share, **marks_of(after)
        )
        return [Waiting(**row) for row in rows]

    async def admission_facts(self, batch: Sequence[Waiting]) -> AdmissionFacts:
        """See `domain.ports.WaitingRoom`."""
        runs = {run.run_id: run for run in batch if run.team_id is not None}
        rows, candidates = await asyncio.gather(
            self._reads.fetch(
                _Q["rules"],
                team_ids=list({run.team_id for run in runs.values()}),
                since=min(
                    (due_of(run.run_id) for run in batch if run.cause == CLAIM), default=None
                ),
            ),
            self._candidates(runs),
        )
        rules = {row["team_id"]: _rules(row) for row in rows}
        now: datetime = rows[0]["now"] if rows else await self._reads.clock()
        gate_ids = {gate_id for run in candidates.values() for gate_id in run.gate_ids}
        beside = sum(run.cause == GATE for run in runs.values())
        lines = await self._lines(gate_ids, len(batch) + beside, beside) if gate_ids else None
        return AdmissionFacts(now, rules, candidates, lines)

    async def open_runs(self, jobs: Mapping[UUID, OpenRuns]) -> dict[UUID, list[OpenRun]]:
        """See `domain.ports.WaitingRoom`."""
        known = [run for place in jobs.values() for run in place.runs]
        rows = await self._reads.fetch(
            _Q["open_runs"],
            job_ids=list(jobs),
            sinces=[place.since for place in jobs.values()],
            known_ids=known,
            known_due_ats=[due_of(run) for run in known],
        )
        found: dict[UUID, list[OpenRun]] = {job_id: [] for job_id in jobs}
        for row in rows:
            found[row["job_id"]].append(_open_run(row))
        return found

    async def cancel_runs(self, run_ids: Sequence[UUID], reason: str) -> None:
        """See `domain.ports.WaitingRoom`. One after the other: it is rare that they are many."""
        for run_id in run_ids:
            await self._reads.fetch(
                _MANUAL["cancel"], run_id=run_id, due_at=due_of(run_id), reason=reason
            )

    async def wake_waiting(self, job_ids: Collection[UUID]) -> list[Waiting]:
        """See `domain.ports.WaitingRoom`."""
        rows = await self._reads.fetch(
            _Q["wake_waiting"], blockers=[str(job_id) for job_id in job_ids]
        )
        return [Waiting(**row) for row in rows]

    async def carry_out(
        self, holder: UUID, epochs: Mapping[int, int], decisions: Sequence[Decision]
    ) -> CarriedOut:
        """See `domain.ports.WaitingRoom`."""
        wanted = {decision.waiting.partition for decision in decisions}
        rules = {
            team_id: decision.rules
            for decision in decisions
            if (team_id := decision.waiting.team_id) is not None and decision.rules is not None
        }
        row = await self._decided.fetchrow(
            _Q["carry_out"],
            holder=holder,
            **fence_columns(wanted, epochs),
            team_ids=list(rules),
            rules_revisions=[rule.revision for rule in rules.values()],
            valid_untils=[rule.valid_until for rule in rules.values()],
            suspect_after=SUSPECT_AFTER,
            **_columns(decisions),
        )
        assert row is not None
        return CarriedOut(
            refused=wanted.difference(row["fenced"]),
            outdated=rules.keys() - set(row["believed"]),
            stale=set(row["changed"]),
            contended=set(row["contended"]),
            pools=set(row["pools"]),
            gates=set(row["gates"]) - {None},
        )

    async def gate_lines(self, gate_ids: Collection[int] | None, limit: int) -> Lines:
        """See `domain.ports.WaitingRoom`."""
        return await self._lines(gate_ids, limit)

    async def _lines(self, gate_ids: Collection[int] | None, limit: int, beside: int = 0) -> Lines:
        rows = await self._reads.fetch(
            _Q["gate_lines"],
            gate_ids=None if gate_ids is None else [*gate_ids],
            limit=limit,
            beside=beside,
        )
        if not rows:
            return Lines(await self._reads.clock())
        places, runs = defaultdict[int, list[RankedRun]](list), {}
        for row in rows:
            if row["run_id"] is not None:
                places[row["gate_id"]].append(RankedRun(row["line_rank"], row["run_id"]))
                columns = {column: row[column] for column in _IN_LINE}
                runs[row["run_id"]] = Waiting(ready_at=IN_LINE, **columns)
        return Lines(rows[0]["now"], {row["gate_id"]: _gate(row) for row in rows}, places, runs)

    async def record_open_since(
        self, holder: UUID, epochs: Mapping[int, int], since: Mapping[UUID, datetime]
    ) -> None:
        """See `domain.ports.WaitingRoom`."""
        partitions = [partition_of(job_id) for job_id in since]
        await self._reads.fetch(
            _Q["record_open_since"],
            holder=holder,
            **fence_columns(set(partitions), epochs),
            job_ids=list(since),
            job_partitions=partitions,
            sinces=list(since.values()),
        )

    async def _candidates(self, runs: Mapping[UUID, Waiting]) -> dict[UUID, Candidate]:
        if not runs:
            return {}
        rows = await self._reads.fetch(
            _Q["candidates"], run_ids=list(runs), due_ats=[due_of(run) for run in runs]
        )
        return {
            row["id"]: Candidate(
                id=row["id"],
                due_at=row["due_at"],
                claimed_at=row["claimed_at"],
                kind=_KINDS[row["kind"]],
                state=_STATES[row["state"]],
                attempt=row["attempt"],
                cancel_at=row["cancel_at"],
                awaits_replay=bool(row["awaits_replay"]),
                cause=runs[row["id"]].cause_under(row["job_revision"]),
                fire_at=row["fire_at"],
                job_id=row["job_id"],
                job_revision=row["job_revision"],
                open_since=row["open_since"],
                labels=_LABELS.decode(row["labels"]),
                overlap=overlap_of(_OVERLAP.decode(row["overlap"])),
                allow_overlap=row["allow_overlap"],
                priority=row["priority"],
                gate_ids=tuple(row["gate_ids"]),
            )
            for row in rows
        }


def _open_run(row: asyncpg.Record) -> OpenRun:
    return OpenRun(
        row["id"],
        row["due_at"],
        row["claimed_at"],
        _KINDS[row["kind"]],
        _STATES[row["state"]],
        row["attempt"],
        row["cancel_at"],
        bool(row["awaits_replay"]),
    )


def _rules(row: asyncpg.Record) -> Rules:
    windows = _WINDOWS.decode(row["windows"])
    return Rules(row["rules_revision"], windows, row["valid_until"])


def _gate(row: asyncpg.Record) -> Gate:
    rate = None if row["rate"] is None else parse_rate(row["rate"])
    return Gate(
        row["gate_id"],
        row["kind"],
        row["name"],
        row["run_limit"],
        rate,
        row["next_start_at"],
        row["taken"],
        row["revision"],
    )


def _columns(decisions: Sequence[Decision]) -> dict[str, object]:
    """Return what the statement is told of its decisions, column by column."""
    places = [decision.waiting for decision in decisions]
    verdicts = [decision.verdict for decision in decisions]
    jobs = {
        decision.job_id: decision.job_revision
        for decision in decisions
        if decision.job_id is not None
    }
    return {
        "run_ids": [place.run_id for place in places],
        "run_partitions": [place.partition for place in places],
        "ready_ats": [place.ready_at for place in places],
        "states": unless_usual((verdict.state for verdict in verdicts), RunState.QUEUED),
        "reasons": unless_usual((verdict.reason for verdict in verdicts), ""),
        "untils": unless_usual((verdict.until for verdict in verdicts), None),
        "causes": unless_usual((verdict.cause for verdict in verdicts), ""),
        "blockers": unless_usual((verdict.blocker for verdict in verdicts), ""),
        "asked": unless_usual((decision.asked for decision in decisions), None),
        "ranks": unless_usual((decision.rank for decision in decisions), None),
        "job_ids": unless_usual((decision.job_id for decision in decisions), None),
        "asked_job_ids": list(jobs),
        "job_revisions": list(jobs.values()),
    } | _gate_columns(decisions)


def _gate_columns(decisions: Sequence[Decision]) -> dict[str, object]:
    """Return what is to happen at gates: lines column by column, and each permit."""
    lines = [decision.line for decision in decisions]
    permits = [
        (decision.waiting.run_id, permit) for decision in decisions for permit in decision.permits
    ]
    revisions: dict[int, int | None] = dict.fromkeys(line.gate_id for line in lines if line)
    revisions |= {permit.gate_id: permit.revision for _, permit in permits}
    return {
        "line_gates": unless_usual((line and line.gate_id for line in lines), None),
        "line_ranks": unless_usual((line and line.rank for line in lines), None),
        "line_revisions": unless_usual((decision.let_in for decision in decisions), None),
        "permit_runs": [run_id for run_id, _ in permits],
        "permit_dues": [due_of(run_id) for run_id, _ in permits],
        "permit_gates": [permit.gate_id for _, permit in permits],
        "next_starts": unless_usual((permit.next_start_at for _, permit in permits), None),
        "gate_ids": list(revisions),
        "gate_revisions": list(revisions.values()),
    }
