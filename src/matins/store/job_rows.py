"""Rows of `jobs`: what stands in them, and what is written into them."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

import asyncpg
import msgspec
import structlog

from matins.domain.jobs.keeping import kept
from matins.domain.jobs.misfire import Misfire
from matins.domain.jobs.spec import PRIORITIES, Job, JobSpec, JobState
from matins.domain.schedules.schedule import Override
from matins.domain.views import UnreadableJob
from matins.kernel.metrics import JOBS_UNREADABLE

log = structlog.get_logger()


def job_of(row: asyncpg.Record, team: str) -> Job:
    """Return a job from its row."""
    return Job(
        id=row["id"],
        team=team,
        revision=row["revision"],
        state=JobState(row["state"]),
        spec=msgspec.json.decode(row["spec"], type=JobSpec),
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        next_due_at=row["next_due_at"],
        next_fire_at=row["next_fire_at"],
        reason=row["reason"],
        overrides=msgspec.json.decode(row["overrides"], type=list[Override]),
        paused_until=row["paused_until"],
    )


def readable(
    rows: Iterable[tuple[str, asyncpg.Record]],
) -> tuple[list[Job], list[UnreadableJob]]:
    """Read jobs of teams from their rows; what can't be read is told apart and stops no other."""
    jobs, unreadable = [], []
    for team, row in rows:
        try:
            jobs.append(job_of(row, team))
        except Exception as error:  # whatever somebody has put there
            unreadable.append(unreadable_job(row["id"], team, row["name"], error))
    return jobs, unreadable


def unreadable_job(job_id: UUID, team: str, name: str, error: Exception) -> UnreadableJob:
    """Return what is told of a job that can't be read or computed; the log and a metric say it."""
    JOBS_UNREADABLE.inc()
    log.error("job.unreadable", job=str(job_id), team=team, name=name, error=str(error))
    return UnreadableJob.because(job_id, team, name, error)


def spec_columns(spec: JobSpec) -> dict[str, object]:
    """Return the columns that follow from what the owner wrote."""
    return {
        "spec": as_json(spec),
        "schedule": None if spec.schedule is None else as_json(spec.schedule),
        "misfire": as_json(_in_full(spec.misfire)),
        "overlap": spec.overlapping.policy,
        "pool": spec.pool,
        "priority": PRIORITIES[spec.priority],
        "keep": None if spec.keep is None else as_json(spec.keep),
        "keep_days": None if spec.keep is None else kept(spec.keep).longest_days,
    }


def _in_full(misfire: Misfire) -> dict[str, object]:
    """Return a policy with its defaults written out: another version may have others."""
    fields = msgspec.structs.asdict(misfire)
    return {name: value for name, value in fields.items() if value is not None}


def as_json(value: object) -> str:
    """Write a value as JSON text."""
    return msgspec.json.encode(value).decode()
