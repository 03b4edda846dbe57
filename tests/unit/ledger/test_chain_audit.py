"""The audit of a job that is due with another's runs: row by row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from matins.domain.audit import AuditedJob, AuditSpan, LedgerRow, Revision
from matins.domain.chain_audit import LeaderDue, audit_chain
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.states import RunState
from matins.domain.schedules.after_jobs import AfterJobs
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.views import JobAudit

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
JOB = AuditedJob(UUID(int=7), "team", "load")


def minute(count: float) -> datetime:
    return NOON + timedelta(minutes=count)


def revision(
    at: float, leader: str | None = "extract", state: JobState = JobState.ACTIVE
) -> Revision:
    schedule = Schedule(after=AfterJobs([leader])) if leader else None
    spec = JobSpec("load", Target(command=CommandTarget(["true"])), schedule)
    return Revision(minute(at), state, Timing(NOON, minute(0)), spec)


def due(
    at: float,
    *,
    open_since: float | None = None,
    claimed: float | None = None,
    job: str = "extract",
) -> LeaderDue:
    opened = None if open_since is None else minute(open_since)
    return LeaderDue(job, minute(at), minute(at if claimed is None else claimed), open_since=opened)


def row(at: float, state: RunState = RunState.SUCCEEDED, reason: str = "") -> LedgerRow:
    return LedgerRow(minute(at), state, reason)


def audited(revisions: list[Revision], rows: list[LedgerRow], leader: list[LeaderDue]) -> JobAudit:
    return audit_chain(JOB, revisions, rows, leader, AuditSpan(minute(0), minute(60), minute(60)))


def test_each_row_of_the_leader_has_its_row() -> None:
    rows = [row(10), row(20, RunState.SKIPPED, "upstream extract failed")]
    found = audited([revision(0)], rows, [due(10), due(20)])
    assert (found.due, found.succeeded, found.agrees) == (2, 1, True)
    assert found.skipped == {"upstream extract failed": 1}


def test_what_could_have_started_and_has_no_row_is_missing() -> None:
    found = audited([revision(0)], [row(10)], [due(10), due(20, open_since=21)])
    assert (found.missing, found.agrees) == ([minute(20)], False)


def test_what_still_waits_for_an_end_is_pending() -> None:
    found = audited([revision(0)], [], [due(10)])
    assert (found.pending, found.agrees) == (1, True)


def test_a_row_that_stands_for_none_of_the_leader_is_unexpected() -> None:
    found = audited([revision(0)], [row(10), row(11)], [due(10)])
    assert (found.unexpected, found.agrees) == ([minute(11)], False)


def test_what_lay_before_the_chain_is_no_due_time_of_it() -> None:
    found = audited([revision(15)], [row(10)], [due(10), due(20, open_since=21)])
    assert (found.due, found.unexpected, found.missing) == (1, [minute(10)], [minute(20)])


def test_a_pause_that_has_ended_has_its_rows_and_one_that_goes_on_has_none() -> None:
    pause = [revision(0), revision(15, state=JobState.PAUSED)]
    leader = [due(20, open_since=21)]
    assert audited(pause, [], leader).agrees
    assert audited([*pause, revision(30)], [], leader).missing == [minute(20)]


def test_another_leader_counts_from_the_change_on() -> None:
    revisions = [revision(0), revision(15, "load-2")]
    leader = [due(10), due(20), due(20, job="load-2"), due(12, job="load-2")]
    found = audited(revisions, [row(10), row(20)], leader)
    assert (found.due, found.agrees) == (2, True)


def test_a_range_stands_for_many() -> None:
    until = minute(29)
    skipped = LedgerRow(minute(10), RunState.SKIPPED, "paused", until)
    found = audited([revision(0)], [skipped], [due(at) for at in range(10, 30)])
    assert (found.due, found.skipped, found.agrees) == (20, {"paused": 20}, True)


def test_a_row_that_came_about_as_the_chain_ended_may_be_due_or_not() -> None:
    revisions = [revision(0), revision(20.05, None)]
    leader = [due(20, claimed=20.05, open_since=21)]
    assert audited(revisions, [], leader).agrees
    assert audited(revisions, [row(20)], leader).agrees
