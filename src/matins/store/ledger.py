"""What due times are computed anew from, and compared with: revisions of jobs, and rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

import asyncpg
import msgspec

from matins.domain.audit import LedgerRow, Revision
from matins.domain.jobs.spec import JobSpec, JobState
from matins.store.database import Fetch
from matins.store.queries import load_queries
from matins.store.timings import KnownCalendars, timing_of

_Q = load_queries("ledger.sql")


async def revisions_of(
    fetch: Fetch, calendars: KnownCalendars, job_ids: Sequence[UUID]
) -> tuple[dict[UUID, list[Revision]], dict[UUID, str]]:
    """Return the revisions of jobs; and of which jobs one can't be read, with the reason."""
    revisions: dict[UUID, list[Revision]] = defaultdict(list)
    faults: dict[UUID, str] = {}
    rows = await fetch(_Q["revisions"], job_ids=list(job_ids))
    versions = await calendars.versions(fetch, rows)
    for row in rows:
        try:
            spec = msgspec.json.decode(row["spec"], type=JobSpec)
            timing = timing_of(row, versions)
        except Exception as error:  # of this one job; the others are told of all the same
            faults[row["job_id"]] = f"a stored revision can't be read: {error}"
            continue
        revision = Revision(
            row["effective_at"], JobState(row["state"]), timing, spec, row["revision"]
        )
        revisions[row["job_id"]].append(revision)
    return revisions, faults


def ledger_row(row: asyncpg.Record) -> LedgerRow:
    """Return what a row says of its due time, or of all that it stands for."""
    fields: set[str] = set(LedgerRow.__struct_fields__)
    return msgspec.convert(
        {name: value for name, value in row.items() if name in fields}, LedgerRow
    )
