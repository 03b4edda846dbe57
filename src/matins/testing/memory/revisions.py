"""What a world knows of jobs as they were, and of the backfills that call them so."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from matins.domain.audit import Revision
from matins.domain.jobs.spec import JobSpec
from matins.domain.runs.backfills.expansion import JobPast, PastRevision
from matins.testing.memory.rows import BackfillRow, RunRow
from matins.testing.memory.world import JobRow, World


def past_of(world: World, job: JobRow) -> JobPast:
    """Return a job as it was."""
    kept = [
        PastRevision(number, revision.effective_at, revision.state, revision.timing, revision.spec)
        for number, revision in _numbered(world, job)
    ]
    return JobPast(job.id, kept)


def spec_of(world: World, run: RunRow) -> JobSpec:
    """Return by what a run is called: its job as it is, or as it was at the run's revision."""
    job = world.jobs[run.job_id]
    specs = {number: revision.spec for number, revision in _numbered(world, job)}
    return job.spec if run.revision is None else specs[run.revision]


def unfinished_backfill(world: World, job_id: UUID) -> BackfillRow | None:
    """Return the backfill of a job that has not come to its end."""
    for row in world.backfills.values():
        if row.job_id == job_id and row.finished_at is None:
            return row
    return None


def _numbered(world: World, job: JobRow) -> Iterator[tuple[int, Revision]]:
    """Yield the revisions that are kept of a job, with their numbers."""
    kept = world.revisions[job.id]
    return enumerate(kept, job.revision - len(kept) + 1)
