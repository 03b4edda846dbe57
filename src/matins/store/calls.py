"""What the attempts of a run call: its job's target as it was, and what was changed of it."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

import msgspec

from matins.domain.jobs.spec import JobSpec
from matins.domain.runs.inputs import GivenInput
from matins.domain.values.errors import NotFoundError
from matins.store.database import Database
from matins.store.past import around
from matins.store.queries import load_queries
from matins.store.reads import due_at_of, given_of

_Q = load_queries("calls.sql")


class RunCall(NamedTuple):
    """By what a run is called: the job by a revision of it, with what was given for the run.

    The `spec` is None where it is not kept any more, or can't be read.
    """

    job_id: UUID
    pool: str
    given: GivenInput
    revision: int | None = None
    spec: JobSpec | None = None


class PostgresCalls:
    """Reads what runs call. A replica will do for it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_run(self, run_id: UUID) -> RunCall:
        """Return by what a run is called. Raises NotFoundError."""
        due_at = due_at_of(run_id)
        query = around(due_at, due_at).pin(_Q["call"])
        row = await self._database.fetchrow(query, run_id=run_id, due_at=due_at)
        if row is None:
            raise NotFoundError(f"there is no run {run_id}")
        spec = _spec(row["spec"])
        return RunCall(row["job_id"], row["pool"], given_of(row), row["revision"], spec)


def _spec(text: str | None) -> JobSpec | None:
    try:
        return None if text is None else msgspec.json.decode(text, type=JobSpec)
    except msgspec.DecodeError:  # of another version
        return None
