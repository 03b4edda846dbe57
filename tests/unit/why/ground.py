"""A job, a run of it and who is alive, for tests of what is told of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec

from matins.domain.audit import Revision
from matins.domain.executors.fleet import Fleet
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.chains import Link, UpstreamRun
from matins.domain.runs.states import Kind, RunState
from matins.domain.schedules.after_jobs import AfterJobs
from matins.domain.schedules.schedule import Override, Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.values.ids import partition_of, run_id
from matins.domain.views import AttemptRecord, Run
from matins.insight.why.facts import Asked, ExplainedJob, RunFacts

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
JOB = UUID("0c6d14c7-b7f3-4093-a887-c5939e928b5d")
HOURLY = Schedule(cron="0 * * * *")
CHAINED = Schedule(after=AfterJobs(["extract", "load"]))


def hour(count: float) -> datetime:
    """So many hours after noon, at which the job was made."""
    return NOON + timedelta(hours=count)


def second(count: float) -> datetime:
    """So many seconds after the due time at 13:00."""
    return hour(1) + timedelta(seconds=count)


def revision(
    at: float,
    number: int = 1,
    state: JobState = JobState.ACTIVE,
    schedule: Schedule | None = HOURLY,
    overrides: tuple[Override, ...] = (),
) -> Revision:
    spec = JobSpec("nightly", Target(command=CommandTarget(["true"])), schedule)
    return Revision(hour(at), state, Timing(NOON, NOON, overrides=overrides), spec, number)


def job(*revisions: Revision, **more: object) -> ExplainedJob:
    """The job with these revisions; all its due times up to the watermark, 13:00, have rows."""
    told = list(revisions or [revision(0)])
    made = ExplainedJob(JOB, "payments", "nightly", told[-1].state, "", told, watermark=hour(1))
    return msgspec.structs.replace(made, **more)


def fleet(now: datetime, *, held: bool = True, **more: object) -> Fleet:
    """Who is alive: a scheduler that holds all partitions, and two executors of pool default."""
    made = Fleet(
        now,
        held=frozenset([partition_of(JOB)] if held else []),
        seen_at=hour(0),
        executors={"default": 2},
    )
    return msgspec.structs.replace(made, **more)


def asked(told: ExplainedJob | None = None, *, now: datetime | None = None) -> Asked:
    now = now or second(30)
    return Asked(told or job(), fleet(now))


def facts(state: RunState, *, pool: str = "default", **more: object) -> RunFacts:
    """What is recorded of the run due at 13:00."""
    run = Run(
        id=run_id(JOB, hour(1), Kind.SCHEDULED),
        team="payments",
        job="nightly",
        kind=Kind.SCHEDULED,
        state=state,
        due_at=hour(1),
        fire_at=hour(1),
        attempt=0,
        claimed_at=second(0.01),
    )
    return RunFacts(msgspec.structs.replace(run, **more), pool)


def attempt(
    number: int, began: float, ended: float | None, outcome: str = "failed", reason: str = "exit 1"
) -> AttemptRecord:
    finished_at = None if ended is None else second(ended)
    return AttemptRecord(
        number, "worker-1", second(began), finished_at, None if ended is None else outcome, reason
    )


def link(*upstream: UpstreamRun, due_at: datetime | None = None) -> Link:
    """What the job waits for whose schedule is `CHAINED`, at 13:00."""
    return Link(
        job_id=JOB,
        partition=partition_of(JOB),
        revision=1,
        pool="default",
        when="all_success",
        due_at=due_at or hour(1),
        upstream=upstream,
    )
