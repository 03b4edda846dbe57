"""How long a run waits before it is tried again, how often, and up to which age.

Faults that are covered: RC-07.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from matins.domain.jobs.retry import Backoff, RetryPolicy, read_policy
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, HttpTarget, Target
from matins.domain.runs.states import TRANSITIONS, Outcome, RunState, Tried, decide
from matins.domain.values.durations import parse_duration

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


def test_what_failed_once_and_is_not_tried_again_has_the_reason_of_that_failure() -> None:
    found = decide(
        Tried(1), Outcome.FAILED, RetryPolicy(attempts=1), Random(1), reason="exit code 1"
    )
    assert (found.state, found.reason) == (RunState.DEAD, "exit code 1")


HTTP = Target(http=HttpTarget("http://127.0.0.1:9/"))
COMMAND = Target(command=CommandTarget(["true"]))


@pytest.mark.parametrize(("target", "attempts"), [(COMMAND, 1), (HTTP, 3)])
def test_the_kind_of_target_decides_how_often_it_is_tried_unless_the_job_does(
    target: Target, attempts: int
) -> None:
    assert JobSpec("a", target).retrying.attempts == attempts
    assert JobSpec("a", target, retry=RetryPolicy(attempts=7)).retrying.attempts == 7


def test_a_policy_that_names_no_attempts_allows_one() -> None:
    assert after(Tried(1), Outcome.FAILED, RetryPolicy()) == (RunState.DEAD, None)


UNFIT = {
    "no policy": "7",
    "no JSON": "{",
    "an unknown field": '{"tries": 3}',
    "5,000 attempts": '{"attempts": 5000}',
    "a negative wait": '{"attempts": 9, "backoff": {"initial": "-1s"}}',
    "an endless wait": '{"attempts": 9, "backoff": {"max": "999999999999w"}}',
    "a huge factor": '{"attempts": 9, "backoff": {"factor": 1e308}}',
    "a factor below 1": '{"attempts": 9, "backoff": {"factor": -10}}',
    "an unknown failure": '{"attempts": 9, "retry_on": ["exit:1e9"]}',
}


@pytest.mark.parametrize("text", UNFIT.values(), ids=UNFIT)
def test_rc07_a_stored_policy_that_cannot_be_carried_out_allows_nothing_more(text: str) -> None:
    policy = read_policy(text, "http")
    for outcome in (Outcome.FAILED, Outcome.LOST):
        assert after(Tried(1), outcome, policy) == (RunState.DEAD, None)


@pytest.mark.parametrize(("target", "attempts"), [("command", 1), ("http", 3), (None, 1)])
def test_a_stored_policy_is_completed_by_the_kind_of_target(
    target: str | None, attempts: int
) -> None:
    assert read_policy('{"lost": 2}', target) == RetryPolicy(attempts=attempts, lost=2)


def test_what_a_target_asks_for_is_waited_for_with_the_jitter_on_top() -> None:
    assert {PLAIN.delay_s(1, Random(seed), 30) for seed in range(9)} == {30}
    assert {PLAIN.delay_s(1, Random(seed), 3) for seed in range(9)} == {10}
    drawn = [FULL.delay_s(1, Random(seed), 30) for seed in range(200)]
    assert 30 <= min(drawn) < 31
    assert 39 < max(drawn) <= 40
    assert {FULL.delay_s(1, Random(seed), 3600) for seed in range(9)} == {60}


def test_a_run_is_given_up_when_its_next_attempt_would_come_too_late() -> None:
    policy = RetryPolicy(attempts=9, backoff=PLAIN, give_up_after="1m")
    assert after(Tried(1, age_s=50), Outcome.FAILED, policy) == (RunState.RETRYING, 10)
    found = decide(Tried(1, age_s=50.1), Outcome.FAILED, policy, Random(1), reason="exit code 1")
    told = "given up, for its next attempt would come later than 1m after its claim"
    assert (found.state, found.reason) == (RunState.DEAD, f"{told}; at last: exit code 1")


def test_a_loss_is_no_reason_to_go_on_for_longer() -> None:
    policy = RetryPolicy(attempts=9, backoff=PLAIN, give_up_after="1m")
    assert after(Tried(1, age_s=55), Outcome.LOST, policy) == (RunState.DEAD, None)
    company = Tried(1, age_s=55, company=3)
    found = decide(company, Outcome.LOST, policy, Random(1))
    assert (found.state, found.shared) == (RunState.DEAD, True)


SECONDS = st.integers(0, 10**10).map("{}s".format)
BACKOFFS = st.builds(
    Backoff,
    initial=SECONDS,
    factor=st.floats(1, 100),
    max=SECONDS,
    jitter=st.sampled_from(["full", "none"]),
)
POLICIES = st.builds(
    RetryPolicy,
    attempts=st.none() | st.integers(1, 100),
    lost=st.integers(1, 100),
    backoff=BACKOFFS,
    give_up_after=st.none() | st.integers(0, 10**6).map("{}s".format),
).filter(lambda policy: not policy.problems())
TRIED = st.builds(
    Tried,
    attempt=st.integers(101, 10_000),
    lost_count=st.integers(0, 100),
    shared_losses=st.integers(0, 100),
    age_s=st.floats(-1e3, 1e9),
    company=st.none() | st.integers(0, 100),
)


@example(Backoff("3000000000s", 100, "0s", "full"), 5_000, 0.0)
@example(Backoff("3000000000s", 100, "3000000000s", "none"), 5_000, 1e300)
@given(
    backoff=BACKOFFS.filter(lambda backoff: not backoff.problems()),
    failures=st.integers(1, 10_000),
    asked_s=st.floats(0, 1e300),
)
def test_rc07_a_wait_is_never_negative_nor_above_its_bound(
    backoff: Backoff, failures: int, asked_s: float
) -> None:
    wait_s = backoff.delay_s(failures, Random(failures), asked_s)
    assert min(asked_s, parse_duration(backoff.max)) <= wait_s <= parse_duration(backoff.max)
    if backoff.jitter == "none":
        assert wait_s >= min(parse_duration(backoff.initial), parse_duration(backoff.max))


@given(
    tried=TRIED,
    outcome=st.sampled_from([Outcome.FAILED, Outcome.TIMED_OUT, Outcome.LOST]),
    policy=POLICIES,
    asked_s=st.floats(0, 1e9),
    spare=st.integers(0, 100),
)
def test_rc07_no_retry_is_later_than_the_job_gives_up_nor_beyond_its_counts(
    tried: Tried, outcome: Outcome, policy: RetryPolicy, asked_s: float, spare: int
) -> None:
    found = decide(tried, outcome, policy, Random(spare), asked_s=asked_s)
    assert found.state in TRANSITIONS[RunState.RUNNING]
    if found.retry_in_s is None:
        assert found.state is RunState.DEAD
        return
    assert 0 <= found.retry_in_s <= parse_duration(policy.backoff.max)
    if policy.give_up_after is not None:
        assert tried.age_s + found.retry_in_s <= parse_duration(policy.give_up_after)
    if outcome is not Outcome.LOST:
        assert tried.attempt - tried.lost_count < (policy.attempts or 1)
