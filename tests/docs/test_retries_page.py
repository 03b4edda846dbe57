"""The page on retries is true: its jobs are read, and its tables are what is decided."""

from __future__ import annotations

import re
from random import Random
from typing import Final

import pytest
from tests.docs.tables import DOCS, rows

from matins.cli.applying import read_jobs
from matins.domain.jobs.failures import NO_CODE, AttemptFailure, names
from matins.domain.jobs.retry import Backoff, RetryPolicy
from matins.domain.jobs.spec import JobFile
from matins.domain.jobs.targets import Target
from matins.domain.runs.states import Outcome, Tried, decide
from matins.domain.values.durations import format_duration, parse_duration
from matins.domain.values.errors import InvalidInputError
from matins.domain.values.reading import read_value
from matins.executor.targets.http import LASTING
from matins.kernel.documents import read_document

PAGE: Final = "retries.md"
TEXT: Final = (DOCS / PAGE).read_text("utf-8")
DRAWS: Final = 400
NEAR: Final = 0.05
"""Part of the span within which the least and the most of the draws lie at its ends."""


def policy_of(text: str) -> RetryPolicy:
    return read_value(read_document(text).value, RetryPolicy)


def failure_of(word: str) -> AttemptFailure:
    """Return the failure that ended with a code, as the page writes it."""
    kind, _, text = word.partition(":")
    code = None if text == NO_CODE else int(text)
    return AttemptFailure("failed", **{"exit_code" if kind == "exit" else "http_status": code})


def test_the_job_file_on_the_page_is_sound() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    file = read_value(read_document(text).value, JobFile)
    assert file.problems() == []
    assert all(job.retry != RetryPolicy() for job in file.jobs)


@pytest.mark.parametrize(("kind", "attempts"), rows(PAGE, "| target | attempts by default |"))
def test_the_kind_of_target_decides_as_the_page_says(kind: str, attempts: str) -> None:
    assert RetryPolicy().for_target(kind).attempts == int(attempts)


def test_the_page_names_each_kind_of_target() -> None:
    kinds = {kind for kind, _ in rows(PAGE, "| target | attempts by default |")}
    assert kinds == set(Target.__struct_fields__) - {"checkin"}  # which is not tried by us


@pytest.mark.parametrize(
    ("text", "waits"),
    [(text, waits) for text, *waits in rows(PAGE, "| backoff | after failure 1 | 2 | 3 | 4 |")],
)
def test_waits_grow_as_the_page_says(text: str, waits: list[str]) -> None:
    backoff = read_value(read_document(text).value, Backoff)
    for failures, told in enumerate(waits, 1):
        assert_waits(backoff, failures, 0, told)


@pytest.mark.parametrize(
    ("text", "asked", "told"), rows(PAGE, "| backoff | `Retry-After` | after failure 1 |")
)
def test_what_a_target_asks_for_is_kept_as_the_page_says(text: str, asked: str, told: str) -> None:
    assert_waits(read_value(read_document(text).value, Backoff), 1, float(asked), told)


def assert_waits(backoff: Backoff, failures: int, asked_s: float, told: str) -> None:
    """Compare what is drawn with `10s`, or with `0s to 10s`."""
    low, _, high = told.partition(" to ")
    first, last = parse_duration(low), parse_duration(high or low)
    drawn = [backoff.delay_s(failures, Random(seed), asked_s) for seed in range(DRAWS)]
    near = (last - first) * NEAR
    assert first <= min(drawn) <= first + near
    assert last - near <= max(drawn) <= last
    assert format_duration(first) == low


@pytest.mark.parametrize(
    ("attempt", "age", "reason", "then", "told"),
    rows(PAGE, "| attempt | age of the run | ended with | then | reason |"),
)
def test_a_run_ends_as_the_page_says(
    attempt: str, age: str, reason: str, then: str, told: str
) -> None:
    policy = RetryPolicy(attempts=3, give_up_after="1h", backoff=Backoff("30s", jitter="none"))
    tried = Tried(int(attempt), age_s=parse_duration(age))
    after = decide(tried, Outcome.FAILED, policy, Random(1), reason=reason)
    assert (after.state, after.reason) == (then, told)


@pytest.mark.parametrize(
    ("text", "word", "again"), rows(PAGE, "| policy | ended with | tried again |")
)
def test_a_failure_is_tried_again_as_the_page_says(text: str, word: str, again: str) -> None:
    failure = failure_of(word)
    ended_by = policy_of(text).ended_by(failure, is_permanent=failure.http_status in LASTING)
    verdict, _, why = again.partition(": ")
    assert (verdict == "yes") == (ended_by is None)
    assert why == (ended_by or "")


def test_each_word_on_the_page_names_a_failure() -> None:
    words = [word for cell, _ in rows(PAGE, "| word | names |") for word in cell.split("`, `")]
    assert len(words) > 6
    for word in words:
        assert RetryPolicy(retry_on=(word,)).problems() == []
    assert names("exit:64-78", failure_of("exit:75"))


def test_the_page_names_the_statuses_that_are_not_tried_again() -> None:
    told = next(line for line in TEXT.splitlines() if line.startswith("Without `retry_on`"))
    assert {int(status) for status in re.findall(r"\b4\d\d\b", told)} == LASTING


@pytest.mark.parametrize(
    ("text", "place", "message"), rows(PAGE, "| policy | place | the message contains |")
)
def test_a_policy_is_refused_as_the_page_says(text: str, place: str, message: str) -> None:
    job = f"{{name: a, target: {{command: {{argv: [a]}}}}, retry: {text}}}"
    with pytest.raises(InvalidInputError) as refused:
        read_jobs(f"jobs: [{job}]", "f")
    [problem] = refused.value.problems
    assert problem.where.partition(" (")[0] == f"f: jobs[0].{place}"
    assert message in problem.message
