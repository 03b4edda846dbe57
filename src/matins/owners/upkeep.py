"""What the upkeep changes of jobs, by the rules of their owners. See `domain.ports.jobs`."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
import structlog

from matins.domain.jobs import decisions
from matins.domain.jobs.authors import ENGINE, Author
from matins.domain.jobs.changes import JobRef, LockedJob
from matins.domain.jobs.decisions import JobChange
from matins.domain.jobs.revisions import ongoing
from matins.domain.jobs.spec import JobState
from matins.domain.ports import Hints
from matins.domain.ports.jobs import JobChanges, JobTransaction
from matins.domain.values.errors import NotFoundError, UnavailableError
from matins.kernel.hints import notify
from matins.kernel.metrics import UPKEEP_BROKEN
from matins.owners.changing import change_job, notify_changed
from matins.owners.recording import Reconciled, record_missing

PAGE: Final = 100
"""The most jobs that are looked for by one statement."""

PAUSE_OVER: Final = "its pause is over"
"""Why a job went on by itself."""

log = structlog.get_logger()


class OwnersUpkeep:
    """See `domain.ports.jobs.JobUpkeep` and `PausedJobs`."""

    def __init__(self, changes: JobChanges, hints: Hints) -> None:
        self._changes = changes
        self._hints = hints
        self._broken: set[UUID] = set()
        """Jobs of which the log says already that they can't go on."""

    async def end_pauses(self) -> None:
        """See `domain.ports.jobs.PausedJobs`."""
        broken: set[UUID] = set()
        while over := await self._changes.ended_pauses(broken, PAGE):
            for job_id, team, name in over:
                try:
                    done = await change_job(
                        self._changes,
                        team,
                        name,
                        decisions.end_pause,
                        author=Author(ENGINE, PAUSE_OVER),
                    )
                except NotFoundError:
                    continue  # deleted meanwhile
                except UnavailableError:
                    raise
                except Exception as error:  # of this one job; the others go on all the same
                    broken.add(job_id)
                    if job_id not in self._broken:
                        UPKEEP_BROKEN.inc()
                        log.warning("pause.not_ended", job=str(job_id), error=str(error))
                else:
                    await notify_changed(self._hints, [done])
        self._broken = broken

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
            revision = ongoing(locked, change, now, reason)
            author = Author(ENGINE, reason)
            await tx.write_revision(locked, msgspec.structs.replace(revision, author=author))
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
