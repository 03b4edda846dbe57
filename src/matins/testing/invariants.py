"""The rules of the history checker: one function each, which tells what breaks it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import combinations, pairwise
from operator import attrgetter
from uuid import UUID

from matins.testing.calls import Call
from matins.testing.evidence import Due, EvidenceRow, Invariant
from matins.testing.index import Index, Key, name_call, name_due, to_ns

FINAL = frozenset({"succeeded", "dead", "cancelled", "skipped"})
"""Written down here once more, so that the judge does not ask the judged."""


def one_row_for_each_due_time(index: Index) -> Iterator[str]:
    """I1: no two rows for one (job, due time, kind), also not by way of a range; no id twice."""
    seen: dict[Key, EvidenceRow] = {}
    ids: set[UUID] = set()
    for row in index.history.rows:
        first = seen.setdefault((row.job_id, row.due_at, row.kind), row)
        if first is not row:
            yield f"{index.name(row)} has a second row: run {first.run_id}, {first.state}"
        elif row.run_id in ids:
            yield f"{index.name(row)}: another due time's row has the same run id"
        ids.add(row.run_id)
    by_job: dict[tuple[UUID, str], list[EvidenceRow]] = defaultdict(list)
    for row in index.history.rows:
        if (row.job_id, row.kind) in index.ranges:
            by_job[row.job_id, row.kind].append(row)
    for rows in by_job.values():
        rows.sort(key=attrgetter("due_at"))
        widest = rows[0]
        for row in rows:
            if widest.due_at < row.due_at <= _last_due(widest):
                yield f"{index.name(row)} lies in the range of {index.name(widest)}"
            if _last_due(row) > _last_due(widest):
                widest = row


def _last_due(row: EvidenceRow) -> datetime:
    return row.due_until or row.due_at


def one_call_for_each_attempt(index: Index) -> Iterator[str]:
    """I1: a (run, attempt) reaches its target at most once."""
    for calls in index.calls.values():
        if len(calls) > 1:
            counts: dict[int, int] = defaultdict(int)
            for call in calls:
                counts[call.attempt] += 1
                if counts[call.attempt] == 2:
                    yield f"{name_call(call)} was called more than once"


def no_overlap_of_calls(index: Index) -> Iterator[str]:
    """I1: a call comes after the end of older attempts' calls, and before those of newer ones.

    An HTTP call without an end still goes on; of a command without one nothing is known. What an
    executor that was cut off called may come late.
    """
    for run_id, calls in index.calls.items():
        executors = (
            {attempt.number: attempt.executor for attempt in index.attempts[run_id]}
            if calls[1:]
            else {}
        )
        for before, call in combinations(calls, 2):
            older = min(before.attempt, call.attempt)
            if before.attempt == call.attempt or executors.get(older) in index.history.cut_off:
                continue
            goes_on = before.ended_ns is None and before.method != "command"
            if before.attempt > older:
                yield f"{name_call(call)} was called after attempt {before.attempt} was"
            elif goes_on or (before.ended_ns or 0) > call.arrived_ns:
                yield f"{name_call(call)} was called while attempt {before.attempt} still ran"


def no_overlap_of_attempts(index: Index) -> Iterator[str]:
    """I1: by the rows, too, an attempt starts after the end of the one before it."""
    for attempts in index.attempts.values():
        for before, attempt in pairwise(attempts):
            run = f"{index.run_name(attempt.run_id)} attempt {attempt.number}"
            if before.number == attempt.number:
                yield f"{run} is recorded twice: {before.outcome} and {attempt.outcome}"
            elif attempt.started_at < before.finished_at:
                yield f"{run} started before attempt {before.number} was recorded"


def one_run_id_for_each_due_time(index: Index) -> Iterator[str]:
    """I1: what a target is told of a run is what the run's row says."""
    for run_id, calls in index.calls.items():
        row = index.rows.get(run_id)
        if row is None:
            continue
        for call in calls:
            job = index.names.get(row.job_id, call.job)
            stated = (call.job, call.due_at, call.kind)
            if call.due_at and stated != (job, row.due_at, row.kind):
                yield f"{name_call(call)} was called under the run id of {index.name(row)}"


