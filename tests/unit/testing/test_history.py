"""The history checker finds each kind of broken promise, and only that; good histories pass."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar
from uuid import UUID

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.unit.testing.histories import (
    SECOND,
    START,
    histories,
    job_id,
    ns,
    run_id,
    small_history,
)

from matins.testing.calls import Call
from matins.testing.history import (
    Ack,
    AttemptRow,
    Due,
    EvidenceRow,
    History,
    Invariant,
    check,
    count,
    report,
)

T = TypeVar("T", EvidenceRow, AttemptRow, Call, Due)
Spoil = Callable[[History], None]

NOBODY = UUID(int=99)
AT = [START + number * 10 * SECOND for number in range(8)]


def change(found: list[T], place: int, **fields: object) -> None:
    """Change some fields of one thing in a list."""
    found[place] = msgspec.structs.replace(found[place], **fields)


def place_of(history: History, number: int) -> int:
    """Return where the row of the n-th due time stands."""
    [place] = [at for at, row in enumerate(history.rows) if row.due_at == AT[number]]
    return place


def spoil_row(number: int, **fields: object) -> Spoil:
    """Change the row of the n-th due time."""
    return lambda history: change(history.rows, place_of(history, number), **fields)


def spoil_call(number: int, attempt: int = 1, **fields: object) -> Spoil:
    """Change a call of the n-th due time."""
    return lambda history: change(history.calls, _call_place(history, number, attempt), **fields)


def add_call(number: int, **fields: object) -> Spoil:
    """Add a call like the first one of the n-th due time, two seconds after it."""

    def spoil(history: History) -> None:
        call = history.calls[_call_place(history, number, 1)]
        later = {
            "arrived_ns": call.arrived_ns + 2 * 10**9,
            "ended_ns": (call.ended_ns or 0) + 2 * 10**9,
        }
        history.calls.append(msgspec.structs.replace(call, **(later | fields)))

    return spoil


def remove_call(number: int, attempt: int = 1) -> Spoil:
    """Take a call of the n-th due time out."""
    return lambda history: history.calls.__delitem__(_call_place(history, number, attempt))


def _call_place(history: History, number: int, attempt: int) -> int:
    wanted = (run_id("nightly", AT[number]), attempt)
    [place] = [at for at, call in enumerate(history.calls) if (call.run_id, call.attempt) == wanted]
    return place


def spoil_attempt(place: int, **fields: object) -> Spoil:
    """Change an attempt's row."""
    return lambda history: change(history.attempts, place, **fields)


def _second_row(history: History) -> None:
    twin = msgspec.structs.replace(history.rows[0], run_id=NOBODY, state="skipped", attempt=0)
    history.rows.append(twin)


def _forget_row(history: History) -> None:
    del history.rows[place_of(history, 3)]


def _forget_due(history: History) -> None:
    history.due = [due for due in history.due if due.due_at != AT[3]]


def _ack_a_run(history: History) -> None:
    history.acks.append(Ack("run", NOBODY, "nightly"))


def _lose_the_job(history: History) -> None:
    history.jobs = frozenset()


def _repeat_attempt(history: History) -> None:
    history.attempts.append(history.attempts[0])


def _forget_attempt(history: History) -> None:
    del history.attempts[0]


def _attempt_of_nobody(history: History) -> None:
    history.attempts.append(msgspec.structs.replace(history.attempts[0], run_id=NOBODY))


