"""The audit: what should have happened beside what is recorded, job by job."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from matins.domain.audit import (
    AuditedJob,
    AuditSpan,
    LedgerRow,
    Revision,
    audit,
    rows_since,
    unaudited,
)
from matins.domain.chain_audit import LeaderDue, audit_chain, leaders, with_chain
from matins.domain.time.instants import FIRST_DUE
from matins.domain.values.errors import InvalidInputError
from matins.domain.values.names import check_name
from matins.domain.views import AuditPage, JobAudit
from matins.store.database import Database
from matins.store.fleet import PostgresFleet
from matins.store.ledger import ledger_row, revisions_of
from matins.store.past import around, newest_runs_before
from matins.store.queries import load_queries
from matins.store.timings import KnownCalendars

USUAL = timedelta(days=1)
"""How far an audit looks back, unless it is told."""

PAGE = 50
"""The most jobs that are looked at for one page."""

PAGE_DUE = 200_000
"""A page ends after the job with which it has come to so many due times."""

_Q = load_queries("audits.sql")
_FIRST_ID = UUID(int=0)


class PostgresAudits:
    """Audits jobs, in pages."""

    def __init__(self, database: Database, calendars: KnownCalendars) -> None:
        self._database = database
        self._calendars = calendars
        self._fleet = PostgresFleet(database)

    async def page(
        self,
        team: str | None,
        job: str | None,
        since: datetime | None,
        until: datetime | None,
        after: UUID | None,
    ) -> AuditPage:
        """Audit the next jobs by id; without a span, their last day."""
        fleet = await self._fleet.read()
        latest = min(until or fleet.now, fleet.now)
        until = max(latest.replace(microsecond=0), FIRST_DUE)
        since = max((since or until - USUAL).replace(microsecond=0), FIRST_DUE)
        if since >= until:
            raise InvalidInputError.at("since", "must lie before `until` and before now")
        # due times are whole seconds, but a job made in this very second is to be seen as well
        subjects = await self._subjects(team, job, since, latest, after)
        ids = [subject.id for subject in subjects]
        revisions, faults = await revisions_of(self._database.fetch, self._calendars, ids)
        span = AuditSpan(since, until, fleet.now)
        audits: list[JobAudit] = []
        rows_from = {subject.id: rows_since(revisions[subject.id], span) for subject in subjects}
        # the row before may reach into the span
        begins = {
            subject.id: revisions[subject.id][0].effective_at
            for subject in subjects
            if revisions[subject.id]
        }
        before = await newest_runs_before(self._database.fetch, rows_from, begins)
        for subject in subjects:
            if subject.id in faults:
                audits.append(unaudited(subject, faults[subject.id]))
                continue
            rows = await self._rows(subject.id, rows_from[subject.id], until)
            if subject.id in before:
                rows.insert(0, ledger_row(before[subject.id]))
            # in a thread, since other requests are not to wait for it
            finding = await asyncio.to_thread(
                audit, subject, revisions[subject.id], rows, span, fleet
            )
            if names := leaders(revisions[subject.id]):
                finding = with_chain(
                    finding, await self._chain(subject, revisions[subject.id], names, span)
                )
            audits.append(finding)
            if sum(audit.due for audit in audits) >= PAGE_DUE:
                break
        is_last = len(audits) == len(subjects) < PAGE
        return AuditPage(since, until, audits, None if is_last else audits[-1].id)

    async def _subjects(
        self,
        team: str | None,
        job: str | None,
        since: datetime,
        until: datetime,
        after: UUID | None,
    ) -> list[AuditedJob]:
        args: dict[str, object] = {
            "after": after or _FIRST_ID,
            "since": since,
            "until": until,
            "limit": PAGE,
        }
        query = _Q["subjects"]
        if team is not None:
            check_name("team", team)
            query = _Q["subjects_of_team"]
            args["team"] = team
        if job is not None:
            check_name("job", job)
            if team is None:
                raise InvalidInputError.at("team", "is missing; a job is named by team and name")
            query = _Q["subjects_of_name"]
            args["name"] = job
        rows = await self._database.fetch(query, **args)
        return [msgspec.convert(dict(row), AuditedJob) for row in rows]

    async def _chain(
        self, job: AuditedJob, revisions: list[Revision], names: list[str], span: AuditSpan
    ) -> JobAudit:
        args = {"job_id": job.id, "since": span.since, "until": span.until}
        days = around(span.since, span.until)
        rows = await self._database.fetch(days.pin(_Q["chained_rows"]), **args)
        led = await self._database.fetch(days.pin(_Q["leader_rows"]), names=names, **args)
        due = [msgspec.convert(dict(row), LeaderDue) for row in led]
        return audit_chain(job, revisions, [ledger_row(row) for row in rows], due, span)

    async def _rows(self, job_id: UUID, since: datetime, until: datetime) -> list[LedgerRow]:
        query = around(since, until).pin(_Q["rows"])
        rows = await self._database.fetch(query, job_id=job_id, since=since, until=until)
        return [ledger_row(row) for row in rows]
