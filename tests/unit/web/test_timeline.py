"""The time line of a run: what went on, one piece after the other, and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.runs.states import RunState
from matins.domain.views import AttemptRecord, Run
from matins.web.charts.timeline import LEAST, WIDTH, timeline

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


USUAL = Run(
    id=UUID(int=7),
    team="payments",
    job="nightly",
    kind="scheduled",
    state=RunState.SUCCEEDED,
    due_at=NOON,
    fire_at=NOON,
    attempt=1,
    claimed_at=after(1),
)


def run(state: RunState = RunState.SUCCEEDED, **given: object) -> Run:
    return msgspec.structs.replace(USUAL, state=state, **given)


def attempt(number: int, begin: float, end: float | None, outcome: str | None) -> AttemptRecord:
    finished_at = None if end is None else after(end)
    return AttemptRecord(number, "vm", after(begin), finished_at, outcome)


def test_pieces_follow_each_other_from_the_due_time_to_the_end() -> None:
    attempts = [attempt(1, 2, 4, "failed"), attempt(2, 8, 10, "succeeded")]
    line = timeline(run(finished_at=after(10)), attempts, after(99))
    assert [(piece.kind, piece.x, piece.width) for piece in line.pieces] == [
        ("before", 0, 100),
        ("queued", 100, 100),
        ("failed", 200, 200),
        ("retrying", 400, 400),
        ("succeeded", 800, 200),
    ]
    assert line.attempts[2] == line.pieces[-1]
    assert line.label == (
        "claim 1.0 s, in the queue 1.0 s, attempt 1, failed, 2.0 s,"
        " until the next attempt 4.0 s, attempt 2, succeeded, 2.0 s"
    )


def test_milestones_say_how_long_each_step_took() -> None:
    attempts = [attempt(1, 5, 9, "succeeded")]
    jittered = run(fire_at=after(3), claimed_at=after(4), finished_at=after(9))
    told = [(stone.name, stone.after_s) for stone in timeline(jittered, attempts, NOON).milestones]
    assert told == [
        ("Due", None),
        ("Fire time", 3),
        ("Claimed", 1),
        ("Started", 1),
        ("Finished", 4),
    ]


def test_a_run_that_goes_on_reaches_to_now() -> None:
    line = timeline(run(RunState.RUNNING), [attempt(1, 2, None, None)], after(20))
    assert [piece.kind for piece in line.pieces] == ["before", "queued", "running"]
    assert line.pieces[-1].width == 900


def test_a_run_that_waits_has_no_attempt() -> None:
    line = timeline(run(RunState.WAITING), [], after(4))
    assert [(piece.kind, piece.width) for piece in line.pieces] == [
        ("before", 250),
        ("waiting", 750),
    ]
    assert line.milestones[-1].name == "Claimed"


def test_a_run_that_is_made_up_for_begins_with_its_claim() -> None:
    made_up = run(kind="backfill", claimed_at=after(900_000), finished_at=after(900_002))
    line = timeline(made_up, [attempt(1, 900_001, 900_002, "succeeded")], NOON)
    assert [(piece.kind, piece.x) for piece in line.pieces] == [("queued", 0), ("succeeded", 500)]


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=12), st.booleans())
def test_no_piece_leaves_the_line_or_gets_lost(lengths: list[float], ended: bool) -> None:
    attempts, at = [], 1.0
    for number, (wait, took) in enumerate(zip(lengths[::2], lengths[1::2], strict=False), 1):
        attempts.append(attempt(number, at + wait, at + wait + took, "failed"))
        at += wait + took
    state = RunState.DEAD if ended else RunState.RETRYING
    ends = {"finished_at": after(at)} if ended else {"retry_at": after(at + 5)}
    line = timeline(run(state, **ends), attempts, after(at + 1))
    for piece in line.pieces:
        assert 0 <= piece.x <= piece.x + piece.width <= WIDTH + 0.2
        assert piece.width >= LEAST - 0.05
    assert line.attempts.keys() == {record.number for record in attempts}
