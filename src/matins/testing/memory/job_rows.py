"""What is read of rows of `jobs` when jobs are changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID

from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.spec import JobState
from matins.domain.timetables.next_due import NextDue
from matins.testing.memory.world import JobRow, World


def locked_job(world: World, job: JobRow) -> LockedJob:
    """Return a job as a change of it finds it."""
    calendars = world.calendars
    return LockedJob(
        id=job.id,
        team=job.team,
        team_id=job.team_id,
        partition=job.partition,
        revision=job.revision,
        state=JobState(job.state),
        spec=job.spec,
        timing=job.timing,
        calendars=job.calendars,
        created_at=job.created_at,
        changed_at=job.changed_at,
        next_due=NextDue(job.next_due_at, job.next_fire_at, job.follows),
        reason=job.reason,
        is_behind=any(calendars[calendar].replaced_at is not None for calendar in job.calendars),
        paused_until=job.pause.until,
        resume_missed=job.pause.missed,
    )


def names_of(world: World, team: str, labels: Mapping[str, str], after: str) -> list[str]:
    """Return the names of a team's jobs that have all these labels, in order."""
    return sorted(
        job.spec.name
        for job in world.jobs.values()
        if job.team == team
        and job.state is not JobState.DELETED
        and job.spec.name > after
        and labels.items() <= job.spec.labels.items()
    )


def pauses_over(world: World, besides: Collection[UUID]) -> list[tuple[UUID, str, str]]:
    """Return id, team and name of jobs whose pause should have ended by now, the oldest first."""
    over = [
        (job.pause.until, job.id, job.team, job.spec.name)
        for job in world.jobs.values()
        if job.pause.until is not None and job.pause.until <= world.now() and job.id not in besides
    ]
    return [(job_id, team, name) for _, job_id, team, name in sorted(over)]