BAD: dict[str, tuple[Invariant, Spoil]] = {
    "two rows of one due time": (Invariant.ONCE, _second_row),
    "two rows under one run id": (
        Invariant.ONCE,
        spoil_row(3, run_id=run_id("nightly", AT[4])),
    ),
    "a row in the range of another": (
        Invariant.ONCE,
        spoil_row(4, due_until=AT[6], due_count=3),
    ),
    "an attempt called twice": (Invariant.ONCE, add_call(0)),
    "a call during the call of an earlier attempt": (
        Invariant.ONCE,
        spoil_call(1, ended_ns=ns(AT[1] + 5 * SECOND)),
    ),
    "a call while an earlier one still goes on": (
        Invariant.ONCE,
        spoil_call(1, ended_ns=None, how=None),
    ),
    "a late call of an older attempt": (
        Invariant.ONCE,
        spoil_call(1, arrived_ns=ns(AT[1] + 5 * SECOND), ended_ns=ns(AT[1] + 6 * SECOND)),
    ),
    "an attempt before the end of the one before": (
        Invariant.ONCE,
        spoil_attempt(1, finished_at=AT[1] + 5 * SECOND),
    ),
    "an attempt on record twice": (Invariant.ONCE, _repeat_attempt),
    "a call under a run id of its own": (Invariant.ONCE, spoil_call(1, run_id=NOBODY)),
    "a call for another due time": (Invariant.ONCE, spoil_call(1, due_at=AT[0])),
    "a call for another job": (Invariant.ONCE, spoil_call(1, job="weekly")),
    "a call of another kind": (Invariant.ONCE, spoil_call(1, kind="manual")),
    "a due time without a row": (Invariant.NO_GAP, _forget_row),
    "a range that ends too early": (
        Invariant.NO_GAP,
        spoil_row(4, due_until=AT[4], due_count=1),
    ),
    "a range that says too many": (Invariant.NO_GAP, spoil_row(4, due_count=3)),
    "a range that says too few": (Invariant.NO_GAP, spoil_row(4, due_count=1)),
    "a range that was not skipped": (Invariant.NO_GAP, spoil_row(4, state="cancelled")),
    "a row that was not due": (Invariant.NO_GAP, _forget_due),
    "an acknowledged job that is gone": (Invariant.ACKED, _lose_the_job),
    "an acknowledged run that is gone": (Invariant.ACKED, _ack_a_run),
    "a run that is queued for ever": (
        Invariant.ENDS,
        spoil_row(3, state="queued", finished_at=None),
    ),
    "a run that runs for ever": (
        Invariant.ENDS,
        spoil_row(0, state="running", finished_at=None),
    ),
    "an end at no time": (Invariant.ENDS, spoil_row(0, finished_at=None)),
    "a claim under an old epoch": (Invariant.FENCED, spoil_row(6, epoch=1)),
    "a call before the due time": (
        Invariant.ON_TIME,
        spoil_call(0, arrived_ns=ns(AT[0]) - 1),
    ),
    "a start before the due time": (
        Invariant.ON_TIME,
        spoil_row(0, started_at=AT[0] - SECOND / 1000),
    ),
    "an attempt before the due time": (
        Invariant.ON_TIME,
        spoil_attempt(0, started_at=AT[0] - SECOND),
    ),
    "a call that names nobody": (
        Invariant.TRUTHFUL,
        add_call(0, run_id=None, due_at=None, attempt=0, job="", kind=""),
    ),
    "a call without a row": (
        Invariant.TRUTHFUL,
        add_call(0, run_id=NOBODY, due_at=AT[0] - SECOND),
    ),
    "a call of a skipped run": (
        Invariant.TRUTHFUL,
        add_call(0, run_id=run_id("nightly", AT[4]), due_at=AT[4], arrived_ns=ns(AT[5])),
    ),
    "a call of an attempt that never was": (Invariant.TRUTHFUL, add_call(0, attempt=2)),
    "a success that was never called": (Invariant.TRUTHFUL, remove_call(0)),
    "a success of an attempt that was never called": (Invariant.TRUTHFUL, remove_call(1, 2)),
    "an attempt that is not on record": (Invariant.TRUTHFUL, _forget_attempt),
    "a success of a failed attempt": (Invariant.TRUTHFUL, spoil_attempt(0, outcome="failed")),
    "a dead run that succeeded": (Invariant.TRUTHFUL, spoil_row(0, state="dead")),
    "an attempt of no run": (Invariant.TRUTHFUL, _attempt_of_nobody),
}


