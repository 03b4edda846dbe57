"""What the upkeep reads and corrects of jobs, in memory. See `domain.ports.upkeep`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from matins.domain.audit import Revision
from matins.domain.jobs.changes import JobRef
from matins.domain.jobs.spec import JobState
from matins.domain.runs.following import RecordedRun
from matins.domain.upkeep.auto_delete import EndedJob
from matins.domain.upkeep.zone_data import ComputedWith, Correction, ScheduledJob
from matins.testing.memory.changes import LOCK_S, recorded
from matins.testing.memory.world import JobRow, World


class MemoryEndedJobs:
    """See `domain.ports.upkeep.EndedJobs`."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def ended_jobs(self, after: UUID, limit: int) -> list[EndedJob]:
        """See `domain.ports.upkeep.EndedJobs`."""
        rows = []
        for job in _by_id(self._world.jobs.values(), after):
            schedule = job.spec.schedule
            is_at_its_end = job.next_due_at is None and job.follows is None
            if is_at_its_end and schedule is not None and schedule.delete_after is not None:
                ended = EndedJob(
                    job=_ref(job),
                    delete_after=schedule.delete_after,
                    changed_at=job.changed_at,
                    newest_run=_newest_run(self._world, job.id),
                    now=self._world.now(),
                )
                rows.append(ended)
        return rows[:limit]


class MemoryNextDueTimes:
    """See `domain.ports.upkeep.NextDueTimes`."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def computed_with(self) -> ComputedWith:
        """See `domain.ports.upkeep.NextDueTimes`."""
        return ComputedWith(*self._world.zone_data, self._world.now())

    async def record_version(self, version: str) -> None:
        """See `domain.ports.upkeep.NextDueTimes`."""
        known, _ = self._world.zone_data
        if known is None or known <= version:
            self._world.zone_data = version, self._world.now()

    async def jobs_ahead(self, after: UUID, now: datetime, limit: int) -> list[ScheduledJob]:
        """See `domain.ports.upkeep.NextDueTimes`."""
        rows = []
        for job in _by_id(self._world.jobs.values(), after):
            due, schedule = job.next_due_at, job.spec.schedule
            if schedule is not None and due is not None and due > now and job.follows is None:
                timing, fire = job.timing, job.next_fire_at
                scheduled = ScheduledJob(_ref(job), schedule, timing, job.changed_at, due, fire)
                rows.append(scheduled)
        return rows[:limit]

    async def newest_runs(self, job_ids: Collection[UUID]) -> Mapping[UUID, RecordedRun]:
        """See `domain.ports.upkeep.NextDueTimes`."""
        newest = {job_id: _newest_run(self._world, job_id) for job_id in job_ids}
        return {job_id: run for job_id, run in newest.items() if run is not None}

    async def correct(self, corrections: Sequence[Correction]) -> int:
        """See `domain.ports.upkeep.NextDueTimes`."""
        await self._world.locks.free((correction.job.id for correction in corrections), LOCK_S)
        return sum(self._correct(correction) for correction in corrections)

    def _correct(self, correction: Correction) -> bool:
        now = self._world.now()
        job = self._world.jobs[correction.job.id]
        is_same = job.revision == correction.job.revision and job.state is JobState.ACTIVE
        due = correction.next_due.due_at
        if not is_same or job.next_due_at != correction.was_due_at:
            return False
        if min(correction.was_due_at, due or correction.was_due_at) <= now:
            return False
        job.revision += 1
        job.changed_at = max(job.changed_at, now)
        job.next_due_at, job.next_fire_at, _ = correction.next_due
        kept = Revision(job.changed_at, job.state, job.timing, job.spec)
        self._world.revisions[job.id].append(kept)
        self._world.wake_chains(job, due)
        return True


def _by_id(jobs: Iterable[JobRow], after: UUID) -> list[JobRow]:
    active = [job for job in jobs if job.state is JobState.ACTIVE and job.id > after]
    return sorted(active, key=lambda job: job.id)


def _newest_run(world: World, job_id: UUID) -> RecordedRun | None:
    runs = world.scheduled(job_id)
    return recorded(max(runs, key=lambda run: run.due_at)) if runs else None


def _ref(job: JobRow) -> JobRef:
    return JobRef(job.team, job.spec.name, job.id, job.revision)