def every_due_time_has_a_row(index: Index) -> Iterator[str]:
    """I2: each due time has a row, or lies in the range of one."""
    for due in index.history.due:
        if (due.job_id, due.due_at, due.kind) not in index.keys and not _in_a_range(index, due):
            yield f"{name_due(due.job, due.due_at, due.kind)} has no row"


def _in_a_range(index: Index, due: Due) -> bool:
    ranges = index.ranges.get((due.job_id, due.kind), [])
    place = bisect_right(ranges, due.due_at, key=attrgetter("due_at"))
    until = ranges[place - 1].due_until if place else None
    return until is not None and due.due_at <= until


def every_row_was_due(index: Index) -> Iterator[str]:
    """I2: a scheduled row stands for due times of its job, and for as many as it says."""
    due: dict[UUID, list[datetime]] = defaultdict(list)
    for expected in index.history.due:
        if expected.kind == "scheduled":
            due[expected.job_id].append(expected.due_at)
    for times in due.values():
        times.sort()
    for row in index.history.rows:
        if row.kind != "scheduled" or not index.is_judged(row):
            continue
        times = due.get(row.job_id, [])
        first = bisect_left(times, row.due_at)
        if first == len(times) or times[first] != row.due_at:
            yield f"{index.name(row)} was not due"
            continue
        last = _last_due(row)
        count = bisect_right(times, last) - first
        is_whole = index.history.until is None or last < index.history.until
        if is_whole and count != row.due_count:
            yield f"{index.name(row)} stands for {row.due_count} due times, but there are {count}"
        elif row.due_count > 1 and row.state != "skipped":
            yield f"{index.name(row)} stands for {row.due_count} due times, but was not skipped"


def every_acked_write_exists(index: Index) -> Iterator[str]:
    """I3: what the API acknowledged is there."""
    for ack in index.history.acks:
        known = index.history.jobs if ack.what == "job" else index.rows
        if ack.id not in known:
            yield f"the {ack.what} {ack.name} ({ack.id}) was acknowledged, but does not exist"


def every_run_ends(index: Index) -> Iterator[str]:
    """I4: each run comes to a final state."""
    for row in index.history.rows:
        if index.is_judged(row) and row.state not in FINAL:
            yield f"{index.name(row)} has not ended"
        elif row.state in FINAL and row.finished_at is None:
            yield f"{index.name(row)} has ended at no time"


def epochs_never_fall(index: Index) -> Iterator[str]:
    """I6: in a partition, no claim under an old epoch comes after one under a newer epoch."""
    leased = [row for row in index.history.rows if row.epoch and row.kind == "scheduled"]
    leased.sort(key=attrgetter("partition", "claimed_at", "epoch"))
    for before, row in pairwise(leased):
        if before.partition == row.partition and row.epoch < before.epoch:
            yield (
                f"{index.name(row)} was claimed in partition {row.partition} under epoch"
                f" {row.epoch}, after {index.name(before)} under epoch {before.epoch}"
            )


def nothing_comes_early(index: Index) -> Iterator[str]:
    """I7: no run starts, and no target is called, before the due time."""
    slack = index.history.slack
    for row in index.history.rows:
        starts = [attempt.started_at for attempt in index.attempts.get(row.run_id, ())]
        if row.started_at:
            starts.append(row.started_at)
        if starts and min(starts) < row.due_at:
            yield f"{index.name(row)} started early, at {min(starts).isoformat()}"
    for call in index.history.calls:
        named = index.rows.get(call.run_id) if call.run_id else None
        due_at = named.due_at if named else call.due_at
        if due_at and call.arrived_ns < to_ns(due_at - slack):
            early_s = (to_ns(due_at) - call.arrived_ns) / 1e9
            yield f"{name_call(call)} was called {early_s:.6f} s before its due time"


