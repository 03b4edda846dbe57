"""Why a run failed: what its owner wants to know of it in one look."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

import asyncpg

from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.attempts import Result
from matins.domain.runs.dead import LastSuccess, RunFailure
from matins.domain.runs.fingerprint import Failure, failure_of
from matins.domain.runs.states import Outcome
from matins.domain.values.errors import ConflictError
from matins.domain.views import AttemptRecord
from matins.store.database import Database
from matins.store.dead import PostgresDeadLetters
from matins.store.past import around
from matins.store.queries import load_queries
from matins.store.reads import PostgresReads
from matins.store.revisions import changes_since

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

    async def of_run(self, run_id: UUID) -> RunFailure:
        """Return why a run failed. Raises NotFoundError, and ConflictError if no attempt of it
        did.
        """
        attempt, failure = _last_failure(await self._reads.attempts(run_id))
        [status] = await self._reads.statuses([run_id])
        before = await self._before(status, failure.fingerprint)
        success, changes = None, []
        if before["run_id"]:
            success = LastSuccess(before["run_id"], before["due_at"], before["started_at"])
            span = success.started_at, attempt.started_at
            changes = await changes_since(self._database, before["job_id"], *span, REVISIONS_MAX)
        return RunFailure(
            run_id=run_id,
            team=status.team,
            job=status.job,
            attempt=attempt.number,
            error=failure.error,
            fingerprint=failure.fingerprint,
            letter=await self._letters.of_run(run_id),
            failed_alike=before["failed_alike"],
            looked_at=before["looked_at"],
            last_success=success,
            changes=changes,
        )

    async def _before(self, status: RunStatus, fingerprint: str) -> asyncpg.Record:
        """Return counts of the runs of its job before it, of the last weeks, and a success."""
        query = around(status.due_at - LOOK_BACK, status.due_at).pin(_Q["runs_before"])
        args = {"run_id": status.id, "due_at": status.due_at, "fingerprint": fingerprint}
        [row] = await self._database.fetch(query, **args, limit=RUNS_MAX)
        return row


def _last_failure(attempts: Sequence[AttemptRecord]) -> tuple[AttemptRecord, Failure]:
    """Return the last attempt that failed, and why. Raises ConflictError if none did."""
    for attempt in reversed(attempts):
        if (failure := _failure_of(attempt)).fingerprint:
            return attempt, failure
    raise ConflictError("no attempt of the run has failed")


def _failure_of(attempt: AttemptRecord) -> Failure:
    """Return why an attempt failed, by what was recorded of it."""
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
