"""Overlap: what becomes of a run while others of its job are unfinished."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.jobs.overlap import Overlap, OverlapPolicy, overlap_of
from matins.domain.jobs.windows import Window
from matins.domain.runs.admission.deciding import ask, decide, left_open
from matins.domain.runs.admission.open_runs import MARGIN, OpenRun, OpenRuns
from matins.domain.runs.admission.overlap import (
    CAUSE,
    FIRST_RECHECK,
    RECHECK,
    REPLACED_WITHIN,
    ask_trigger,
    replaced_by,
)
from matins.domain.runs.admission.waiting import (
    CLAIM,
    GATE,
    RETRY,
    AdmissionFacts,
    Candidate,
    Question,
    Rules,
    Verdict,
    Waiting,
)
from matins.domain.runs.states import Kind, RunState
from matins.domain.values.ids import run_id

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
JOB = UUID(int=7)
POLICIES: tuple[OverlapPolicy, ...] = ("skip", "allow", "queue", "replace")
SKIP = Overlap("skip")
STARTED = (RunState.QUEUED, RunState.RUNNING, RunState.RETRYING)


def at(minute: float) -> datetime:
    """So many minutes after noon."""
    return NOON + timedelta(minutes=minute)


def candidate(minute: float, overlap: Overlap = SKIP, **given_: object) -> Candidate:
    """Return a run that was due, and was claimed, some minutes after noon."""
    kind = given_.get("kind", Kind.SCHEDULED)
    made = Candidate(
        run_id(JOB, at(minute), str(kind)),
        at(minute),
        at(minute),
        Kind.SCHEDULED,
        RunState.WAITING,
        cause=CLAIM,
        fire_at=at(minute),
        job_id=JOB,
        job_revision=1,
        open_since=NOON,
        labels={},
        overlap=overlap,
    )
    return msgspec.structs.replace(made, **given_)


def unfinished(minute: float, state: RunState = RunState.RUNNING, **given_: object) -> OpenRun:
    """Return another run of the job, due some minutes after noon."""
    kind = given_.pop("kind", Kind.SCHEDULED)
    attempt = 0 if state is RunState.WAITING else 1
    name = run_id(JOB, at(minute), str(kind))
    made = OpenRun(name, at(minute), at(minute), Kind(str(kind)), state, attempt)
    return msgspec.structs.replace(made, **given_)


def verdict(run: Candidate, *others: OpenRun, minute: float = 5, windows: object = ()) -> Verdict:
    """Return what becomes of a run beside others."""
    return ask(Question(run, Rules(1, windows), at(minute), others))  # type: ignore[arg-type]


@pytest.mark.parametrize("state", STARTED)
@pytest.mark.parametrize(
    ("overlap", "becomes"),
    [
        (Overlap("skip"), RunState.SKIPPED),
        (Overlap("allow"), RunState.QUEUED),
        (Overlap("queue"), RunState.WAITING),
        (Overlap("replace"), RunState.WAITING),
    ],
)
def test_the_policy_decides_beside_a_run_that_has_started(
    overlap: Overlap, becomes: RunState, state: RunState
) -> None:
    assert verdict(candidate(5, overlap), unfinished(1, state)).state is becomes
    assert verdict(candidate(5, overlap)).state is RunState.QUEUED


def test_a_run_that_is_skipped_says_because_of_which() -> None:
    other = unfinished(1)
    assert verdict(candidate(5), other).reason == (
        f"overlap: run {other.id} due 2026-03-02T12:01:00Z is still running"
    )


def test_a_run_that_waits_is_asked_about_soon_and_then_seldom() -> None:
    queue = Overlap("queue")
    found = verdict(candidate(5, queue), unfinished(1))
    assert (found.cause, found.blocker, found.until) == (CAUSE, str(JOB), at(5) + FIRST_RECHECK)
    again = verdict(candidate(5, queue, cause=CAUSE), unfinished(1))
    assert again.until == at(5) + RECHECK


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_so_many_runs_wait_as_the_queue_is_deep(depth: int) -> None:
    queue = Overlap("queue", depth=depth)
    waiting = [unfinished(minute, RunState.WAITING) for minute in range(2, 2 + depth)]
    run = candidate(9, queue)
    assert verdict(run, unfinished(1), *waiting[1:]).state is RunState.WAITING
    beyond = verdict(run, unfinished(1), *waiting)
    assert beyond.state is RunState.SKIPPED
    assert ("another waits" if depth == 1 else f"{depth} more wait") in beyond.reason
    # What goes first is not in the queue, though a window may hold it as well.
    assert verdict(run, *waiting).state is RunState.WAITING


def test_one_that_replaces_cancels_all_others_and_waits_for_their_ends() -> None:
    run = candidate(5, Overlap("replace"))
    others = unfinished(1), unfinished(2, RunState.WAITING), unfinished(3, cancel_at=at(4.9))
    found = verdict(run, *others)
    assert found.state is RunState.WAITING
    assert set(found.replaces) == {others[0].id, others[1].id}
    ending = unfinished(1, cancel_at=at(5))
    assert verdict(run, ending).replaces == ()
    bound = (at(5) + REPLACED_WITHIN - NOON) / timedelta(minutes=1)
    late = candidate(5, Overlap("replace"), cause=CAUSE)
    assert verdict(late, ending, minute=bound - 0.01).until == at(bound)
    assert verdict(late, ending, minute=bound).state is RunState.QUEUED


@pytest.mark.parametrize("policy", POLICIES)
def test_who_was_admitted_or_whose_owner_allows_it_minds_nobody(
    policy: OverlapPolicy,
) -> None:
    for given_ in ({"attempt": 1}, {"allow_overlap": True}, {"cause": GATE}):
        run = candidate(5, Overlap(policy), **given_)
        assert verdict(run, unfinished(1)).state is RunState.QUEUED


@pytest.mark.parametrize("policy", ["skip", "queue", "replace"])
def test_a_run_waits_for_backfills_that_have_started_and_they_for_it(policy: OverlapPolicy) -> None:
    backfill = unfinished(-60, kind=Kind.BACKFILL)
    found = verdict(candidate(5, Overlap(policy)), backfill)
    assert (found.state, found.replaces) == (RunState.WAITING, ())
    behind = candidate(-60, Overlap(policy), kind=Kind.BACKFILL)
    assert verdict(behind, unfinished(5, RunState.WAITING)).state is RunState.WAITING
    at_gate = msgspec.structs.replace(behind, cause=GATE)
    assert verdict(at_gate, unfinished(5)).state is RunState.WAITING
    assert verdict(behind, backfill).state is RunState.QUEUED
    waiting = msgspec.structs.replace(backfill, state=RunState.WAITING, attempt=0)
    assert verdict(candidate(5, Overlap(policy)), waiting).state is RunState.QUEUED


def test_a_skip_wins_over_a_window_that_holds_and_else_the_last_to_end() -> None:
    hold = Window("w", at(4), at(60))
    assert verdict(candidate(5), unfinished(1), windows=[hold]).state is RunState.SKIPPED
    found = verdict(candidate(5, Overlap("replace")), unfinished(1), windows=[hold])
    assert (found.cause, found.until, found.replaces) == ("window", at(60), ())


runs = st.builds(
    unfinished,
    st.integers(-9, 9),
    st.sampled_from((*STARTED, RunState.WAITING)),
)


@given(
    st.sampled_from([Overlap("skip"), Overlap("queue"), Overlap("queue", depth=3)]),
    st.lists(runs, max_size=4, unique_by=lambda run: run.id),
    st.lists(st.integers(-9, 9), min_size=1, max_size=6, unique=True),
)
def test_of_a_batch_one_is_admitted_at_most_and_only_where_nothing_has_started(
    overlap: Overlap, others: Sequence[OpenRun], minutes: Sequence[int]
) -> None:
    candidates = {run.id: run for run in (candidate(minute, overlap) for minute in minutes)}
    others = [run for run in others if run.id not in candidates]
    batch = [Waiting(run.id, 0, run.due_at, 1, CLAIM) for run in candidates.values()]
    open_runs = {JOB: [*others, *candidates.values()]}
    facts = AdmissionFacts(at(10), {1: Rules(1)}, candidates, open_runs=open_runs)
    decisions = decide(batch, facts)
    admitted = [decision for decision in decisions if decision.verdict.state is RunState.QUEUED]
    has_started = any(run.is_started for run in others)
    assert len(admitted) == (
        not has_started
        and not any(
            other.goes_before(min(candidates.values(), key=lambda run: run.claimed_at))
            for other in others
        )
    )
    waiting = [decision for decision in decisions if decision.verdict.state is RunState.WAITING]
    assert len(waiting) <= overlap.places * (overlap.policy == "queue") + (not has_started)
    left = {run.id for run in left_open(decisions, facts)[JOB]}
    skipped = {
        decision.waiting.run_id
        for decision in decisions
        if decision.verdict.state is RunState.SKIPPED
    }
    assert left == ({run.id for run in others} | set(candidates)) - skipped


replays = st.builds(
    candidate,
    st.integers(-30, 30),
    st.sampled_from([Overlap("skip"), Overlap("queue"), Overlap("replace")]),
    attempt=st.integers(1, 3),
    cause=st.sampled_from([RETRY, CAUSE, GATE]),
    state=st.sampled_from([RunState.WAITING, RunState.RETRYING]),
    awaits_replay=st.just(True),
)


@given(
    st.lists(runs, max_size=3, unique_by=lambda run: run.id),
    st.lists(replays, min_size=1, max_size=5, unique_by=lambda run: run.id),
)
def test_replays_go_one_after_the_other_once_nothing_else_is_left(
    others: Sequence[OpenRun], replayed: Sequence[Candidate]
) -> None:
    candidates = {run.id: run for run in replayed}
    others = [run for run in others if run.id not in candidates]
    while candidates:
        batch = [Waiting(run.id, 0, run.due_at, 1, run.cause) for run in candidates.values()]
        open_runs = {JOB: [*others, *candidates.values()]}
        facts = AdmissionFacts(at(10), {1: Rules(1)}, candidates, open_runs=open_runs)
        decisions = decide(batch, facts)
        verdicts = {decision.waiting.run_id: decision.verdict for decision in decisions}
        assert not any(found.replaces for found in verdicts.values())
        admitted = [run for run, found in verdicts.items() if found.state is RunState.QUEUED]
        waiting = [found for found in verdicts.values() if found.state is RunState.WAITING]
        assert {found.cause for found in waiting} <= {CAUSE}
        assert len(admitted) + len(waiting) == len(candidates)
        if others:
            assert admitted == []
            others = others[1:]
        else:
            first = min(candidates.values(), key=lambda run: run.claimed_at)
            assert admitted == [first.id]
            del candidates[first.id]


@pytest.mark.parametrize("policy", ["skip", "queue", "replace"])
def test_a_replay_that_waits_is_minded_by_no_run_of_today(policy: OverlapPolicy) -> None:
    replay = unfinished(-9, RunState.RETRYING, awaits_replay=True)
    assert verdict(candidate(5, Overlap(policy)), replay).state is RunState.QUEUED
    admitted = msgspec.structs.replace(replay, state=RunState.QUEUED)
    assert verdict(candidate(5, Overlap(policy)), admitted).state is not RunState.QUEUED


def test_a_replay_says_for_which_run_it_waits() -> None:
    running = unfinished(1)
    replay = candidate(-9, attempt=1, cause=RETRY, state=RunState.RETRYING, awaits_replay=True)
    found = verdict(replay, running)
    assert (found.state, found.cause) == (RunState.WAITING, CAUSE)
    assert found.reason == f"overlap: run {running.id} due 2026-03-02T12:01:00Z is still running"
    assert found.until == at(5) + FIRST_RECHECK


def test_a_replay_minds_nobody_where_its_job_or_its_owner_allows_it() -> None:
    replay = candidate(-9, Overlap("allow"), attempt=1, cause=RETRY, awaits_replay=True)
    assert verdict(replay, unfinished(1)).state is RunState.QUEUED
    allowed = msgspec.structs.replace(replay, overlap=SKIP, allow_overlap=True)
    assert verdict(allowed, unfinished(1)).state is RunState.QUEUED


def test_where_to_look_moves_to_what_was_asked_about_last_and_keeps_what_is_left() -> None:
    old, backfill, waiting = unfinished(1), unfinished(-9, kind=Kind.BACKFILL), candidate(5)
    place = OpenRuns(at(0)).advanced([waiting], [old, backfill, waiting])
    assert place == OpenRuns(at(5), (old.id,))
    assert place.safe_since == at(1) - MARGIN
    assert place.advanced([candidate(3)], [waiting]) == OpenRuns(at(5))


@pytest.mark.parametrize(
    ("policy", "allow", "first_open", "state"),
    [
        ("allow", False, None, RunState.QUEUED),
        ("skip", False, None, RunState.WAITING),
        ("skip", False, unfinished(1), RunState.SKIPPED),
        ("skip", True, unfinished(1), RunState.WAITING),
        ("skip", False, unfinished(1, kind=Kind.BACKFILL), RunState.WAITING),
        ("skip", False, unfinished(1, RunState.RETRYING, awaits_replay=True), RunState.WAITING),
        ("queue", False, None, RunState.WAITING),
        ("replace", False, None, RunState.WAITING),
    ],
)
def test_a_triggered_run_is_skipped_at_once_where_that_is_certain(
    policy: OverlapPolicy,
    allow: bool,
    first_open: OpenRun | None,
    state: RunState,
) -> None:
    found = ask_trigger(policy, first_open, allow_overlap=allow)
    assert found.state is state


def test_the_policy_is_written_alone_or_with_its_depth() -> None:
    assert overlap_of("queue") == Overlap("queue")
    assert Overlap("queue", depth=3).problems() == []
    for depth in (0, 101):
        [problem] = Overlap("queue", depth=depth).problems()
        assert problem.where == "depth"
    [problem] = Overlap("skip", depth=2).problems()
    assert "queue only" in problem.message


def test_what_is_replaced_says_by_which_run() -> None:
    assert replaced_by(candidate(3)) == "overlap: replaced by the run of 2026-03-02T12:03:00Z"
