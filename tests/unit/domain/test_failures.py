"""Which failures are tried again: the words of `retry_on` and `permanent_on`."""

from __future__ import annotations

import pytest

from matins.domain.jobs.failures import AttemptFailure, names
from matins.domain.jobs.retry import RetryPolicy
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, HttpTarget, Target

COMMAND = Target(command=CommandTarget(["true"]))
HTTP = Target(http=HttpTarget("http://127.0.0.1:9/"))


def exited(code: int | None) -> AttemptFailure:
    return AttemptFailure("failed", exit_code=code)


def answered(status: int | None) -> AttemptFailure:
    return AttemptFailure("failed", http_status=status)


@pytest.mark.parametrize(
    ("word", "named", "others"),
    [
        ("failed", [exited(1), answered(500)], [AttemptFailure("timed_out")]),
        ("timed_out", [AttemptFailure("timed_out", http_status=200)], [exited(1)]),
        ("exit:75", [exited(75)], [exited(74), exited(76), exited(None)]),
        ("exit:64-78", [exited(64), exited(78)], [exited(63), exited(79)]),
        ("exit:none", [exited(None)], [exited(1)]),
        ("http:429", [answered(429)], [answered(428), answered(None)]),
        ("http:5xx", [answered(500), answered(599)], [answered(499), answered(600)]),
        ("http:500-504", [answered(504)], [answered(505)]),
        ("http:none", [answered(None)], [answered(500)]),
        ("http:200", [answered(200)], [AttemptFailure("timed_out", http_status=200)]),
    ],
)
def test_each_word_names_its_failures(
    word: str, named: list[AttemptFailure], others: list[AttemptFailure]
) -> None:
    assert all(names(word, failure) for failure in named)
    assert not any(names(word, failure) for failure in others)


@pytest.mark.parametrize(
    ("word", "target", "message"),
    [
        *((word, COMMAND, "is no failure; write failed") for word in ("", "succeeded", "exit")),
        *(
            (word, COMMAND, "is no failure")
            for word in ("exit:", "exit:-1", "exit:256", "exit:5xx")
        ),
        *(
            (word, COMMAND, "is no failure")
            for word in ("exit:9-3", "exit:1-", "exit:1,2", "sig:9")
        ),
        *((word, HTTP, "is no failure") for word in ("http:1000", "http:0xx", "http:none-5")),
        ("lost", COMMAND, "says how often a run may be lost"),
        ("exit:3", HTTP, "is of targets of kind command, and this job's is of kind http"),
        ("http:none", COMMAND, "is of targets of kind http, and this job's is of kind command"),
    ],
)
def test_a_word_that_names_no_failure_is_refused_with_its_place(
    word: str, target: Target, message: str
) -> None:
    words = ("failed", word)
    for field, policy in (
        ("retry_on", RetryPolicy(retry_on=words)),
        ("permanent_on", RetryPolicy(permanent_on=words)),
    ):
        [problem] = JobSpec("a", target, retry=policy).problems()
        assert problem.where == f"retry.{field}[1]"
        assert message in problem.message


def test_more_words_than_anybody_needs_are_refused() -> None:
    [problem] = RetryPolicy(retry_on=("failed",) * 51).problems()
    assert (problem.where, problem.message) == (
        "retry_on",
        "holds 51 words; at most 50 may stand there",
    )


@pytest.mark.parametrize("wrong", ["-1s", "soon"])
def test_an_age_that_is_no_length_of_time_is_refused(wrong: str) -> None:
    [problem] = RetryPolicy(give_up_after=wrong).problems()
    assert problem.where == "give_up_after"


def ended_by(
    policy: RetryPolicy, failure: AttemptFailure, *, is_permanent: bool = False
) -> str | None:
    return policy.ended_by(failure, is_permanent=is_permanent)


def test_without_words_the_executor_says_what_is_permanent() -> None:
    assert ended_by(RetryPolicy(), answered(500)) is None
    assert ended_by(RetryPolicy(), answered(404), is_permanent=True) == ""


def test_with_retry_on_only_that_is_tried_again_whatever_the_executor_says() -> None:
    policy = RetryPolicy(retry_on=("http:404", "http:429"))
    assert ended_by(policy, answered(404), is_permanent=True) is None
    assert ended_by(policy, answered(429)) is None
    assert ended_by(policy, answered(500)) == "none of retry_on: http:404, http:429"
    assert ended_by(policy, AttemptFailure("timed_out")) == "none of retry_on: http:404, http:429"


def test_what_is_permanent_wins_over_what_is_to_be_tried_again() -> None:
    policy = RetryPolicy(retry_on=("http:5xx",), permanent_on=("http:501",))
    assert ended_by(policy, answered(500)) is None
    assert ended_by(policy, answered(501)) == "permanent_on: http:501"
    unsaid = RetryPolicy(permanent_on=("http:501",))
    assert ended_by(unsaid, answered(500)) is None
    assert ended_by(unsaid, answered(404), is_permanent=True) == ""


@pytest.mark.parametrize("outcome", ["lost", "cancelled"])
def test_words_are_not_asked_about_what_is_no_failure(outcome: str) -> None:
    policy = RetryPolicy(retry_on=("exit:75",), permanent_on=("failed",))
    assert ended_by(policy, AttemptFailure(outcome), is_permanent=True) is None
