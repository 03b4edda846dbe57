"""The audit of jobs that follow the ends of their runs: each due time is checked by the row before.

The job is due 15 minutes after the end of its last run, and each run lasts for a minute.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from matins.domain.audit import AuditedJob, AuditSpan, LedgerRow, Revision, audit, rows_since
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.views import JobAudit

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
JOB = UUID("0c6d14c7-b7f3-4093-a887-c5939e928b5d")
FOLLOWING = Schedule(every="15m", after="end")
HOURLY = Schedule(cron="0 * * * *")


def minute(count: float) -> datetime:
    return NOON + timedelta(minutes=count)


def revision(
    at: float,
    schedule: Schedule | None = FOLLOWING,
    state: JobState = JobState.ACTIVE,
    *,
    since: float = 0,
    program: str = "true",
) -> Revision:
    target = Target(command=CommandTarget([program]))
    spec = JobSpec("job", target, schedule)
    return Revision(minute(at), state, Timing(NOON, minute(since)), spec)


def ran(*minutes: float, lasted: float = 1) -> list[LedgerRow]:
    return [
        LedgerRow(minute(at), RunState.SUCCEEDED, finished_at=minute(at + lasted)) for at in minutes
    ]


def runs(due: float) -> LedgerRow:
    return LedgerRow(minute(due), RunState.RUNNING)


def skipped(due: float, at: float) -> LedgerRow:
    return LedgerRow(minute(due), RunState.SKIPPED, "misfire: skip", finished_at=minute(at))


def audited(
    revisions: list[Revision],
    rows: list[LedgerRow],
    *,
    since: float = 0,
    until: float = 60,
    now: float = 60.5,
    watermark: float = 60,
) -> JobAudit:
    subject = AuditedJob(JOB, "payments", "job", minute(watermark))
    return audit(subject, revisions, rows, AuditSpan(minute(since), minute(until), minute(now)))


def test_a_span_may_end_within_the_second_after_a_due_time() -> None:
    found = audited([revision(0)], [*ran(15, 31), runs(47)], until=47.005, now=47.005)
    assert (found.due, found.unfinished, found.holds) == (3, 1, True)


def test_all_is_well_when_each_due_time_follows_the_end_before_it() -> None:
    found = audited([revision(0)], ran(15, 31, 47))
    assert (found.due, found.succeeded, found.holds) == (3, 3, True)


def test_the_rows_may_come_in_any_order() -> None:
    assert audited([revision(0)], [*ran(47), *ran(15), *ran(31)]).holds


def test_nothing_is_due_while_a_run_goes_on() -> None:
    found = audited([revision(0)], [*ran(15), runs(31)])
    assert (found.due, found.unfinished, found.holds) == (2, 1, True)


def test_a_chain_that_never_began_is_found() -> None:
    assert audited([revision(0)], []).missing == [minute(15)]


def test_a_chain_that_stands_still_is_found() -> None:
    assert audited([revision(0)], ran(15, 31)).missing == [minute(47)]


@pytest.mark.parametrize(("now", "watermark"), [(60.5, 46.9), (47.1, 60)])
def test_what_may_still_be_claimed_is_pending(now: float, watermark: float) -> None:
    found = audited([revision(0)], ran(15, 31), now=now, watermark=watermark)
    assert (found.due, found.pending, found.holds) == (3, 1, True)


def test_what_lies_behind_the_window_is_not_expected_yet() -> None:
    found = audited([revision(0)], ran(15, 31), until=47)
    assert (found.due, found.holds) == (2, True)


def test_a_run_that_came_too_early_is_unexpected_and_the_chain_goes_on_from_it() -> None:
    found = audited([revision(0)], ran(15, 30, 46))
    assert (found.due, found.unexpected, found.missing) == (2, [minute(30)], [])


def test_a_run_that_came_too_late_is_unexpected_and_the_right_one_missing() -> None:
    found = audited([revision(0)], ran(15, 33, 49))
    assert (found.missing, found.unexpected) == ([minute(31)], [minute(33)])


def test_a_run_beside_one_that_goes_on_is_unexpected() -> None:
    found = audited([revision(0)], [runs(15), *ran(31, 47)])
    assert found.unexpected == [minute(31)]


def test_a_window_begins_with_the_row_before_it() -> None:
    assert audited([revision(0)], ran(31, 47), since=40).due == 1
    assert audited([revision(0)], ran(31), since=40).missing == [minute(47)]
    assert audited([revision(0)], ran(31, 46), since=40).unexpected == [minute(46)]
    assert audited([revision(0)], [runs(31)], since=40).holds


def test_a_skipped_due_time_ends_when_it_is_put_on_record() -> None:
    assert audited([revision(0)], [skipped(15, 20.5), *ran(35.5, 51.5)]).holds


def test_a_change_of_something_else_leaves_the_chain_alone() -> None:
    revisions = [revision(0), revision(20, program="false")]
    assert audited(revisions, ran(15, 31, 47)).holds


def test_a_new_delay_counts_from_the_change() -> None:
    revisions = [revision(0), revision(20, Schedule(every="10m", after="end"), since=20)]
    assert audited(revisions, ran(15, 30, 41, 52)).holds
    assert audited(revisions, ran(15, 31, 47)).missing[0] == minute(30)


def test_a_new_delay_counts_from_the_end_of_a_run_that_goes_on() -> None:
    revisions = [revision(0), revision(15.5, Schedule(every="10m", after="end"), since=15.5)]
    assert audited(revisions, ran(15, 26, 37, 48, 59)).holds


def test_an_end_that_was_being_written_at_the_change_may_count_as_after_it() -> None:
    revisions = [revision(0), revision(16.02, Schedule(every="10m", after="end"), since=16.02)]
    assert audited(revisions, ran(15, 26, 37, 48, 59)).holds
    after = minute(26) + timedelta(seconds=2)
    assert audited(revisions, [*ran(15), LedgerRow(after, RunState.QUEUED)]).holds


def test_a_pause_ends_a_chain_and_the_next_one_begins_after_it() -> None:
    revisions = [revision(0), revision(20, state=JobState.PAUSED), revision(40)]
    assert audited(revisions, ran(15, 55)).holds
    assert audited(revisions, ran(15, 31, 55)).unexpected == [minute(31)]
    assert audited(revisions, ran(15)).missing == [minute(55)]


def test_what_was_due_before_a_pause_must_be_on_record() -> None:
    revisions = [revision(0), revision(35, state=JobState.PAUSED)]
    assert audited(revisions, ran(15)).missing == [minute(31)]
    assert audited(revisions, [*ran(15), skipped(31, 35)]).holds


def test_nothing_is_due_once_a_job_is_deleted() -> None:
    revisions = [revision(0), revision(20, state=JobState.DELETED)]
    assert audited(revisions, ran(15)).holds


def test_a_schedule_of_its_own_before_and_after_keeps_its_due_times() -> None:
    revisions = [
        revision(-90, HOURLY, since=-90),
        revision(5, since=5),
        revision(45, HOURLY, since=45),
    ]
    rows = [*ran(-60, 0), *ran(20, 36), *ran(60)]
    assert audited(revisions, rows, since=-80, until=61, now=90, watermark=90).holds
    found = audited(revisions, rows[:-1], since=-80, until=61, now=90, watermark=90)
    assert found.missing == [minute(60)]


def test_a_job_is_due_so_often_and_no_more() -> None:
    twice = Schedule(every="15m", after="end", max_runs=2)
    assert audited([revision(0, twice)], ran(15, 31)).holds
    assert audited([revision(0, twice)], ran(15)).missing == [minute(31)]
    assert audited([revision(0, twice)], ran(15, 31, 47)).unexpected == [minute(47)]


def test_runs_before_the_window_count_too() -> None:
    twice = Schedule(every="15m", after="end", max_runs=2)
    span = AuditSpan(minute(40), minute(60), minute(60))
    assert rows_since([revision(0, twice, since=3)], span) == minute(3)
    assert rows_since([revision(0, since=3)], span) == minute(40)
    assert audited([revision(0, twice)], ran(15, 31), since=40).holds
