"""Output of targets is bounded, and becomes text that can be stored, sent and shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.executor.masking import Mask
from matins.executor.output import REASON_MAX, HeadTail, TextStream, clean, one_line


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"caf\xc3\xa9\n\tok", "café\n\tok"),
        (b"a\x00b", "ab"),
        (b"a\xff\xfe\xfdb", "a\ufffdb"),
        (b"\xed\xa0\x80", "\ufffd"),  # a surrogate
        (b"\x1b[31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07after", "after"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1b(Bplain\x1b", "plain"),
        (b"\xc2\x9b31mx", "31mx"),  # the one-character form of ESC [
        (b"one\r\ntwo\rthree", "one\ntwo\nthree"),
        (b"bell\x07 back\x08 del\x7f", "bell back del"),
    ],
)
def test_bytes_become_text_that_can_be_stored_and_shown(raw: bytes, text: str) -> None:
    assert clean(raw) == text


@given(st.binary(max_size=400))
def test_cleaned_text_holds_no_control_character_whatever_came(raw: bytes) -> None:
    text = clean(raw)
    text.encode()
    assert not [mark for mark in text if ord(mark) < 32 and mark not in "\n\t"]
    assert not [mark for mark in text if 0x7F <= ord(mark) < 0xA0]


@given(st.text(max_size=50), st.integers(1, 5))
def test_a_character_split_over_chunks_survives(text: str, size: int) -> None:
    raw = text.encode()
    output = HeadTail(64, 2048)
    for start in range(0, len(raw), size):
        output.append(raw[start : start + size])
    assert output.text() == clean(raw)
    assert output.cut == 0


def test_head_and_tail_are_kept_and_what_is_missing_is_counted() -> None:
    output = HeadTail(4, 3)
    for chunk in (b"ab", b"cdef", b"ghij", b"kl"):
        output.append(chunk)
    assert output.text() == "abcd\n[... 5 bytes left out ...]\njkl"
    assert output.cut == 5
    assert output.total == 12


@given(st.lists(st.binary(max_size=30), max_size=30), st.integers(0, 20), st.integers(0, 20))
def test_what_is_kept_does_not_depend_on_the_chunks(
    chunks: list[bytes], head_max: int, tail_max: int
) -> None:
    apart, whole = HeadTail(head_max, tail_max), HeadTail(head_max, tail_max)
    for chunk in chunks:
        apart.append(chunk)
    whole.append(b"".join(chunks))
    assert apart.text() == whole.text()
    assert apart.cut == whole.cut


@given(st.text("aé€😀", min_size=30, max_size=60), st.integers(4, 12), st.integers(4, 12))
def test_the_cut_leaves_no_broken_characters(text: str, head_max: int, tail_max: int) -> None:
    output = HeadTail(head_max, tail_max)
    output.append(text.encode())
    head, _, tail = output.text().split("\n")
    assert text.startswith(head)
    assert text.endswith(tail)


def test_a_reason_is_one_clean_line_of_bounded_length() -> None:
    assert one_line("  no\nsuch \x1b[1mthing\x00 \ud800 ") == "no such thing ?"
    assert len(one_line("x" * 1000)) == REASON_MAX


PIECES = st.sampled_from(
    b"\x1b|[|]|1;|m|\x07|\\|\n|\r|\xc3|\xa9|\xff|a|s3cret|-val|ue|s3cret-value|(|\x00|\xe2\x82".split(
        b"|"
    )
)


@given(st.lists(PIECES, max_size=14).map(b"".join), st.lists(st.integers(0, 40), max_size=5))
def test_a_stream_gives_in_pieces_what_is_made_of_the_whole(raw: bytes, cuts: list[int]) -> None:
    mask = Mask(["s3cret-value"])
    stream, start, text = TextStream(mask), 0, ""
    for cut in sorted(cuts):
        text += stream.feed(raw[start:cut])
        start = max(start, cut)
    assert text + stream.feed(raw[start:], is_end=True) == mask.apply(clean(raw))


def test_a_stream_holds_nothing_back_at_the_end_of_a_line() -> None:
    stream = TextStream(Mask(["s3cret-value"]))
    assert stream.feed(b"this s") == "this "
    assert stream.feed(b"\n") == "s\n"


def test_latin_1_is_read_as_far_as_it_can_be() -> None:
    stream = TextStream(Mask())
    assert stream.feed("caf\xe9 ".encode("latin-1")) == "caf\ufffd "
    assert stream.feed("\xfcber\n".encode("latin-1")) == "\ufffdber\n"


def test_where_bytes_are_left_out_a_line_says_so_and_no_part_of_a_secret_is_shown() -> None:
    stream = TextStream(Mask(["s3cret-value"]))
    assert stream.feed(b"the s3cret-v") == "the "
    assert stream.skip(5) == "***\n[... 5 bytes left out ...]\n"
    assert stream.feed(b"on\n") == "on\n"
