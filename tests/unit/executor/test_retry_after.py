"""`Retry-After`: seconds, or a date that is counted from the answer's own."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.executor.http.response import Answer
from matins.executor.http.retry_after import asked_wait_s

NOW = "Tue, 01 Dec 2026 02:00:00 GMT"


def waits(text: str, date: str = NOW) -> float:
    return asked_wait_s({"retry-after": text, "date": date})


@pytest.mark.parametrize(("text", "wait_s"), [("0", 0), ("120", 120), ("9999999999", 9999999999)])
def test_seconds_are_taken_as_they_are(text: str, wait_s: float) -> None:
    assert waits(text) == wait_s
    assert asked_wait_s({"retry-after": text}) == wait_s


@pytest.mark.parametrize(
    ("text", "wait_s"),
    [
        ("Tue, 01 Dec 2026 02:01:30 GMT", 90),
        ("Tue, 01 Dec 2026 03:01:30 +0100", 90),
        ("Tuesday, 01-Dec-26 02:01:30 GMT", 90),
        ("Tue Dec  1 02:01:30 2026", 90),
        (NOW, 0),
        ("Tue, 01 Dec 2026 01:00:00 GMT", 0),
    ],
)
def test_a_date_is_counted_from_the_answers_own(text: str, wait_s: float) -> None:
    assert waits(text) == wait_s


@pytest.mark.parametrize("text", ["", "soon", "-1", "1.5", "1e3", "60 s", "٣", "2026-12-01"])
def test_what_can_not_be_read_asks_for_nothing(text: str) -> None:
    assert waits(text) == 0


@pytest.mark.parametrize("date", ["", "now"])
def test_a_date_that_is_counted_from_nothing_asks_for_nothing(date: str) -> None:
    assert waits("Tue, 01 Dec 2026 02:01:30 GMT", date) == 0


@given(st.text(), st.text())
def test_whatever_comes_is_a_time_to_wait(text: str, date: str) -> None:
    for wait_s in (waits(text), waits(NOW, date), waits(text, date)):
        assert 0 <= wait_s < math.inf


def test_the_first_of_an_answer_counts_and_none_of_an_interim_one() -> None:
    answer = Answer("GET")
    answer.feed(b"HTTP/1.1 103 Early Hints\r\nRetry-After: 5\r\n\r\n")
    answer.feed(
        b"HTTP/1.1 503 Busy\r\nretry-after: 7\r\nRetry-After: 9\r\nContent-Length: 0\r\n\r\n"
    )
    assert answer.is_complete
    assert answer.headers == {"retry-after": "7"}
