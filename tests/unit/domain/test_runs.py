"""The life of a run: what `decide` chooses, exhaustively where the space is small."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.jobs.retry import Backoff, RetryPolicy
from matins.domain.runs.states import (
    FINAL,
    FIRST,
    TRANSITIONS,
    Outcome,
    RunState,
    Transition,
    Tried,
    decide,
)

POLICY = RetryPolicy(attempts=3, lost=2, backoff=Backoff(initial="10s", jitter="none"))


FIRST_TRY = Tried(1)


def decided(outcome: Outcome, tried: Tried = FIRST_TRY, *, permanent: bool = False) -> Transition:
    return decide(tried, outcome, POLICY, Random(1), reason="why", permanent=permanent)


def test_every_decision_is_a_legal_transition_of_a_running_run() -> None:
    for outcome, attempt, lost, cancel, permanent in product(
        Outcome, range(1, 6), range(5), (False, True), (False, True)
    ):
        if lost < attempt:
            after = decided(outcome, Tried(attempt, lost, cancel), permanent=permanent)
            assert after.state in TRANSITIONS[RunState.RUNNING]
            assert (after.state is RunState.RETRYING) == (after.retry_in_s is not None)


def test_success_is_success_even_when_a_cancel_was_asked_for() -> None:
    assert decided(Outcome.SUCCEEDED, Tried(1, 0, cancel_requested=True)) == Transition(
        RunState.SUCCEEDED
    )


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT])
def test_a_failure_is_tried_again_with_backoff_until_attempts_are_used_up(outcome: Outcome) -> None:
    assert decided(outcome, Tried(1)).retry_in_s == 10
    assert decided(outcome, Tried(2)).retry_in_s == 20
    assert decided(outcome, Tried(3)).state is RunState.DEAD


def test_a_permanent_failure_is_not_tried_again() -> None:
    assert decided(Outcome.FAILED, permanent=True) == Transition(RunState.DEAD, "why")


def test_a_lost_attempt_uses_up_no_attempt_of_the_job() -> None:
    assert decided(Outcome.FAILED, Tried(3, lost_count=1)).state is RunState.RETRYING


def test_losses_have_a_bound_of_their_own() -> None:
    assert decided(Outcome.LOST, Tried(1)).state is RunState.RETRYING
    assert decided(Outcome.LOST, Tried(2, lost_count=1)).state is RunState.DEAD


def test_a_loss_in_company_counts_against_nobody() -> None:
    after = decided(Outcome.LOST, Tried(8, lost_count=7, shared_losses=7, company=1))
    assert (after.state, after.shared) == (RunState.RETRYING, True)
    assert decided(Outcome.LOST, Tried(8, lost_count=7, shared_losses=6)).state is RunState.DEAD


def test_who_was_lost_in_company_twice_is_told_to_be_tried_alone() -> None:
    first = Tried(1, company=3)
    assert decided(Outcome.LOST, first).reason == "why, and 3 more with it"
    second = Tried(2, lost_count=1, shared_losses=1, company=3)
    assert not second.is_suspect
    told = decided(Outcome.LOST, second).reason
    assert told == "why, and 3 more with it; it was there 2 times, so it is tried alone"
    assert Tried(3, lost_count=2, shared_losses=2).is_suspect


def test_a_suspect_that_takes_down_what_runs_it_alone_is_dead() -> None:
    alone = Tried(3, lost_count=2, shared_losses=2, company=0)
    after = decided(Outcome.LOST, alone)
    told = "why when it was tried alone, after 2 times in company"
    assert after == Transition(RunState.DEAD, told)


def test_a_suspect_that_is_lost_where_nothing_died_is_tried_again() -> None:
    assert decided(Outcome.LOST, Tried(3, 2, shared_losses=2)).state is RunState.RETRYING


def test_what_dies_alone_without_being_a_suspect_has_all_the_losses_of_its_policy() -> None:
    assert decided(Outcome.LOST, Tried(1, company=0)).state is RunState.RETRYING
    assert decided(Outcome.LOST, Tried(2, lost_count=1, company=0)).state is RunState.DEAD


def test_losses_in_company_are_no_failures() -> None:
    tried = Tried(4, lost_count=2, shared_losses=2)
    assert decided(Outcome.FAILED, tried).state is RunState.RETRYING


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.LOST])
def test_a_cancel_that_was_asked_for_ends_the_run(outcome: Outcome) -> None:
    assert decided(outcome, Tried(1, cancel_requested=True)).state is RunState.CANCELLED


def test_no_final_state_is_ever_left_and_all_states_are_reached() -> None:
    begun_again = {state for state in FINAL if TRANSITIONS[state]}
    assert begun_again == {RunState.DEAD, RunState.SKIPPED}
    reached = set(FIRST)
    for _ in RunState:
        reached |= {after for state in reached for after in TRANSITIONS[state]}
    assert reached == set(RunState)


@given(
    failures=st.integers(1, 10_000),
    initial=st.integers(0, 10_000),
    longest=st.integers(0, 10_000),
    factor=st.floats(1, 100),
    seed=st.integers(),
)
def test_a_wait_is_never_negative_nor_above_its_bound(
    failures: int, initial: int, longest: int, factor: float, seed: int
) -> None:
    for jitter in ("full", "none"):
        backoff = Backoff(f"{initial}s", factor, f"{longest}s", jitter)
        assert 0 <= backoff.delay_s(failures, Random(seed)) <= longest