def test_a_good_history_keeps_every_promise() -> None:
    assert check(small_history()) == []


@pytest.mark.parametrize("name", BAD)
def test_each_bad_history_is_found_out_for_what_it_is(name: str) -> None:
    invariant, spoil = BAD[name]
    history = small_history()
    spoil(history)
    [found] = check(history)
    assert found.invariant == invariant, found.message


def test_a_violation_names_job_due_time_and_run() -> None:
    history = small_history()
    spoil_row(3, state="queued", finished_at=None)(history)
    [found] = check(history)
    named = run_id("nightly", AT[3])
    assert found.message == (
        f"nightly due 2026-11-29T02:00:30Z (run {named}, queued) has not ended"
    )


def test_a_frozen_executor_may_overlap_with_the_next_attempt() -> None:
    history = small_history()
    spoil_call(1, ended_ns=ns(AT[1] + 5 * SECOND))(history)
    history.cut_off = frozenset({history.attempts[0].executor})
    assert check(history) == []


def test_a_frozen_executor_may_call_late() -> None:
    history = small_history()
    late = AT[1] + 2 * SECOND + SECOND / 20  # while attempt 2 runs
    spoil_call(1, arrived_ns=ns(late), ended_ns=ns(late + SECOND))(history)
    spoil_attempt(1, executor=NOBODY)(history)
    history.cut_off = frozenset({NOBODY})
    assert check(history) == []


def test_an_overlap_is_found_across_an_attempt_in_between() -> None:
    history = small_history()
    spoil_call(2, ended_ns=ns(AT[2] + 9 * SECOND))(history)
    add_call(2, attempt=2)(history)
    messages = [found.message for found in check(history)]
    assert any("attempt 3) was called while attempt 1 still ran" in message for message in messages)


def test_a_killed_command_without_an_end_is_not_held_against_the_next_attempt() -> None:
    history = small_history()
    spoil_call(1, ended_ns=None, how=None, method="command")(history)
    assert check(history) == []


def test_clocks_may_differ_by_the_stated_slack() -> None:
    history = small_history()
    spoil_call(0, arrived_ns=ns(AT[0]) - 1_000_000)(history)
    history.slack = timedelta(milliseconds=1)
    assert check(history) == []


def test_a_job_with_another_target_needs_no_calls() -> None:
    history = small_history()
    history.calls = []
    history.unnoted = frozenset({job_id("nightly")})
    assert check(history) == []


def test_what_is_due_after_the_window_may_be_unfinished_and_unknown() -> None:
    history = small_history()
    history.due = [due for due in history.due if due.due_at < AT[6]]
    history.until = AT[6]
    spoil_row(6, state="running", finished_at=None)(history)
    assert check(history) == []


def test_a_range_may_reach_beyond_the_window() -> None:
    history = small_history()
    history.due = [due for due in history.due if due.due_at < AT[5]]
    history.until = AT[5]
    assert check(history) == []


def test_two_teams_jobs_of_one_name_are_two_jobs() -> None:
    history = small_history()
    other = UUID(int=5)
    run = UUID(int=6)
    history.due.append(msgspec.structs.replace(history.due[0], job_id=other))
    history.rows.append(msgspec.structs.replace(history.rows[0], job_id=other, run_id=run))
    history.attempts.append(msgspec.structs.replace(history.attempts[0], run_id=run))
    history.calls.append(msgspec.structs.replace(history.calls[0], run_id=run))
    assert check(history) == []


@given(histories())
def test_every_good_history_passes(history: History) -> None:
    assert check(history) == []


def _drop_row(history: History, pick: int) -> Invariant:
    del history.rows[pick % len(history.rows)]
    return Invariant.NO_GAP


def _double_row(history: History, pick: int) -> Invariant:
    history.rows.append(
        msgspec.structs.replace(history.rows[pick % len(history.rows)], run_id=NOBODY)
    )
    return Invariant.ONCE


