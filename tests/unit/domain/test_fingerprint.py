"""Fingerprints of failures: alike for what differs in numbers, ids and times, apart otherwise."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.runs.attempts import Result
from matins.domain.runs.fingerprint import ERROR_MAX, LENGTH, Failure, failure_of, pattern_of
from matins.domain.runs.states import Outcome

HEX = "0123456789abcdef"
WORDS = st.lists(st.text("ghijklmnopqrsuvwxyz", min_size=1, max_size=12), min_size=1, max_size=6)
NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False, width=32)).map(
    lambda number: str(number) if isinstance(number, int) else f"{number:.3f}"
)
INSTANTS = st.datetimes(datetime(1970, 1, 1), datetime(9999, 1, 1), timezones=st.just(UTC)).map(  # noqa: DTZ001 # Hypothesis wants naive bounds
    lambda instant: instant.isoformat(timespec="milliseconds")
)
ADDRESSES = st.integers(1, 2**48).map(hex)
DIGESTS = st.text(HEX, min_size=8, max_size=64).filter(
    lambda text: any(character.isdigit() for character in text)
)
FILES = st.text("abcdefghij0123456789_", min_size=1, max_size=12).map(lambda name: f"/tmp/{name}")
VARYING = (NUMBERS, st.uuids().map(str), INSTANTS, ADDRESSES, DIGESTS, FILES)


@st.composite
def alike(draw: st.DrawFn) -> tuple[str, str]:
    """Two errors of the same words, between which numbers, ids, times and files differ."""
    kinds = draw(st.lists(st.sampled_from(VARYING), max_size=4))
    words = draw(WORDS)
    first, second = list(words), list(words)
    for kind in kinds:
        place = draw(st.integers(0, len(first)))
        first.insert(place, draw(kind))
        second.insert(place, draw(kind))
    return " ".join(first), " ".join(second)


def failed(reason: str, **fields: object) -> Result:
    return Result(Outcome.FAILED, reason, **fields)  # type: ignore[arg-type]


@given(alike())
def test_errors_that_differ_in_what_varies_are_alike(errors: tuple[str, str]) -> None:
    first, second = errors
    assert failure_of(failed(first)).fingerprint == failure_of(failed(second)).fingerprint


@given(WORDS, WORDS)
def test_errors_of_other_words_are_not(first: list[str], second: list[str]) -> None:
    fingerprints = [failure_of(failed(" ".join(words))).fingerprint for words in (first, second)]
    assert (fingerprints[0] == fingerprints[1]) == (first == second)


@given(st.text(), st.text())
def test_anything_has_a_bounded_error_and_a_fingerprint(reason: str, output: str) -> None:
    failure = failure_of(failed(reason, output=output))
    assert len(failure.error) <= ERROR_MAX
    assert len(failure.fingerprint) == LENGTH
    assert failure == failure_of(failed(reason, output=output))


@given(st.text())
def test_a_pattern_is_its_own_pattern(error: str) -> None:
    assert pattern_of(pattern_of(error)) == pattern_of(error)


@pytest.mark.parametrize(
    ("error", "pattern"),
    [
        ("exit code 1", "exit code #"),
        ("KeyError: 'day-2026-11-30'", "KeyError: 'day-#'"),
        ("2026-11-30T02:00:00.123Z order 4711 refused", "# order # refused"),
        ("connect to 10.0.0.17:5432 failed after 1.5s", "connect to #:# failed after #s"),
        ("connect to 10.0.0.17:80 failed after 12s", "connect to #:# failed after #s"),
        ("at 0x7f3a2c: object 9f86d081884c7d65 is gone", "at #: object # is gone"),
        ("request req_7fGh2kL9 timed out", "request # timed out"),
        ("can't open /var/tmp/a1/x.csv: denied", "can't open #: denied"),
        ("can't open '/tmp/tmpab3k_x9'", "can't open '#'"),
        ("utf8 decode error", "utf# decode error"),
        ("run 019ae1f6-1b28-8a3c-9f05-2c5d1f0e7a42 lost", "run # lost"),
        ("deadbeef is no digit of any", "deadbeef is no digit of any"),
    ],
)
def test_examples(error: str, pattern: str) -> None:
    assert pattern_of(error) == pattern


def test_the_last_line_of_the_output_tells_what_went_wrong() -> None:
    output = "Traceback (most recent call last):\n  File \"x.py\", line 7\nKeyError: 'id'\n\n"
    assert failure_of(failed("exit code 1", output=output)).error == "exit code 1: KeyError: 'id'"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (failed("exit code 1", exit_code=1), failed("exit code 2", exit_code=2)),
        (failed("HTTP 500", http_status=500), failed("HTTP 503", http_status=503)),
        (failed("ended"), Result(Outcome.TIMED_OUT, "ended")),
    ],
)
def test_exit_codes_statuses_and_outcomes_tell_apart(first: Result, second: Result) -> None:
    assert failure_of(first).fingerprint != failure_of(second).fingerprint


@pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, Outcome.CANCELLED])
def test_what_did_not_fail_has_none(outcome: Outcome) -> None:
    assert failure_of(Result(outcome, "cancelled", output="line")) == Failure()


@given(st.uuids())
def test_an_id_in_the_output_makes_no_other_fingerprint(run: UUID) -> None:
    first = failure_of(failed("exit code 1", output=f"run {run} refused"))
    assert (
        first.fingerprint
        == failure_of(failed("exit code 1", output=f"run {UUID(int=7)} refused")).fingerprint
    )
