"""Steps of a backfill: every due time once, never more at once than its limit."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.runs.backfills.expansion import DueThen
from matins.domain.runs.backfills.stepping import BackfillStep, OpenBackfill, OpenBackfillRun, step
from matins.domain.runs.backfills.values import (
    BackfillCounts,
    BackfillRequest,
    BackfillState,
    Rated,
    Span,
    pace,
)
from matins.domain.runs.states import RunState

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def minute(count: float) -> datetime:
    return NOON + timedelta(minutes=count)


def backfill(**given: object) -> OpenBackfill:
    usual = OpenBackfill(
        id=UUID(int=1),
        job_id=UUID(int=2),
        partition=0,
        state=BackfillState.ACTIVE,
        span=Span(NOON, minute(99)),
        limit=2,
        mark=None,
        walked=False,
        step=0,
        is_deleted=False,
        is_held_up=False,
    )
    return msgspec.structs.replace(usual, **given)


def due(*reasons: str) -> list[DueThen]:
    return [DueThen(minute(number), 1, reason) for number, reason in enumerate(reasons)]


def running(*numbers: int) -> list[OpenBackfillRun]:
    return [OpenBackfillRun(UUID(int=number), RunState.RUNNING) for number in numbers]


def after(done: BackfillStep) -> OpenBackfill:
    """Return the backfill as the next look finds it."""
    ended = {run.run_id for run in done.ended}
    kept = [run for run in done.backfill.runs if run.run_id not in ended]
    made = [OpenBackfillRun(run.run_id, RunState.WAITING) for run in done.runs]
    return msgspec.structs.replace(
        done.backfill,
        state=done.state,
        mark=done.mark,
        walked=done.walked,
        runs=[*kept, *made],
    )


@given(
    st.lists(st.sampled_from(["", "", "left out"]), max_size=40),
    st.integers(1, 5),
    st.integers(1, 7),
    st.randoms(use_true_random=False),
)
def test_every_due_time_is_made_once_and_never_too_many_at_once(
    reasons: list[str], limit: int, page: int, rng: Random
) -> None:
    all_due = due(*reasons)
    current, made, left_out = backfill(limit=limit), [], 0
    for _ in range(500):
        runs = [
            run._replace(state=RunState.SUCCEEDED) if rng.random() < 0.5 else run
            for run in current.runs
        ]
        current = msgspec.structs.replace(current, runs=runs)
        ahead = [due for due in all_due if current.mark is None or due.due_at > current.mark]
        next_due = ahead[: page + current.room] if current.room else []
        is_last = bool(current.room) and len(next_due) == len(ahead)
        done = step(current, next_due, is_last=is_last)
        made += [run.due_at for run in done.runs]
        left_out += sum(gap.due_count for gap in done.left_out)
        current = after(done)
        assert sum(not run.is_over for run in current.runs) <= limit
        if done.finished:
            break
    assert done.state is BackfillState.DONE
    assert made == [due.due_at for due in all_due if not due.reason]
    assert left_out == sum(bool(reason) for reason in reasons)


@pytest.mark.parametrize(
    "stopped",
    [
        {"state": BackfillState.PAUSED},
        {"state": BackfillState.CANCELLED},
        {"is_held_up": True},
        {"is_deleted": True},
        {"runs": running(3, 4)},
        {"walked": True},
    ],
    ids=str,
)
def test_it_has_no_room_while_it_is_stopped_or_full(stopped: dict[str, object]) -> None:
    assert backfill().room == 2
    assert backfill(**stopped).room == 0


def test_a_cancelled_one_is_finished_when_its_runs_have_ended() -> None:
    cancelled = backfill(state=BackfillState.CANCELLED, runs=running(3))
    assert not step(cancelled, [], is_last=False).changes_something
    over = [OpenBackfillRun(UUID(int=3), RunState.DEAD)]
    done = step(msgspec.structs.replace(cancelled, runs=over), [], is_last=False)
    assert (done.finished, done.state) == (True, BackfillState.CANCELLED)
    assert done.ended_by_state() == Counter({RunState.DEAD: 1})


def test_the_end_of_its_job_is_its_end() -> None:
    done = step(backfill(is_deleted=True, runs=running(3)), [], is_last=False)
    assert (done.state, done.finished) == (BackfillState.CANCELLED, False)
    assert done.reason == "its job was deleted"
    assert step(backfill(is_deleted=True), [], is_last=False).finished


def test_a_paused_one_whose_due_times_are_all_made_comes_to_its_end() -> None:
    done = step(backfill(state=BackfillState.PAUSED, walked=True), [], is_last=False)
    assert (done.state, done.finished) == (BackfillState.DONE, True)


def test_nothing_is_written_where_nothing_has_happened() -> None:
    assert not step(backfill(runs=running(3, 4)), [], is_last=False).changes_something


def test_the_end_is_estimated_from_what_has_ended_since_it_went_on() -> None:
    counts = BackfillCounts(planned=100, made=42, succeeded=38, dead=2)
    rated = Rated(NOON, 10)
    per_hour, ends_at = pace(counts, 2, rated, minute(30), walked=False)
    assert (per_hour, ends_at) == (60.0, minute(90))
    assert pace(counts, 2, rated, minute(30), walked=True)[1] == minute(32)
    assert pace(counts, 2, Rated(NOON, 40), minute(30), walked=False) == (None, None)


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"since": minute(1)}, "since"),
        ({"until": minute(1)}, "until"),
        ({"until": minute(-9)}, "since"),
        ({"since": NOON.replace(tzinfo=None)}, "since"),
        ({"since": datetime(1969, 12, 31, tzinfo=UTC)}, "since"),
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"reason": "x" * 501}, "reason"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(given: dict[str, object], where: str) -> None:
    request = msgspec.structs.replace(BackfillRequest(minute(-5)), **given)
    assert [problem.where for problem in request.problems(NOON)] == [where]
