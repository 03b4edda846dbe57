"""Which past due times of a job are made up for, and why the others are not: its revisions say.

A due time belongs to the last revision that began before it, as in the audit. It is done page by
page, so that what it takes does not grow with the range.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple
from uuid import UUID

import msgspec

from matins.domain.jobs.changes import timetable_of
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.runs.backfills.values import LIST_MAX, BackfillPlan, LeftOut, Span
from matins.domain.runs.states import FINAL, Kind, RunState
from matins.domain.time.instants import SECOND, epoch_s, instant_of
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.errors import ScheduleError

_LAST = datetime(9999, 12, 31, tzinfo=UTC)


class PastRevision(msgspec.Struct, frozen=True):
    """What a job was from an instant on; without a spec, it can't be read because of a `fault`."""

    number: int
    effective_at: datetime
    state: JobState
    timing: Timing
    spec: JobSpec | None
    fault: str = ""


class JobPast(msgspec.Struct, frozen=True):
    """A job as it was: the revisions that are kept of it, in their order."""

    job_id: UUID
    revisions: Sequence[PastRevision]


class DueThen(NamedTuple):
    """A due time with the revision that was in force; `reason`: why it does not run, if so."""

    due_at: datetime
    revision: int
    reason: str = ""


class RecordedDue(NamedTuple):
    """A run of the job that is recorded for a due time."""

    due_at: datetime
    kind: Kind
    state: RunState


class Ledger(msgspec.Struct, frozen=True):
    """What is recorded of some due times.

    Rows of what was due before `purged_until` may be gone; due times from `unclaimed_from` on may
    still be claimed.
    """

    rows: Sequence[RecordedDue]
    purged_until: datetime | None = None
    unclaimed_from: datetime | None = None


class Page(NamedTuple):
    """Some due times in a row, in the order of the walk. `is_last`: there are no more."""

    due: list[DueThen]
    is_last: bool


class _Period(NamedTuple):
    """A span of time, from its begin (exclusive) to its end (inclusive), under one revision."""

    begin: datetime
    end: datetime
    revision: PastRevision


class BackfillExpansion:
    """The due times of a span, each under its revision, walked in the order of the span."""

    def __init__(self, past: JobPast, span: Span) -> None:
        self._past = past
        self._span = span
        self._periods = _periods(past, span)
        self._revisions = {revision.number: revision for revision in past.revisions}
        self._timetable = lru_cache(maxsize=16)(self._compiled)

    def page(self, mark: datetime | None, count: int) -> Page:
        """Return up to `count` due times after a mark: the last one of the page before."""
        page: list[DueThen] = []
        newest = self._span.order == "newest"
        for period in reversed(self._periods) if newest else self._periods:
            if len(page) >= count:
                return Page(page, is_last=False)
            begin, end = max(period.begin, self._span.since - SECOND), period.end
            if mark is not None:
                begin, end = (begin, min(end, mark - SECOND)) if newest else (max(begin, mark), end)
            timetable = self._timetable(period.revision.number) if begin < end else None
            if timetable is not None:
                page += _due(period, timetable, (begin, end), count - len(page), newest=newest)
        return Page(page, is_last=len(page) < count)

    def gaps(self) -> list[LeftOut]:
        """Return the times within the span in which no due time can be told, and why."""
        first = self._past.revisions[0]
        gaps = []
        if self._span.since <= first.effective_at:
            until = min(first.effective_at, self._span.until - SECOND)
            is_first = first.number == 1
            reason = "the job did not exist" if is_first else "its revision of then is kept no more"
            gaps.append(LeftOut(self._span.since, until, 0, reason))
        for period in self._periods:
            if reason := _gap_reason(period.revision, self._past.job_id):
                begin = max(period.begin + SECOND, self._span.since)
                gaps.append(LeftOut(begin, period.end, 0, reason))
        return gaps

    def _compiled(self, number: int) -> Timetable | None:
        return _timetable(self._revisions[number], self._past.job_id)


def judge(due: Iterable[DueThen], ledger: Ledger, *, again: bool) -> list[DueThen]:
    """Return the same due times, also those that have run left out, `again` or not."""
    rows: dict[datetime, list[RecordedDue]] = {}
    for row in ledger.rows:
        rows.setdefault(row.due_at, []).append(row)
    return [
        occurrence
        if occurrence.reason
        else occurrence._replace(reason=_why_not(occurrence.due_at, rows, ledger, again=again))
        for occurrence in due
    ]


def left_out_ranges(due: Iterable[DueThen]) -> list[LeftOut]:
    """Return what is left out, those in a row with the same reason as one."""
    ranges = []
    for reason, group in groupby(due, key=lambda occurrence: occurrence.reason):
        if reason:
            at = [occurrence.due_at for occurrence in group]
            ranges.append(LeftOut(min(at), max(at), len(at), reason))
    return ranges


