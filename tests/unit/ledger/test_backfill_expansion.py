"""Which due times a backfill finds, under which revision, and why it leaves some out."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.audit import AuditedJob, AuditSpan, Revision, audit
from matins.domain.calendars.calendar import Calendar, Item
from matins.domain.calendars.compiled import compile_calendar
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.backfills.expansion import (
    BackfillExpansion,
    DueThen,
    JobPast,
    Ledger,
    PastRevision,
    Planning,
    RecordedDue,
    judge,
    left_out_ranges,
)
from matins.domain.runs.backfills.values import LeftOut, Order, Span
from matins.domain.runs.states import FINAL, Kind, RunState
from matins.domain.schedules.schedule import Override, Schedule
from matins.domain.timetables.compiling import Timing

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
JOB = UUID("0c6d14c7-b7f3-4093-a887-c5939e928b5d")
CLOSED = compile_calendar(
    Calendar("closed", exclude=[Item(spans=["2026-03-02T12:10:00Z/2026-03-02T12:20:00Z"])])
)
MINUTELY = Schedule(cron="* * * * *")
SCHEDULES = [
    MINUTELY,
    Schedule(cron="*/7 * * * *", timezone="Europe/Berlin"),
    Schedule(every="3m"),
    Schedule(cron="* * * * *", calendars=["closed"]),
    Schedule(at=["2026-03-02T12:05:00Z", "2026-03-02T12:40:30Z"]),
    None,
]


def minute(count: float) -> datetime:
    return NOON + timedelta(minutes=count)


def revision(
    number: int,
    at: float,
    schedule: Schedule | None = MINUTELY,
    state: JobState = JobState.ACTIVE,
    *overrides: Override,
) -> PastRevision:
    spec = JobSpec("job", Target(command=CommandTarget(["true"])), schedule)
    closures = (CLOSED,) if schedule is not None and schedule.calendars else ()
    return PastRevision(number, minute(at), state, Timing(NOON, NOON, closures, overrides), spec)


def past(*revisions: PastRevision) -> JobPast:
    return JobPast(JOB, revisions)


def walked(found: BackfillExpansion, count: int) -> list[DueThen]:
    """Walk to the end, in pages of a size."""
    due: list[DueThen] = []
    mark, is_last = None, False
    while not is_last:
        page = found.page(mark, count)
        assert len(page.due) <= count
        mark, is_last = page.due[-1].due_at if page.due else mark, page.is_last
        due += page.due
    return due


def all_of(job: JobPast, since: float, until: float, order: Order = "oldest") -> list[DueThen]:
    return walked(BackfillExpansion(job, Span(minute(since), minute(until), order)), 1000)


revisions = st.lists(
    st.tuples(
        st.integers(0, 3600),
        st.sampled_from(SCHEDULES),
        st.sampled_from([JobState.ACTIVE, JobState.ACTIVE, JobState.PAUSED, JobState.QUARANTINED]),
        st.lists(st.integers(0, 60), max_size=2, unique=True),
    ),
    min_size=1,
    max_size=6,
)


@given(
    revisions,
    st.integers(-600, 3600),
    st.integers(1, 3600),
    st.integers(1, 20),
    st.sampled_from(["oldest", "newest"]),
)
def test_what_a_backfill_finds_is_what_the_audit_expects(
    drawn: list[tuple[int, Schedule | None, JobState, list[int]]],
    begin_s: int,
    length_s: int,
    count: int,
    order: Order,
) -> None:
    drawn = sorted(drawn, key=lambda revision: revision[0])
    kept = [
        revision(
            number,
            at_s / 60,
            schedule,
            state,
            *(
                Override(minute(offset), minute(offset + 0.5) if offset % 2 else None)
                for offset in overridden
            ),
        )
        for number, (at_s, schedule, state, overridden) in enumerate(drawn, 1)
    ]
    span = Span(minute(begin_s / 60), minute((begin_s + length_s) / 60), order)
    found = walked(BackfillExpansion(past(*kept), span), count)

    # The audit expects nothing of a pause that still lasts, so that it is told of its end.
    ended = revision(9, (begin_s + length_s) / 60 + 999, None)
    told = [
        Revision(revision.effective_at, revision.state, revision.timing, revision.spec)
        for revision in [*kept, ended]
        if revision.spec is not None
    ]
    audited = audit(
        AuditedJob(JOB, "payments", "job"),
        told,
        [],
        AuditSpan(span.since, span.until, minute(10_000)),
    )
    assert len(found) == audited.due
    assert sorted(row.due_at for row in found)[:100] == audited.missing
    assert [row.due_at for row in found] == sorted(
        (row.due_at for row in found), reverse=order == "newest"
    )
    for due in found:
        in_force = [revision for revision in kept if revision.effective_at < due.due_at][-1]
        assert due.revision == in_force.number
        if in_force.state is not JobState.ACTIVE:
            assert due.reason == f"the job was {in_force.state}"


def test_a_due_time_runs_under_the_revision_of_then() -> None:
    job = past(revision(1, 0), revision(2, 2.5, Schedule(every="2m")), revision(3, 6))
    found = [(due.due_at, due.revision) for due in all_of(job, 0, 9)]
    assert found == [
        *((minute(number), 1) for number in (1, 2)),
        *((minute(number), 2) for number in (4, 6)),
        *((minute(number), 3) for number in (7, 8)),
    ]


def test_newest_first_finds_the_same() -> None:
    job = past(revision(1, 0), revision(2, 2.5, state=JobState.PAUSED), revision(3, 6))
    assert all_of(job, 0, 9, "newest") == all_of(job, 0, 9)[::-1]


def test_pauses_closed_times_and_overrides_say_why_they_don_t_run() -> None:
    job = past(
        revision(
            1,
            8,
            SCHEDULES[3],
            JobState.ACTIVE,
            Override(minute(9), None, "stocktaking"),
            Override(minute(21), minute(21.5)),
        ),
        revision(2, 22, state=JobState.PAUSED),
    )
    reasons = {due.due_at: due.reason for due in all_of(job, 9, 24)}
    assert reasons[minute(9)] == "skipped by an override: stocktaking"
    assert "closed" in reasons[minute(10)]
    assert reasons[minute(20)] == ""
    assert reasons[minute(21)] == "moved to 2026-03-02T12:21:30+00:00"
    assert reasons[minute(21.5)] == ""
    assert reasons[minute(23)] == "the job was paused"


def test_times_without_due_times_are_told_with_their_reasons() -> None:
    broken = PastRevision(3, minute(4), JobState.ACTIVE, Timing(NOON, NOON), None, "no such field")
    job = past(
        revision(1, 0),
        revision(2, 2, None),
        broken,
        revision(4, 6, Schedule(every="1m", after="end")),
    )
    gaps = BackfillExpansion(job, Span(minute(-5), minute(8))).gaps()
    assert [(gap.first_at, gap.last_at, gap.reason) for gap in gaps] == [
        (minute(-5), minute(0), "the job did not exist"),
        (minute(2 + 1 / 60), minute(4), "the job had no schedule"),
        (minute(4 + 1 / 60), minute(6), "revision 3 can't be read: no such field"),
        (minute(6 + 1 / 60), minute(8 - 1 / 60), "the job followed the ends of its runs"),
    ]
    assert all(gap.due_count == 0 for gap in gaps)


def test_before_the_first_revision_that_is_kept_nothing_is_known() -> None:
    [gap] = BackfillExpansion(past(revision(7, 3)), Span(minute(0), minute(9))).gaps()
    assert (gap.last_at, gap.reason) == (minute(3), "its revision of then is kept no more")


def judged(*rows: RecordedDue, again: bool = False, **ledger: datetime) -> str:
    [due] = judge([DueThen(NOON, 1)], Ledger(rows, **ledger), again=again)
    return due.reason


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("state", list(RunState))
def test_only_what_ran_or_runs_is_left_alone(kind: Kind, state: RunState) -> None:
    row = RecordedDue(NOON, kind, state)
    ran = state is RunState.SUCCEEDED or state not in FINAL
    assert bool(judged(row)) == (ran or kind is Kind.BACKFILL)
    assert bool(judged(row, again=True)) == (kind is Kind.BACKFILL)


def test_what_may_have_run_or_may_be_claimed_still_is_left_out() -> None:
    skipped = RecordedDue(NOON, Kind.SCHEDULED, RunState.SKIPPED)
    later = NOON + timedelta(seconds=1)
    assert judged(purged_until=later) == "its rows are purged, so that it may have run"
    assert judged(purged_until=NOON) == judged(purged_until=later, again=True) == ""
    assert judged(skipped, purged_until=later) == ""
    assert judged(unclaimed_from=NOON) == judged(unclaimed_from=NOON, again=True) != ""
    assert judged(unclaimed_from=later) == judged(skipped, unclaimed_from=NOON) == ""


def test_what_is_left_out_in_a_row_for_one_reason_is_one_range() -> None:
    reasons = ["a", "a", "", "a", "b", "b"]
    due = [DueThen(minute(number), 1, reason) for number, reason in enumerate(reasons)]
    assert left_out_ranges(due) == [
        LeftOut(minute(0), minute(1), 2, "a"),
        LeftOut(minute(3), minute(3), 1, "a"),
        LeftOut(minute(4), minute(5), 2, "b"),
    ]
    assert left_out_ranges(due[::-1])[0] == LeftOut(minute(4), minute(5), 2, "b")


@given(st.lists(st.sampled_from(["", "a", "b"]), max_size=60), st.integers(1, 9))
def test_a_plan_counts_each_due_time_once(reasons: list[str], page: int) -> None:
    due = [DueThen(minute(number), 1, reason) for number, reason in enumerate(reasons)]
    planning = Planning(Span(minute(0), minute(99)), [])
    for first in range(0, len(due), page):
        planning.add(due[first : first + page])
    plan = planning.plan()
    to_run = [row.due_at for row in due if not row.reason]
    assert (plan.due, plan.to_run) == (len(due), len(to_run))
    assert plan.left_out == Counter(reason for reason in reasons if reason)
    assert sum(gap.due_count for gap in plan.ranges) == plan.due - plan.to_run
    assert (plan.first_due_at, plan.last_due_at) == (
        (to_run[0], to_run[-1]) if to_run else (None, None)
    )
