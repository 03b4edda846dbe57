"""Durations as owners write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.durations import format_duration, parse_duration
from matins.domain.errors import ScheduleError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("15m", 900),
        ("1h30m", 5400),
        ("1d", 86400),
        ("2w", 1209600),
        ("500ms", 0.5),
        ("0s", 0),
        ("PT15M", 900),
        ("P1DT2H", 93600),
        ("PT0.25S", 0.25),
    ],
)
def test_short_and_iso_8601(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "15",
        "m",
        "1x",
        "-5s",
        "1m1h",
        "1.5h",
        "P",
        "PT",
        " 5s",
        "5s ",
        "\u0665s",
        "999999999w",
        "\0",
    ],
)
def test_anything_else_is_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(ScheduleError, match=r"90s, 15m|negative|100 years"):
        parse_duration(text)


@given(st.integers(0, 10**9))
def test_what_is_written_is_read_back(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.text(max_size=30))
def test_no_text_raises_anything_but_our_own(text: str) -> None:
    try:
        parse_duration(text)
    except ScheduleError:
        return
