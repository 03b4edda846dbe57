"""The last lines of an output, and places in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.run_events import EventPlace, parse_place
from matins.domain.runs.output import last_lines

TEXTS = st.text(st.sampled_from("ab\n"))


@given(TEXTS, st.integers(1, 5))
def test_they_are_the_last_of_all_lines(text: str, count: int) -> None:
    assert last_lines(text, count) == "".join(text.splitlines(keepends=True)[-count:])


@given(st.integers(0, 10**9), st.integers(0, 10**14))
def test_a_place_is_read_as_it_is_written(attempt: int, offset: int) -> None:
    assert parse_place(str(EventPlace(attempt, offset))) == EventPlace(attempt, offset)


@pytest.mark.parametrize("text", ["", "1", "1:", ":1", "a:1", "-1:1", "1:1:1", "1:" + "9" * 16])
def test_anything_else_is_no_place(text: str) -> None:
    assert parse_place(text) is None
