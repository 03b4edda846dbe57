"""How long a run waits before it is tried again, and how often."""

from __future__ import annotations

from random import Random

import pytest

from matins.domain.jobs.retry import Backoff, RetryPolicy
from matins.domain.runs.states import Outcome, RunState, Tried, decide

PLAIN = Backoff(initial="10s", factor=2.0, max="1m", jitter="none")
FULL = Backoff(initial="10s", factor=2.0, max="1m")


def waits(backoff: Backoff, failures: int) -> list[float]:
    return [backoff.delay_s(failures, Random(seed)) for seed in range(200)]


@pytest.mark.parametrize(("failures", "wait_s"), [(1, 10), (2, 20), (3, 40), (4, 60), (99, 60)])
def test_waits_grow_by_the_factor_up_to_their_bound(failures: int, wait_s: float) -> None:
    assert set(waits(PLAIN, failures)) == {wait_s}


@pytest.mark.parametrize(("failures", "wait_s"), [(1, 10), (2, 20), (4, 60)])
def test_full_jitter_draws_evenly_from_nothing_to_the_wait(failures: int, wait_s: float) -> None:
    drawn = waits(FULL, failures)
    assert 0 <= min(drawn) < 0.1 * wait_s
    assert 0.9 * wait_s < max(drawn) <= wait_s
    assert 0.4 * wait_s < sum(drawn) / len(drawn) < 0.6 * wait_s


def after(tried: Tried, outcome: Outcome, policy: RetryPolicy) -> tuple[RunState, float | None]:
    """Return the state that follows an attempt, and in how many seconds it is tried again."""
    found = decide(tried, outcome, policy, Random(1))
    return found.state, found.retry_in_s


def test_a_run_may_fail_so_often_and_no_more() -> None:
    policy = RetryPolicy(attempts=3, backoff=PLAIN)
    fates = [after(Tried(attempt), Outcome.FAILED, policy) for attempt in (1, 2, 3)]
    assert fates == [(RunState.RETRYING, 10), (RunState.RETRYING, 20), (RunState.DEAD, None)]


def test_a_run_may_be_lost_so_often_and_no_more_and_waits_the_shortest_time() -> None:
    policy = RetryPolicy(attempts=1, lost=3, backoff=PLAIN)
    fates = [after(Tried(lost + 1, lost), Outcome.LOST, policy) for lost in (0, 1, 2)]
    assert fates == [(RunState.RETRYING, 10), (RunState.RETRYING, 10), (RunState.DEAD, None)]


def test_lost_attempts_are_no_failures() -> None:
    policy = RetryPolicy(attempts=2, lost=9, backoff=PLAIN)
    assert after(Tried(4, 3), Outcome.FAILED, policy) == (RunState.RETRYING, 10)
    assert after(Tried(5, 3), Outcome.FAILED, policy) == (RunState.DEAD, None)


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.LOST])
def test_what_is_to_be_cancelled_is_not_tried_again(outcome: Outcome) -> None:
    tried = Tried(1, cancel_requested=True)
    assert after(tried, outcome, RetryPolicy()) == (RunState.CANCELLED, None)


def test_a_cancelled_attempt_is_not_tried_again() -> None:
    assert after(Tried(1), Outcome.CANCELLED, RetryPolicy()) == (RunState.CANCELLED, None)