class Planning:
    """Adds up the pages of an expansion."""

    def __init__(self, span: Span, gaps: Iterable[LeftOut]) -> None:
        self._span = span
        self._ranges = list(gaps)
        self._left_out = Counter[str]()
        self._to_run = 0
        self._bounds: list[datetime] = []

    @property
    def due(self) -> int:
        """How many due times there were so far."""
        return self._to_run + self._left_out.total()

    def add(self, due: Sequence[DueThen]) -> None:
        """Add a page."""
        left_out = left_out_ranges(due)
        for group in left_out:
            self._left_out[group.reason] += group.due_count
        self._ranges += left_out[: LIST_MAX - len(self._ranges)]
        to_run = [occurrence.due_at for occurrence in due if not occurrence.reason]
        self._to_run += len(to_run)
        if to_run:
            ends = [*self._bounds, to_run[0], to_run[-1]]
            self._bounds = [min(ends), max(ends)]

    def plan(self) -> BackfillPlan:
        """Return what it comes to."""
        first, last = self._bounds or (None, None)
        return BackfillPlan(
            since=self._span.since,
            until=self._span.until,
            due=self.due,
            to_run=self._to_run,
            first_due_at=first,
            last_due_at=last,
            left_out=dict(self._left_out),
            ranges=self._ranges[:LIST_MAX],
        )


def _periods(past: JobPast, span: Span) -> list[_Period]:
    """Return the periods that reach into a span, oldest first."""
    ends = [revision.effective_at for revision in past.revisions[1:]] + [_LAST]
    last = span.until - SECOND
    return [
        _Period(revision.effective_at, min(end, last), revision)
        for revision, end in zip(past.revisions, ends, strict=True)
        if max(revision.effective_at, span.since - SECOND) < min(end, last)
    ]


def _timetable(revision: PastRevision, job_id: UUID) -> Timetable | None:
    """Return when a job was due under a revision; None if that can't be told."""
    schedule = None if revision.spec is None else revision.spec.schedule
    if revision.spec is None or schedule is None or revision.state is JobState.DELETED:
        return None
    if schedule.follows_end or schedule.chain is not None:
        return None
    try:
        return timetable_of(revision.spec, job_id, revision.timing)
    except ScheduleError:
        return None


def _gap_reason(revision: PastRevision, job_id: UUID) -> str:
    """Return why no due time of a revision can be told; empty where they can."""
    if revision.spec is None:
        return f"revision {revision.number} can't be read: {revision.fault}"
    if revision.state is JobState.DELETED:
        return "the job was deleted"
    schedule = revision.spec.schedule
    if schedule is None:
        return "the job had no schedule"
    if schedule.follows_end or schedule.chain is not None:
        led_by = "the ends of its runs" if schedule.follows_end else "the runs of others"
        return f"the job followed {led_by}"
    if _timetable(revision, job_id) is None:
        return f"the due times of revision {revision.number} can't be computed"
    return ""


def _due(
    period: _Period,
    timetable: Timetable,
    bounds: tuple[datetime, datetime],
    count: int,
    *,
    newest: bool,
) -> Iterator[DueThen]:
    revision = period.revision
    stopped = "" if revision.state is JobState.ACTIVE else f"the job was {revision.state}"
    walk = _backward(timetable, *bounds, count) if newest else _forward(timetable, *bounds, count)
    for at in walk:
        yield DueThen(instant_of(at), revision.number, stopped or timetable.skip_reason(at))


def _forward(timetable: Timetable, begin: datetime, end: datetime, count: int) -> Iterator[int]:
    """Yield due times after `begin`, up to `end` included, oldest first."""
    last, at = epoch_s(end), timetable.next_after_s(epoch_s(begin))
    while count and at is not None and at <= last:
        yield at
        count, at = count - 1, timetable.next_after_s(at)


def _backward(timetable: Timetable, begin: datetime, end: datetime, count: int) -> Iterator[int]:
    """Yield the same due times, newest first."""
    first, at = epoch_s(begin), timetable.previous_before_s(epoch_s(end) + 1)
    while count and at is not None and at > first:
        yield at
        count, at = count - 1, timetable.previous_before_s(at)


def _why_not(
    due: datetime,
    rows: Mapping[datetime, Sequence[RecordedDue]],
    ledger: Ledger,
    *,
    again: bool,
) -> str:
    """Return why a due time does not run by what is recorded of it; empty where it does."""
    recorded = rows.get(due, ())
    for row in recorded:
        if row.kind is Kind.BACKFILL:
            return f"it has a backfill run already, which is {row.state}"
    if not any(row.kind is Kind.SCHEDULED for row in recorded):
        if ledger.unclaimed_from is not None and due >= ledger.unclaimed_from:
            return "it is claimed still"
        if ledger.purged_until is not None and due < ledger.purged_until and not again:
            return "its rows are purged, so that it may have run"
    for row in recorded:
        if not again and row.state is RunState.SUCCEEDED:
            return f"it ran: its {row.kind} run succeeded"
        if not again and row.state not in FINAL:
            return f"its {row.kind} run is under way"
    return ""
