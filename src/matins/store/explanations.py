"""Explanations: reads what is recorded around one run or due time, and lets it be told."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.jobs.windows import Window
from matins.domain.runs.chains import Link
from matins.domain.runs.outlook import HOLDERS_TOLD, RunHolder
from matins.domain.runs.states import Kind, RunState
from matins.domain.values.errors import ConflictError, NotFoundError
from matins.domain.views import Run
from matins.insight.why.chain_story import is_open
from matins.insight.why.due_story import (
    explain_due,
    first_to_come,
    last_unrecorded,
    with_outlook,
)
from matins.insight.why.explanation import Explanation
from matins.insight.why.facts import (
    Asked,
    DueFacts,
    ExplainedJob,
    GateSeen,
    PoolExecutor,
    RunFacts,
    SameDue,
    WaitingPlace,
)
from matins.insight.why.run_story import explain_run
from matins.store.chains import links_of
from matins.store.database import Database
from matins.store.fleet import PostgresFleet
from matins.store.ledger import ledger_row, revisions_of
from matins.store.outlooks import PostgresOutlooks
from matins.store.past import LATEST, around, day_ranges
from matins.store.queries import load_queries
from matins.store.reads import PostgresReads, due_at_of
from matins.store.timings import KnownCalendars
from matins.store.windows import windows_of

_Q = load_queries("explanations.sql")
_DUE = [Kind.SCHEDULED, Kind.CHAINED]
_NOT_MADE_UP = [*_DUE, Kind.MANUAL]

LOOK_BACK = timedelta(days=12)
"""How far the runs that a chain follows are looked for."""


class PostgresExplanations:
    """Explains single runs and due times. A replica will do for all of it."""

    def __init__(self, database: Database, reads: PostgresReads, calendars: KnownCalendars) -> None:
        self._database = database
        self._reads = reads
        self._calendars = calendars
        self._fleet = PostgresFleet(database)
        self._outlooks = PostgresOutlooks(database)

    async def of_run(self, run: UUID) -> Explanation:
        """Explain a run. Raises NotFoundError."""
        row = await self._run(run)
        return await self._of_run(await self._asked(row["job_id"]), row)

    async def of_job(self, team: str, name: str, at: datetime | None) -> Explanation:
        """Explain what became of a job's due time at an instant; without one, of its last one, and
        what comes next. Raises NotFoundError.
        """
        asked = await self._asked(await self._reads.job_id(team, name))
        if at is not None:
            return await self._at(asked, at)
        recorded = await self._newest(asked.job, LATEST, _DUE)
        until = None if recorded is None else recorded["due_until"] or recorded["due_at"]
        due = await asyncio.to_thread(last_unrecorded, asked, until)
        link = await self._link(asked, asked.now)
        if link is not None and is_open(asked, link, until):
            due = link.due_at
        newest = await self._newest(asked.job, LATEST, _NOT_MADE_UP)
        if due is not None:
            explanation = await self._of_due(asked, due)
        elif newest is not None:
            explanation = await self._of_run(asked, await self._run(newest["id"]))
        else:
            coming = await asyncio.to_thread(first_to_come, asked)
            explanation = await self._of_due(asked, coming or asked.now)
        return await asyncio.to_thread(with_outlook, asked, explanation)

    async def _asked(self, job_id: UUID) -> Asked:
        row = await self._database.fetchrow(_Q["job"], job_id=job_id)
        assert row is not None, "jobs are never removed"
        revisions, faults = await revisions_of(self._database.fetch, self._calendars, [job_id])
        fields = dict(row) | {"revisions": revisions[job_id], "fault": faults.get(job_id, "")}
        return Asked(msgspec.convert(fields, ExplainedJob), await self._fleet.read())

    async def _at(self, asked: Asked, at: datetime) -> Explanation:
        """Explain an instant: by the run that was due then, if there is one."""
        rows = await self._runs_at(asked.job, at)
        if rows and rows[0]["due_until"] in {None, at}:
            return await self._of_run(asked, await self._run(rows[0]["id"]))
        return await self._of_due(asked, at)

    async def _runs_at(self, job: ExplainedJob, at: datetime) -> list[asyncpg.Record]:
        query = around(at, at).pin(_Q["runs_at"])
        return await self._database.fetch(query, job_id=job.id, at=at)

    async def _newest(
        self, job: ExplainedJob, until: datetime, kinds: list[Kind]
    ) -> asyncpg.Record | None:
        """Return the job's newest row of some kinds; before its begin there was none."""
        begin = job.revisions[0].effective_at if job.revisions else None
        async for days in day_ranges(self._database.fetch, until):
            if begin is not None and days.past <= begin:
                return None
            args = {"job_id": job.id, "until": until, "kinds": kinds}
            if (row := await self._database.fetchrow(days.pin(_Q["newest"]), **args)) is not None:
                return row
        return None

    async def _link(self, asked: Asked, until: datetime) -> Link | None:
        """Return the last due time, up to an instant, of a job that is due with the runs of others,
        and how those stand.
        """
        revisions = asked.job.revisions
        if not revisions or not revisions[-1].spec.upstream:
            return None
        query = around(until - LOOK_BACK, until).pin(_Q["link"])
        rows = await self._database.fetch(query, job_id=asked.job.id, until=until)
        return next(links_of(rows), None)

    async def _run(self, run_id: UUID) -> asyncpg.Record:
        due_at = due_at_of(run_id)
        query = around(due_at, due_at).pin(_Q["run"])
        row = await self._database.fetchrow(query, run_id=run_id)
        if row is None:
            raise NotFoundError(f"there is no run {run_id}")
        return row

    async def _of_run(self, asked: Asked, row: asyncpg.Record) -> Explanation:
        run = msgspec.convert(dict(row), Run)
        others = [
            SameDue(other["id"], other["kind"], other["state"], other["made_at"])
            for other in await self._runs_at(asked.job, run.due_at)
            if other["id"] != run.id
        ]
        attempts = await self._reads.attempts(run.id)
        facts = RunFacts(run, row["pool"], attempts, others=others)
        if run.kind == Kind.CHAINED:
            facts = _with(facts, link=await self._link(asked, run.due_at))
        if run.state is RunState.WAITING:
            facts = _with(facts, place=await self._place(run.id))
        if run.state is RunState.QUEUED:
            with suppress(ConflictError):  # it has started meanwhile
                facts = _with(facts, outlook=await self._outlooks.of(run.id))
        if run.state is RunState.RUNNING:
            seen = await self._database.fetchrow(_Q["executor"], id=row["executor"])
            facts = _with(facts, executor=seen and PoolExecutor(**seen))
        return await asyncio.to_thread(explain_run, asked, facts)

    async def _place(self, run_id: UUID) -> WaitingPlace | None:
        """Return a run's place in the waiting room, and of a gate's line what the gate is."""
        row = await self._database.fetchrow(_Q["place"], run_id=run_id)
        if row is None:
            return None
        place = WaitingPlace(row["cause"], row["blocker"])
        if row["gate_id"] is None:
            return place
        gate_id, line_rank = row["gate_id"], row["line_rank"]
        gate = await self._database.fetchrow(
            _Q["gate"], gate_id=gate_id, line_rank=line_rank, run_id=run_id
        )
        holders = await self._database.fetch(_Q["holders"], gate_id=gate_id, limit=HOLDERS_TOLD)
        assert gate is not None, "gates are never removed"
        permit_holders = [RunHolder(**holder) for holder in holders]
        return msgspec.structs.replace(place, gate=GateSeen(**gate, holders=permit_holders))

    async def _of_due(self, asked: Asked, at: datetime) -> Explanation:
        job = asked.job
        before = await self._newest(job, at, _DUE)
        covers = before is not None and before["due_until"] and before["due_until"] >= at
        windows: list[Window] = []
        if at > asked.now and job.revisions:
            labels = job.revisions[-1].spec.labels
            until = at + timedelta(days=1)  # jitter is shorter
            windows = await windows_of(self._database, job.team, labels, at, until)
        facts = DueFacts(
            at,
            ledger_row(before) if before is not None and covers else None,
            windows,
            await self._link(asked, at),
        )
        return await asyncio.to_thread(explain_due, asked, facts)


def _with(facts: RunFacts, **more: object) -> RunFacts:
    return msgspec.structs.replace(facts, **more)
