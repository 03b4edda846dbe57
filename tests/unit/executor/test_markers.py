"""Lines by which a command tells of itself are found in whatever pieces they come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.executor.markers import LINE_MAX, RESULTS_MAX, VALUE_MAX, Markers, ProgressMade
from matins.executor.masking import Mask


def heard(raw: bytes, *cuts: int) -> Markers:
    """Return what is found in bytes that come in pieces."""
    markers, start = Markers(Mask()), 0
    for cut in (*sorted(cuts), len(raw)):
        if piece := raw[start:cut]:
            markers.feed(piece)
            start = cut
    markers.feed(b"")
    return markers


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        ("40/100 loading", ProgressMade(40, 100, "loading")),
        ("40 / 100", ProgressMade(40, 100, "")),
        ("0.5/1", ProgressMade(0.5, 1, "")),
        ("12% of it", ProgressMade(12, 100, "of it")),
        ("7 rows", ProgressMade(7, None, "rows")),
        ("loading", ProgressMade(None, None, "loading")),
        ("3rd step", ProgressMade(None, None, "3rd step")),
        ("1.2.3", ProgressMade(None, None, "1.2.3")),
        ("", ProgressMade(None, None, "")),
    ],
)
def test_progress_is_a_number_of_a_total_and_a_text(line: str, progress: ProgressMade) -> None:
    assert heard(f"::progress {line}\n".encode()).progress == progress


def test_the_last_progress_counts_and_the_last_value_of_a_key() -> None:
    markers = heard(b"::progress 1/2\n::set a=1\n::progress 2/2\n::set b=x = y\n::set a=2\n")
    assert markers.progress == ProgressMade(2, 2, "")
    assert markers.results == {"a": "2", "b": "x = y"}
    assert markers.refused == 0


@pytest.mark.parametrize(
    "raw",
    [
        b"x::set a=1\n",
        b" ::set a=1\n",
        b":: set a=1\n",
        b"::settle a=1\n",
        b"::set a=" + b"x" * LINE_MAX + b"\n",
        b"std::set a=1",
    ],
)
def test_what_is_no_such_line_says_nothing(raw: bytes) -> None:
    assert heard(raw).results == {}
    assert heard(raw, *range(0, len(raw), 7)).results == {}


@given(st.lists(st.integers(0, 80)))
def test_pieces_make_no_difference(cuts: list[int]) -> None:
    raw = b"::set a=1\r\nx::set b=2\n\n::set c=\x1b[1m3\xff\x1b[0m\n::\n:\n::set d=4"
    assert len(raw) < 80
    assert heard(raw, *cuts).results == {"a": "1", "c": "3\ufffd", "d": "4"}


@pytest.mark.parametrize("raw", [b"::set 1=a", b"::set =a", b"::set a", b"::set a b=c"])
def test_a_result_needs_a_key_like_a_variables_name(raw: bytes) -> None:
    markers = heard(raw)
    assert (markers.results, markers.refused) == ({}, 1)


def test_results_are_bounded_in_number_and_length() -> None:
    lines = [f"::set k{number}={number}\n" for number in range(RESULTS_MAX + 3)]
    markers = heard("".join([*lines, "::set k0=again\n", f"::set k1={'x' * 1001}\n"]).encode())
    assert len(markers.results) == RESULTS_MAX
    assert markers.results["k0"] == "again"
    assert markers.results["k1"] == "1"
    assert markers.refused == 4
    assert VALUE_MAX == 1000


def test_a_value_to_be_masked_is_masked_from_its_line_on() -> None:
    mask = Mask()
    markers = Markers(mask)
    markers.feed(b"::mask hidden words\n::mask abc\n")
    assert mask.apply("::mask hidden words and abc") == "::mask *** and abc"
