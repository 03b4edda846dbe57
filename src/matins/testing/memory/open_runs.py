"""The unfinished runs of jobs in memory, and since when they are to be looked for."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from matins.domain.jobs.revisions import JobRevision
from matins.domain.runs.admission.open_runs import MARGIN, OpenRun
from matins.domain.runs.admission.waiting import TO_BE_ADMITTED
from matins.domain.runs.states import RunState
from matins.testing.memory.rows import BEGINNING, RunRow
from matins.testing.memory.world import World


def rows_of(world: World, job_id: UUID, since: datetime = BEGINNING) -> list[RunRow]:
    """Return the unfinished runs of a job that were due from an instant on."""
    runs = world.runs_by_job.get(job_id, [])
    return [run for run in runs if run.due_at >= since and run.finished_at is None]


def open_run(run: RunRow) -> OpenRun:
    """Return what admission knows of an unfinished run."""
    return OpenRun(
        run.id,
        run.due_at,
        run.claimed_at,
        run.kind,
        run.state,
        run.attempt,
        run.cancel_at,
        bool(run.awaits_replay),
    )


def revise(world: World, job_id: UUID, revision: JobRevision) -> None:
    """Write what a job becomes; where nobody has kept it, look since when runs are unfinished."""
    job = world.jobs[job_id]
    if job.spec.overlapping.policy == "allow" and revision.spec.overlapping.policy != "allow":
        dues = [run.due_at for run in rows_of(world, job_id)]
        coming = [at for at in (job.next_due_at, job.follows, job.woken) if at is not None]
        job.open_since = min([*dues, *coming, revision.at - MARGIN])
    world.revise(job, revision)


def insert_recorded(world: World, run: RunRow) -> None:
    """Insert a run that was due before; if it is to run, it is asked about where that matters."""
    job = world.jobs[run.job_id]
    is_asked = job.spec.overlapping.policy != "allow" or world.is_gated(job.id)
    if run.state is RunState.QUEUED and is_asked:
        run.state, run.reason = RunState.WAITING, TO_BE_ADMITTED
    if not world.insert(run):
        return
    world.place(run)
    if run.state is RunState.WAITING:
        job.open_since = min(job.open_since, run.due_at)
