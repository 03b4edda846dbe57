"""The audit fails where something should have happened by now, and says what is missing for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest

from matins.domain.audit import AuditedJob, AuditSpan, LedgerRow, Revision, audit
from matins.domain.executors.fleet import Fleet, why_waits
from matins.domain.executors.protocol import RunStatus
from matins.domain.jobs.spec import Job, JobSpec, JobState
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.values.ids import partition_of
from matins.domain.views import JobAudit

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
JOB = UUID("0c6d14c7-b7f3-4093-a887-c5939e928b5d")
SPEC = JobSpec("job", Target(command=CommandTarget(["true"])), Schedule(cron="* * * * *"))


def minute(count: float) -> datetime:
    return NOON + timedelta(minutes=count)


NOW = minute(10)
ALIVE = Fleet(NOW, frozenset(range(256)), seen_at=NOW, executors={"default": 2})


def audited(rows: list[LedgerRow], fleet: Fleet = ALIVE, watermark: float = 10) -> JobAudit:
    """Return the audit of the due times in the first four minutes after noon."""
    subject = AuditedJob(JOB, "payments", "job", minute(watermark))
    revision = Revision(NOON, JobState.ACTIVE, Timing(NOON, NOON), SPEC)
    return audit(subject, [revision], rows, AuditSpan(NOON, minute(5), fleet.now), fleet)


def row(at: float, state: RunState = RunState.SUCCEEDED, **given: object) -> LedgerRow:
    made = LedgerRow(minute(at), state, claimed_at=minute(at), pool="default")
    return msgspec.structs.replace(made, **given)


def rows(state: RunState) -> list[LedgerRow]:
    return [row(at, state) for at in (1, 2, 3, 4)]


def test_every_end_of_a_run_is_counted_apart() -> None:
    ends = (RunState.SUCCEEDED, RunState.DEAD, RunState.CANCELLED, RunState.RUNNING)
    found = audited([row(at, state) for at, state in enumerate(ends, 1)])
    assert (found.succeeded, found.dead, found.cancelled, found.unfinished) == (1, 1, 1, 1)
    assert found.holds


def test_due_times_that_are_pending_for_over_a_minute_fail_the_audit() -> None:
    found = audited([row(1)], watermark=1.5)
    assert (found.pending, found.overdue, found.agrees, found.holds) == (3, 3, True, False)


def test_what_has_been_due_for_less_than_a_minute_does_not() -> None:
    fleet = msgspec.structs.replace(ALIVE, now=minute(4.9))
    found = audited([row(at) for at in (1, 2, 3)], fleet, watermark=3.5)
    assert (found.pending, found.overdue, found.holds) == (1, 0, True)


@pytest.mark.parametrize(
    ("held", "cause"),
    [
        (frozenset(), "no scheduler is alive; the last was seen at 2026-03-02T12:10:00Z"),
        (frozenset(range(256)) - {partition_of(JOB)}, "no scheduler holds partition 193"),
        (frozenset(range(256)), "the scheduler of partition 193 is behind"),
    ],
)
def test_the_cause_of_what_is_overdue_is_named(held: frozenset[int], cause: str) -> None:
    found = audited([], msgspec.structs.replace(ALIVE, held=held), watermark=0)
    assert found.causes == [cause]


def test_runs_that_no_executor_takes_fail_the_audit() -> None:
    queued = msgspec.structs.replace(ALIVE, executors={"gpu": 1}, queued_since={"default": NOON})
    found = audited(rows(RunState.QUEUED), queued)
    assert (found.unfinished, found.stalled, found.holds) == (4, 4, False)
    assert found.causes == ["no executor serves pool default"]


def test_so_do_runs_behind_a_queue_that_is_too_long() -> None:
    found = audited(
        rows(RunState.QUEUED), msgspec.structs.replace(ALIVE, queued_since={"default": NOON})
    )
    assert found.stalled == 4
    assert found.causes == ["the queue of pool default is 10m long; executors that serve it: 2"]


def test_a_run_that_has_only_just_come_to_the_queue_does_not() -> None:
    late = [row(at, RunState.QUEUED, claimed_at=minute(6)) for at in (1, 2, 3, 4)]
    assert audited(late, msgspec.structs.replace(ALIVE, queued_since={"default": NOON})).holds


def test_nor_does_one_that_a_maintenance_window_holds() -> None:
    held = [row(at, RunState.WAITING, reason="held by maintenance") for at in (1, 2, 3, 4)]
    assert audited(held, msgspec.structs.replace(ALIVE, queued_since={"default": NOON})).holds


def test_a_retry_whose_time_passed_over_a_minute_ago_fails_the_audit() -> None:
    waiting = row(4, RunState.RETRYING, attempt=1, retry_at=minute(8.5))
    gone = msgspec.structs.replace(ALIVE, held=frozenset())
    found = audited([row(1), row(2), row(3), waiting], gone)
    assert (found.stalled, found.holds) == (1, False)
    assert found.causes[0].startswith("no scheduler is alive")


def job(fires: datetime, state: JobState = JobState.ACTIVE) -> Job:
    return Job(JOB, "payments", 1, state, SPEC, NOON, NOON, fires, fires)


def test_a_job_that_was_to_fire_over_a_minute_ago_is_overdue_and_says_why() -> None:
    dead = msgspec.structs.replace(ALIVE, held=frozenset())
    assert dead.overdue(job(minute(8))).startswith("no scheduler is alive")
    assert dead.overdue(job(minute(9.5))) == ""
    assert dead.overdue(job(minute(8), JobState.PAUSED)) == ""


def test_a_job_whose_next_due_time_is_not_written_yet_is_not_overdue() -> None:
    claimed = msgspec.structs.replace(ALIVE, watermarks={partition_of(JOB): minute(9)})
    assert claimed.overdue(job(minute(8))) == ""


@pytest.mark.parametrize(
    ("state", "reason", "attempt", "told"),
    [
        (RunState.QUEUED, "", 0, "no executor serves pool gpu"),
        (RunState.QUEUED, "HTTP 503", 1, "HTTP 503; no executor serves pool gpu"),
        (RunState.WAITING, "held by maintenance", 0, "held by maintenance"),
        (RunState.DEAD, "HTTP 503", 3, "HTTP 503"),
    ],
)
def test_a_queued_run_says_that_no_executor_serves_its_pool(
    state: RunState, reason: str, attempt: int, told: str
) -> None:
    run = RunStatus(JOB, "payments", "job", "scheduled", state, NOON, NOON, attempt, reason)
    assert why_waits(run, "gpu", {"default"}) == told
    assert why_waits(run, "gpu", {"gpu"}) == reason
