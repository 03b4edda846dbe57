"""What the upkeep changes of jobs, by the rules of their owners. See `domain.ports.jobs`."""

from __future__ import annotations

from datetime import datetime

from matins.domain.jobs.changes import JobRef, LockedJob
from matins.domain.jobs.decisions import JobChange
from matins.domain.jobs.revisions import ongoing
from matins.domain.jobs.spec import JobState
from matins.domain.ports import Hints
from matins.domain.ports.jobs import JobChanges, JobTransaction
from matins.kernel.hints import notify
from matins.owners.recording import Reconciled, record_missing


class OwnersUpkeep:
    """See `domain.ports.jobs.JobUpkeep`."""

    def __init__(self, changes: JobChanges, hints: Hints) -> None:
        self._changes = changes
        self._hints = hints

    async def delete_ended(self, job: JobRef, reason: str) -> bool:
        """See `domain.ports.jobs.JobUpkeep`."""

        async def step(tx: JobTransaction) -> bool:
            locked = await _lock_same(tx, job)
            if locked is None or locked.next_due.due_at is not None:
                return False
            if await tx.has_unfinished_runs(job.id):
                return False
            now = max(await tx.now(), locked.changed_at)
            change = JobChange(locked.spec, JobState.DELETED, "deleted")
            await tx.write_revision(locked, ongoing(locked, change, now, reason))
            return True

        done = await self._changes.transact(step)
        if done:
            await notify(self._hints, "jobs", str(job.id))
        return done

    async def skip_missing(
        self, job: JobRef, *, after: datetime, now: datetime, reason: str
    ) -> bool:
        """See `domain.ports.jobs.JobUpkeep`."""
        since = after

        async def step(tx: JobTransaction) -> Reconciled | None:
            locked = await _lock_same(tx, job)
            if locked is None:
                return None
            return await record_missing(tx, locked, now, after=since, reason=reason)

        while (done := await self._changes.transact(step)) is not None and not done.complete:
            since = done.until
        return done is not None


async def _lock_same(tx: JobTransaction, job: JobRef) -> LockedJob | None:
    """Lock a job if it is still the one that was read."""
    locked = await tx.lock_job(job.team, job.name)
    if locked is None or (locked.id, locked.revision) != (job.id, job.revision):
        return None
    return locked