def one_run_for_each_call(index: Index) -> Iterator[str]:
    """I1: whoever calls for a due time calls under the run id of its row."""
    for call, twin in _with_twins(index):
        if twin and call.run_id:
            yield f"{name_call(call)} was called, but that due time's run is {twin.run_id}"


def every_call_has_a_row(index: Index) -> Iterator[str]:
    """I8: a call belongs to a run, and to an attempt that the run has had."""
    for call, twin in _with_twins(index):
        if not (twin and call.run_id):
            yield f"{name_call(call)} was called, but has no row"
    for run_id, calls in index.calls.items():
        row = index.rows.get(run_id)
        for call in calls if row else ():
            if row and call.attempt > row.attempt:
                message = f"was called as attempt {call.attempt}, but had {row.attempt} attempts"
                yield f"{index.name(row)} {message}"


def _with_twins(index: Index) -> Iterator[tuple[Call, EvidenceRow | None]]:
    """Yield the calls without a row, each with the row that its job and due time have, if any."""
    if index.orphans:
        rows = index.history.rows
        twins = {(index.names.get(row.job_id), row.due_at, row.kind): row for row in rows}
        for call in index.orphans:
            yield call, twins.get((call.job, call.due_at, call.kind)) if call.due_at else None


def every_success_was_called(index: Index) -> Iterator[str]:
    """I8: what is said to have succeeded reached its target, as the attempt that succeeded."""
    for row in index.history.rows:
        if row.state != "succeeded" or row.job_id in index.history.unnoted:
            continue
        if index.is_judged(row):
            calls = index.calls.get(row.run_id, ())
            if not any(call.attempt == row.attempt for call in calls):
                yield f"{index.name(row)} was never called as attempt {row.attempt}"


def rows_agree_with_attempts(index: Index) -> Iterator[str]:
    """I8: an ended run has all its attempts recorded, and the last one's outcome."""
    for row in index.history.rows:
        if row.state not in FINAL or not index.is_judged(row):
            continue
        attempts = {
            attempt.number: attempt.outcome for attempt in index.attempts.get(row.run_id, ())
        }
        if sorted(attempts) != list(range(1, row.attempt + 1)):
            had = f"had {row.attempt} attempts"
            yield f"{index.name(row)} {had}, recorded are {sorted(attempts) or 'none'}"
            continue
        succeeded = [number for number, outcome in attempts.items() if outcome == "succeeded"]
        if succeeded != ([row.attempt] if row.state == "succeeded" else []):
            yield f"{index.name(row)} has succeeded attempts: {succeeded or 'none'}"
    for run_id in index.attempts.keys() - index.rows.keys():
        yield f"{index.run_name(run_id)} has recorded attempts"


RULES: list[tuple[Invariant, Callable[[Index], Iterable[str]]]] = [
    (Invariant.ONCE, one_row_for_each_due_time),
    (Invariant.ONCE, one_call_for_each_attempt),
    (Invariant.ONCE, no_overlap_of_calls),
    (Invariant.ONCE, no_overlap_of_attempts),
    (Invariant.ONCE, one_run_id_for_each_due_time),
    (Invariant.ONCE, one_run_for_each_call),
    (Invariant.NO_GAP, every_due_time_has_a_row),
    (Invariant.NO_GAP, every_row_was_due),
    (Invariant.ACKED, every_acked_write_exists),
    (Invariant.ENDS, every_run_ends),
    (Invariant.FENCED, epochs_never_fall),
    (Invariant.ON_TIME, nothing_comes_early),
    (Invariant.TRUTHFUL, every_call_has_a_row),
    (Invariant.TRUTHFUL, every_success_was_called),
    (Invariant.TRUTHFUL, rows_agree_with_attempts),
]
