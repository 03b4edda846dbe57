"""Why a run failed: what its owner wants to know of it in one look."""

from __future__ import annotations

from uuid import UUID

from matins.domain.runs.attempts import Result
from matins.domain.runs.dead import RunFailure
from matins.domain.runs.fingerprint import Failure, failure_of
from matins.domain.runs.states import Outcome
from matins.domain.values.errors import ConflictError
from matins.domain.views import AttemptRecord
from matins.store.dead import PostgresDeadLetters
from matins.store.reads import PostgresReads


class PostgresFailures:
    """Reads why runs failed. A replica will do for it."""

    def __init__(self, reads: PostgresReads, letters: PostgresDeadLetters) -> None:
        self._reads = reads
        self._letters = letters

    async def of_run(self, run_id: UUID) -> RunFailure:
        """Return why a run failed. Raises NotFoundError, and ConflictError if no attempt of it
        did.
        """
        attempts = await self._reads.attempts(run_id)
        failed = [
            (attempt.number, failure)
            for attempt in attempts
            if (failure := _failure_of(attempt)).error
        ]
        if not failed:
            raise ConflictError("no attempt of the run has failed")
        [status] = await self._reads.statuses([run_id])
        number, failure = failed[-1]
        letter = await self._letters.of_run(run_id)
        return RunFailure(run_id, status.team, status.job, number, *failure, letter)


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
