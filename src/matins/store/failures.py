"""Why a run failed: what its owner wants to know of it in one look."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from uuid import UUID

import asyncpg

from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.attempts import Result
from matins.domain.runs.dead import ChangeSince, LastSuccess, RunFailure
from matins.domain.runs.fingerprint import Failure, failure_of
from matins.domain.runs.states import Outcome
from matins.domain.values.errors import ConflictError
from matins.domain.views import AttemptRecord
from matins.store.database import Database
from matins.store.dead import PostgresDeadLetters
from matins.store.past import around
from matins.store.queries import load_queries
from matins.store.reads import PostgresReads
from matins.store.revisions import PostgresRevisions

_Q = load_queries("dead.sql")

LOOK_BACK: Final = timedelta(days=30)
RUNS_MAX: Final = 1_000
"""So far, and at so many runs at most, it is looked back for alike failures and a success."""

REVISIONS_MAX: Final = 50
"""The most changes of a job that are looked at."""


class PostgresFailures:
    """Reads why runs failed. A replica will do for it."""

    def __init__(self, database: Database, reads: PostgresReads) -> None:
        self._database = database
        self._reads = reads
        self._letters = PostgresDeadLetters(database)
        self._revisions = PostgresRevisions(database, reads)

    async def of_run(self, run_id: UUID) -> RunFailure:
        """Return why a run failed. Raises NotFoundError, and ConflictError if no attempt of it
        did.
        """
        attempts = await self._reads.attempts(run_id)
        failed = [
            (attempt, failure)
            for attempt in attempts
            if (failure := _failure_of(attempt)).fingerprint
        ]
        if not failed:
            raise ConflictError("no attempt of the run has failed")
        [status] = await self._reads.statuses([run_id])
        attempt, failure = failed[-1]
        before = await self._before(status, failure.fingerprint)
        success = (
            LastSuccess(before["run_id"], before["due_at"], before["started_at"])
            if before["run_id"]
            else None
        )
        return RunFailure(
            *(run_id, status.team, status.job, attempt.number),
            *failure,
            await self._letters.of_run(run_id),
            failed_alike=before["failed_alike"],
            looked_at=before["looked_at"],
            last_success=success,
            changes=await self._changes(status, success, attempt) if success else [],
        )

    async def _before(self, status: RunStatus, fingerprint: str) -> asyncpg.Record:
        """Return what is told of the runs of its job before it, of the last weeks."""
        job_id = await self._reads.job_id(status.team, status.job)
        query = around(status.due_at - LOOK_BACK, status.due_at).pin(_Q["runs_before"])
        args = {"job_id": job_id, "due_at": status.due_at, "fingerprint": fingerprint}
        [row] = await self._database.fetch(query, **args, limit=RUNS_MAX)
        return row

    async def _changes(
        self, status: RunStatus, success: LastSuccess, attempt: AttemptRecord
    ) -> list[ChangeSince]:
        page = await self._revisions.page(status.team, status.job, None, REVISIONS_MAX)
        return [
            ChangeSince(told.revision, told.at, told.author, told.reason, told.changes)
            for told in page.revisions
            if success.started_at < told.at <= attempt.started_at
        ]


def _failure_of(attempt: AttemptRecord) -> Failure:
    """Return why an attempt failed, as it was told when that was recorded."""
    if attempt.outcome is None:
        return Failure()
    result = Result(
        Outcome(attempt.outcome),
        attempt.reason,
        output=attempt.output,
        exit_code=attempt.exit_code,
        http_status=attempt.http_status,
    )
    return failure_of(result)
