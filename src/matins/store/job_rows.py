"""Rows of `jobs`: what stands in them, and what is written into them."""

from __future__ import annotations

import asyncpg
import msgspec

from matins.domain.jobs import PRIORITIES, Job, JobSpec, JobState
from matins.domain.keeping import kept
from matins.domain.schedules.schedule import Exemption


def job_of(row: asyncpg.Record, team: str) -> Job:
    """A job from its row."""
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
        exemptions=msgspec.json.decode(row["exemptions"], type=list[Exemption]),
    )


def spec_columns(spec: JobSpec) -> dict[str, object]:
    """The columns that follow from what the owner wrote."""
    return {
        "spec": as_json(spec),
        "schedule": None if spec.schedule is None else as_json(spec.schedule),
        "misfire": as_json(spec.misfire),
        "pool": spec.pool,
        "priority": PRIORITIES[spec.priority],
        "keep": None if spec.keep is None else as_json(spec.keep),
        "keep_days": None if spec.keep is None else kept(spec.keep).longest_days,
    }


def as_json(value: object) -> str:
    """Write a value as JSON text."""
    return msgspec.json.encode(value).decode()
