"""Durations as owners write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.domain.values.durations import format_duration, parse_duration
from matins.domain.values.errors import ScheduleError


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
        ("pt15m", 900),
        ("3000000000s", 3_000_000_000),
    ],
)
def test_short_and_iso_8601(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1.5h", 5400),
        ("1.1h", 3960),  # in floating point it would be a little more
        ("1d0.5m", 86430),
        ("1.5h30.25m", 7215),
        ("PT1.5H", 5400),
        ("PT1,5S", 1.5),
        ("PT0.000001S", 0.000001),
    ],
)
def test_hours_and_what_is_shorter_may_have_fractions(text: str, seconds: float) -> None:
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
        "1.5d",
        "P0.5D",
        ".5h",
        "1,5h",
        "1h-30m",
        "1H",
        "P1M",
        "P1DT",
        "PT0.0000001S",
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
