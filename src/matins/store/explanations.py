"""Explanations: reads what is recorded around one run or due time, and lets it be told."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.runs.states import RunState
from matins.domain.values.errors import NotFoundError
from matins.domain.views import Run
from matins.insight.why.due_story import (
    explain_due,
    first_to_come,
    last_unrecorded,
    with_outlook,
)
from matins.insight.why.explanation import Explanation
from matins.insight.why.facts import Asked, DueFacts, ExecutorSeen, ExplainedJob, Place, RunFacts
from matins.insight.why.run_story import explain_run
from matins.store.database import Database
from matins.store.fleet import PostgresFleet
from matins.store.ledger import ledger_row, revisions_of
from matins.store.past import LATEST, around, day_ranges, newest_runs_before
from matins.store.queries import load_queries
from matins.store.reads import PostgresReads, due_at_of
from matins.store.timings import KnownCalendars
from matins.store.windows import windows_of

_Q = load_queries("explanations.sql")
_TICK = timedelta(microseconds=1)


class PostgresExplanations:
    """Explains single runs and due times. A replica will do for all of it."""

    def __init__(self, database: Database, reads: PostgresReads, calendars: KnownCalendars) -> None:
        self._database = database
        self._reads = reads
        self._calendars = calendars
        self._fleet = PostgresFleet(database)

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
        fetch, job_id = self._database.fetch, asked.job.id
        recorded = (await newest_runs_before(fetch, {job_id: LATEST}, _begins(asked.job))).get(
            job_id
        )
        until = None if recorded is None else recorded["due_until"] or recorded["due_at"]
        due = await asyncio.to_thread(last_unrecorded, asked, until)
        newest = await self._newest(asked.job)
        if due is not None:
            told = await self._of_due(asked, due)
        elif newest is not None:
            told = await self._of_run(asked, await self._run(newest))
        else:
            coming = await asyncio.to_thread(first_to_come, asked)
            told = await self._of_due(asked, coming or asked.now)
        return await asyncio.to_thread(with_outlook, asked, told)

    async def _asked(self, job_id: UUID) -> Asked:
        row = await self._database.fetchrow(_Q["job"], job_id=job_id)
        assert row is not None, "jobs are never removed"
        revisions, faults = await revisions_of(self._database.fetch, self._calendars, [job_id])
        fields = dict(row) | {"revisions": revisions[job_id], "fault": faults.get(job_id, "")}
        return Asked(msgspec.convert(fields, ExplainedJob), await self._fleet.read())

    async def _at(self, asked: Asked, at: datetime) -> Explanation:
        """Explain an instant: by the run that was due then, if there is one."""
        query = around(at, at).pin(_Q["run_at"])
        row = await self._database.fetchrow(query, job_id=asked.job.id, at=at)
        if row is not None and (row["due_until"] is None or row["due_until"] == at):
            return await self._of_run(asked, await self._run(row["id"]))
        return await self._of_due(asked, at)

    async def _newest(self, job: ExplainedJob) -> UUID | None:
        """Return the job's newest run that no backfill made; by its begin there was none before."""
        begin = _begins(job).get(job.id)
        async for days in day_ranges(self._database.fetch):
            if begin is not None and days.past <= begin:
                return None
            query = days.pin(_Q["newest_run"])
            if (row := await self._database.fetchrow(query, job_id=job.id)) is not None:
                newest: UUID = row["id"]
                return newest
        return None

    async def _run(self, run_id: UUID) -> asyncpg.Record:
        due_at = due_at_of(run_id)
        query = around(due_at, due_at).pin(_Q["run"])
        row = await self._database.fetchrow(query, run_id=run_id)
        if row is None:
            raise NotFoundError(f"there is no run {run_id}")
        return row

    async def _of_run(self, asked: Asked, row: asyncpg.Record) -> Explanation:
        run = msgspec.convert(dict(row), Run)
        facts = RunFacts(run, row["pool"], await self._reads.attempts(run.id))
        if run.state is RunState.WAITING:
            place = await self._database.fetchrow(_Q["place"], run_id=run.id)
            facts = _with(facts, place=place and Place(**place))
        if run.state is RunState.RUNNING:
            seen = await self._database.fetchrow(_Q["executor"], id=row["executor"])
            facts = _with(facts, executor=seen and ExecutorSeen(**seen))
        return await asyncio.to_thread(explain_run, asked, facts)

    async def _of_due(self, asked: Asked, at: datetime) -> Explanation:
        job, fetch = asked.job, self._database.fetch
        before = (await newest_runs_before(fetch, {job.id: at + _TICK}, _begins(job))).get(job.id)
        covers = before is not None and before["due_until"] and before["due_until"] >= at
        facts = DueFacts(at, ledger_row(before) if before is not None and covers else None)
        if at > asked.now and job.revisions:
            labels = job.revisions[-1].spec.labels
            until = at + timedelta(days=1)  # jitter is shorter
            windows = await windows_of(self._database, job.team, labels, at, until)
            facts = DueFacts(at, facts.range, windows)
        return await asyncio.to_thread(explain_due, asked, facts)


def _begins(job: ExplainedJob) -> dict[UUID, datetime]:
    """Return since when the job has rows, if that is known."""
    return {job.id: job.revisions[0].effective_at} if job.revisions else {}


def _with(facts: RunFacts, **more: object) -> RunFacts:
    return msgspec.structs.replace(facts, **more)
