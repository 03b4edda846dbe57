"""The audit finds what is missing and what should not be there, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from matins.domain.audit import LIST_MAX, AuditedJob, AuditSpan, LedgerRow, Revision, audit
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.timetables.compiling import Timing
from matins.domain.views import JobAudit

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
JOB = UUID("0c6d14c7-b7f3-4093-a887-c5939e928b5d")
MINUTELY = Schedule(cron="* * * * *")
HOURLY = Schedule(cron="0 * * * *")


def minute(count: float) -> datetime:
    return NOON + timedelta(minutes=count)


def revision(
    at: float, schedule: Schedule | None = MINUTELY, state: JobState = JobState.ACTIVE
) -> Revision:
    target = Target(command=CommandTarget(["true"]))
    return Revision(minute(at), state, Timing(NOON, NOON), JobSpec("job", target, schedule))


def ran(*minutes: float, state: RunState = RunState.SUCCEEDED) -> list[LedgerRow]:
    return [LedgerRow(minute(at), state) for at in minutes]


def skipped(first: float, last: float | None = None, why: str = "paused") -> LedgerRow:
    until = None if last is None else minute(last)
    return LedgerRow(minute(first), RunState.SKIPPED, why, until)


def audited(
    revisions: list[Revision],
    rows: list[LedgerRow],
    *,
    until: float = 6,
    since: float = 0,
    now: float = 60,
    watermark: float = 60,
) -> JobAudit:
    subject = AuditedJob(JOB, "payments", "job", minute(watermark))
    return audit(subject, revisions, rows, AuditSpan(minute(since), minute(until), minute(now)))


def test_all_is_well_when_each_due_time_has_its_row() -> None:
    found = audited([revision(0)], ran(1, 2, 3, 4, 5))
    assert (found.due, found.succeeded, found.skipped, found.pending) == (5, 5, {}, 0)
    assert found.holds


def test_a_due_time_without_a_row_is_missing() -> None:
    found = audited([revision(0)], ran(1, 2, 4, 5))
    assert (found.missing, found.missing_count, found.holds) == ([minute(3)], 1, False)


@pytest.mark.parametrize(
    "rows",
    [
        [skipped(1, 3), *ran(3, 4, 5)],
        [skipped(1, 4), skipped(3), *ran(5)],
        [skipped(1, 3), skipped(3, 5)],
        [skipped(-5, 3), *ran(3, 4, 5)],
    ],
    ids=["range and run", "range and skip", "two ranges", "range that began before"],
)
def test_a_due_time_with_two_rows_is_doubled(rows: list[LedgerRow]) -> None:
    found = audited([revision(0)], rows)
    assert minute(3) in found.doubled
    assert found.doubled_count == len(found.doubled)
    assert (found.missing_count, found.holds) == (0, False)


def test_ranges_that_meet_double_nothing() -> None:
    assert audited([revision(0)], [skipped(1, 2), skipped(3, 4), *ran(5)]).holds


def test_a_row_without_a_due_time_is_unexpected() -> None:
    found = audited([revision(0)], ran(1, 2, 3, 3.5, 4, 5))
    assert (found.unexpected, found.holds) == ([minute(3.5)], False)


def test_a_row_of_before_the_job_was_made_is_unexpected() -> None:
    found = audited([revision(2.5)], ran(2, 3, 4, 5))
    assert found.unexpected == [minute(2)]


def test_what_was_skipped_is_counted_by_its_reason() -> None:
    rows = [skipped(1, why="misfire: last"), skipped(2, 4), *ran(5)]
    found = audited([revision(0)], rows)
    assert (found.skipped, found.succeeded) == ({"misfire: last": 1, "paused": 3}, 1)
    assert found.holds


def test_a_range_that_began_before_the_window_counts_within_it() -> None:
    found = audited([revision(-9)], [skipped(-8, 3), *ran(4, 5)])
    assert (found.due, found.skipped) == (6, {"paused": 4})
    assert found.holds


def test_a_range_does_not_hide_a_run_of_its_own() -> None:
    found = audited([revision(0)], [skipped(1, 5), *ran(3)])
    assert (found.succeeded, found.skipped) == (1, {"paused": 4})
    assert (found.doubled, found.holds) == ([minute(3)], False)


def test_a_due_time_belongs_to_the_last_revision_that_began_before_it() -> None:
    revisions = [revision(0), revision(3, HOURLY)]
    assert audited(revisions, ran(1, 2, 3)).holds
    assert audited(revisions, ran(1, 2)).missing == [minute(3)]
    assert audited(revisions, [*ran(1, 2, 3), *ran(5)]).unexpected == [minute(5)]


def test_a_claim_that_was_under_way_at_a_change_may_follow_the_old_revision() -> None:
    revisions = [revision(0), revision(2.9, HOURLY)]
    assert audited(revisions, ran(1, 2, 3)).holds
    assert audited(revisions, ran(1, 2)).holds


def test_nothing_is_expected_of_a_pause_while_it_lasts() -> None:
    revisions = [revision(0), revision(2.5, state=JobState.PAUSED)]
    assert audited(revisions, ran(1, 2)).holds


def test_a_pause_that_ended_must_be_on_record() -> None:
    revisions = [revision(0), revision(2.5, state=JobState.PAUSED), revision(4.5)]
    assert audited(revisions, [*ran(1, 2), skipped(3, 4), *ran(5)]).holds
    assert audited(revisions, ran(1, 2, 5)).missing == [minute(3), minute(4)]


def test_a_pause_under_another_schedule_ended_with_it() -> None:
    revisions = [
        revision(0),
        revision(2.5, state=JobState.PAUSED),
        revision(4.5, HOURLY, JobState.PAUSED),
    ]
    assert audited(revisions, ran(1, 2)).missing == [minute(3), minute(4)]


def test_nothing_is_due_once_a_job_is_deleted() -> None:
    revisions = [revision(0), revision(2.5, state=JobState.DELETED)]
    assert audited(revisions, ran(1, 2)).holds
    assert audited(revisions, ran(1, 2, 4)).unexpected == [minute(4)]


def test_a_job_without_a_schedule_is_never_due() -> None:
    found = audited([revision(0, None)], [])
    assert (found.due, found.holds) == (0, True)


@pytest.mark.parametrize(("now", "watermark"), [(60, 3.5), (4.05, 60)])
def test_what_may_still_be_claimed_is_pending(now: float, watermark: float) -> None:
    found = audited([revision(0)], ran(1, 2, 3), until=5, now=now, watermark=watermark)
    assert (found.due, found.pending, found.holds) == (4, 1, True)


def test_a_schedule_that_cannot_be_computed_is_a_fault_and_no_crash() -> None:
    found = audited([revision(0, Schedule(cron="not cron"))], ran(1))
    assert "can't be computed" in found.fault
    assert not found.holds


def test_long_lists_are_cut_and_their_counts_are_not() -> None:
    found = audited([revision(0)], [], until=201, now=500, watermark=500)
    assert (len(found.missing), found.missing_count) == (LIST_MAX, 200)
