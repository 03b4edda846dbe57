"""The revisions of a job, as its owner sees them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.jobs.history import Snapshot, changes_between
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.runs.dead import ChangeSince
from matins.domain.schedules.schedule import Override
from matins.domain.values.errors import NotFoundError
from matins.domain.views import RevisionPage, RevisionRecord
from matins.store.database import Database
from matins.store.queries import load_queries
from matins.store.reads import PostgresReads

_Q = load_queries("revisions.sql")
_LAST: Final = 2**31 - 1


class PostgresRevisions:
    """Reads revisions. A replica will do for it."""

    def __init__(self, database: Database, reads: PostgresReads) -> None:
        self._database = database
        self._reads = reads

    async def page(self, team: str, name: str, before: int | None, limit: int) -> RevisionPage:
        """Return a job's revisions, newest first, also of one that was deleted.

        Raises NotFoundError.
        """
        return await self.page_of(await self._reads.job_id(team, name), before, limit)

    async def page_of(self, job_id: UUID, before: int | None, limit: int) -> RevisionPage:
        """Return revisions of the job of an id, newest first."""
        rows = await self._database.fetch(
            _Q["page"], job_id=job_id, before=_LAST if before is None else before, limit=limit
        )
        revisions = _records(rows)[:limit]
        if len(rows) > limit:
            return RevisionPage(revisions, revisions[-1].revision)
        is_cut = bool(revisions) and revisions[-1].revision > 1
        return RevisionPage(revisions, kept_since=revisions[-1].at if is_cut else None)

    async def show(self, team: str, name: str, revision: int) -> RevisionRecord:
        """Return one revision of a job. Raises NotFoundError."""
        if 0 < revision < _LAST:
            page = await self.page(team, name, revision + 1, 1)
            if page.revisions and page.revisions[0].revision == revision:
                return page.revisions[0]
        raise NotFoundError(f"the job {name!r} has no revision {revision} (any more)")


async def changes_since(
    database: Database, job_id: UUID, after: datetime, until: datetime, limit: int
) -> list[ChangeSince]:
    """Return the changes of a job between two instants, newest first, of its newest revisions."""
    rows = await database.fetch(_Q["page"], job_id=job_id, before=_LAST, limit=limit)
    return [
        ChangeSince(record.revision, record.at, record.author, record.reason, record.changes)
        for record in _records(rows)[:limit]
        if after < record.at <= until and record.revision > 1
    ]


def _records(rows: Sequence[asyncpg.Record]) -> list[RevisionRecord]:
    """Return revisions from their rows, newest first; of the last one no change is known."""
    snapshots = [_snapshot(row) for row in rows]
    records = []
    for index, (row, (snapshot, fault)) in enumerate(zip(rows, snapshots, strict=True)):
        changes = ["created"] if row["revision"] == 1 else []
        if index + 1 < len(rows):
            changes = changes_between(snapshots[index + 1][0], snapshot)
        record = RevisionRecord(
            revision=row["revision"],
            at=row["at"],
            state=snapshot.state,
            spec=snapshot.spec,
            author=row["author"],
            reason=row["reason"],
            changes=changes,
            overrides=list(snapshot.overrides),
            fault=fault,
        )
        records.append(record)
    return records


def _snapshot(row: asyncpg.Record) -> tuple[Snapshot, str]:
    """Return what a job is by a revision, and why its spec can't be read, if it can't."""
    spec, fault = None, ""
    try:
        spec = msgspec.json.decode(row["spec"], type=JobSpec)
    except msgspec.DecodeError as error:
        fault = str(error)
    overrides = msgspec.json.decode(row["overrides"], type=list[Override])
    return Snapshot(JobState(row["state"]), spec, overrides, row["calendars"]), fault