def _double_call(history: History, pick: int) -> Invariant:
    assume(history.calls)
    history.calls.append(history.calls[pick % len(history.calls)])
    return Invariant.ONCE


def _early_call(history: History, pick: int) -> Invariant:
    assume(history.calls)
    place = pick % len(history.calls)
    due_at = history.calls[place].due_at
    assert due_at
    change(history.calls, place, arrived_ns=ns(due_at) - 1)
    return Invariant.ON_TIME


def _lose_success(history: History, pick: int) -> Invariant:
    succeeded = [row for row in history.rows if row.state == "succeeded"]
    assume(succeeded)
    row = succeeded[pick % len(succeeded)]
    history.calls = [
        call for call in history.calls if (call.run_id, call.attempt) != (row.run_id, row.attempt)
    ]
    return Invariant.TRUTHFUL


def _never_end(history: History, pick: int) -> Invariant:
    change(history.rows, pick % len(history.rows), state="retrying", finished_at=None)
    return Invariant.ENDS


def _swap_epochs(history: History, pick: int) -> Invariant:
    leased = [place for place, row in enumerate(history.rows) if row.epoch]
    pairs = [
        (low, high)
        for low in leased
        for high in leased
        if history.rows[low].partition == history.rows[high].partition
        and history.rows[low].epoch < history.rows[high].epoch
    ]
    assume(pairs)
    low, high = pairs[pick % len(pairs)]
    low_epoch, high_epoch = history.rows[low].epoch, history.rows[high].epoch
    change(history.rows, low, epoch=high_epoch)
    change(history.rows, high, epoch=low_epoch)
    return Invariant.FENCED


def _forget_one_due(history: History, pick: int) -> Invariant:
    scheduled = [expected for expected in history.due if expected.kind == "scheduled"]
    history.due.remove(scheduled[pick % len(scheduled)])
    return Invariant.NO_GAP


def _shift_row(history: History, pick: int) -> Invariant:
    place = pick % len(history.rows)
    due_at = history.rows[place].due_at + SECOND / 8
    change(history.rows, place, due_at=due_at, due_until=None)
    return Invariant.NO_GAP


def _merge_run_ids(history: History, pick: int) -> Invariant:
    assume(len(history.rows) > 1)
    place = pick % len(history.rows)
    change(history.rows, place, run_id=history.rows[place - 1].run_id)
    return Invariant.ONCE


MUTATIONS = [
    _drop_row,
    _double_row,
    _double_call,
    _early_call,
    _lose_success,
    _never_end,
    _swap_epochs,
    _forget_one_due,
    _shift_row,
    _merge_run_ids,
]


@pytest.mark.parametrize("mutate", MUTATIONS)
@given(history=histories(), pick=st.integers(0, 1000))
def test_every_single_mutation_is_found(
    mutate: Callable[[History, int], Invariant], history: History, pick: int
) -> None:
    assume(any(row.kind == "scheduled" for row in history.rows))
    expected = mutate(history, pick)
    assert expected in {found.invariant for found in check(history)}


def test_the_report_tells_what_was_looked_at_and_the_first_of_what_was_found() -> None:
    history = small_history()
    history.rows = []
    told = report(check(history), count(history))
    assert "8 due, 0 rows" in told
    assert "I2 no_gap: 8" in told
    assert "  nightly due 2026-11-29T02:00:00Z has no row" in told


def test_the_report_of_a_good_history_says_so() -> None:
    history = small_history()
    told = report(check(history), count(history))
    assert "2 skipped due times" in told
    assert "2 take-overs" in told
    assert told.endswith("Every promise was kept.")


def test_a_long_report_is_cut_visibly() -> None:
    history = small_history()
    history.acks = [Ack("run", UUID(int=number), "nightly") for number in range(50)]
    told = report(check(history), count(history))
    assert "and 30 more" in told
