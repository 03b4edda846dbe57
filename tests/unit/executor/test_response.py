"""What is made of an answer: the status decides, and what stands beside it is a note at most."""

from __future__ import annotations

import gzip
import zlib

import pytest

from matins.executor.http.response import HEAD_MAX, Answer, NotHttpError


def read(raw: bytes, method: str = "GET", *, ends: bool = True, pieces: int = 0) -> Answer:
    """Feed an answer, whole or in pieces, and the end of its connection."""
    answer = Answer(method)
    step = pieces or len(raw) or 1
    for start in range(0, len(raw), step):
        if not answer.is_complete:
            answer.feed(raw[start : start + step])
    if ends and not answer.is_complete:
        answer.end()
    return answer


def ok(headers: str = "", body: bytes = b"") -> bytes:
    return f"HTTP/1.1 200 OK\r\n{headers}\r\n".encode("latin-1") + body


FIVE = "Content-Length: 5\r\n"

READABLE = {
    "counted": ok(FIVE, b"hello"),
    "to the end": ok("", b"hello"),
    "chunked": ok(
        "Transfer-Encoding: chunked\r\n", b"2\r\nhe\r\n3;a=b\r\nllo\r\n0\r\nX: y\r\n\r\n"
    ),
    "chunked and counted": ok(
        "Content-Length: 99\r\nTransfer-Encoding: chunked\r\n", b"5\r\nhello\r\n0\r\n\r\n"
    ),
    "gzip": ok("Content-Encoding: gzip\r\n", gzip.compress(b"hello")),
    "deflate": ok("Content-Encoding: deflate\r\n", zlib.compress(b"hello")),
    "bare line feeds": ok(FIVE, b"hello").replace(b"\r\n", b"\n"),
    "a header line of 90 kB": ok(f"X: {'x' * 90_000}\r\n{FIVE}", b"hello"),
    "4,000 headers": ok("".join(f"X-{n}: {n}\r\n" for n in range(4000)) + FIVE, b"hello"),
    "lines that are no headers": ok(
        f": a\r\nno colon\r\n folded\r\nX Y: \x80\x01\r\n{FIVE}", b"hello"
    ),
    "a repeated length": ok(FIVE * 2, b"hello"),
    "a length in a list": ok("Content-Length: 5, 5\r\n", b"hello"),
    "interim answers": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 X\r\nContent-Length: 1\r\n\r\n"
    + ok(FIVE, b"hello"),
    "no reason and HTTP/1.0": b"HTTP/1.0 200\r\n\r\nhello",
    "blank lines before it": b"\r\n\r\n" + ok(FIVE, b"hello"),
}


@pytest.mark.parametrize("raw", READABLE.values(), ids=READABLE)
@pytest.mark.parametrize("pieces", [0, 1])
def test_an_answer_is_read_however_it_is_framed_and_cut(raw: bytes, pieces: int) -> None:
    answer = read(raw, pieces=pieces)
    assert (answer.status, answer.body.text(), answer.is_complete) == (200, "hello", True)
    assert answer.notes == []


ODD = {
    "more than the length": (ok(FIVE, b"hello, world"), "hello", "7 bytes came after the body"),
    "lengths that differ": (
        ok("Content-Length: 5\r\nContent-Length: 7\r\n", b"hello"),
        "hello",
        "its Content-Length can't be relied on: 5, 7",
    ),
    "a length that is none": (
        ok("Content-Length: -5\r\n", b"hello"),
        "hello",
        "its Content-Length can't be relied on: -5",
    ),
    "not gzip at all": (
        ok(f"Content-Encoding: gzip\r\n{FIVE}", b"hello"),
        "hello",
        "its body is not coded as it says",
    ),
    "an encoding nobody asked for": (
        ok(f"Content-Encoding: br\r\n{FIVE}", b"hello"),
        "hello",
        "its body is coded as br",
    ),
    "chunks that are none": (
        ok("Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\nwhat\r\n"),
        "hello",
        "its body is in no readable chunks",
    ),
    "a chunk line without end": (
        ok("Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n" + b"1" * 20_000),
        "hello",
        "its body is in no readable chunks",
    ),
    "a head without end": (
        ok("X: y\r\n" * 60_000),
        "",
        f"its head is longer than {HEAD_MAX} bytes",
    ),
    "a header line without end": (
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 400_000,
        "",
        f"its head is longer than {HEAD_MAX} bytes",
    ),
}


@pytest.mark.parametrize(("raw", "body", "note"), ODD.values(), ids=ODD)
def test_what_is_odd_beside_the_status_is_a_note(raw: bytes, body: str, note: str) -> None:
    answer = read(raw, ends=False)
    assert (answer.status, answer.body.text(), answer.is_complete) == (200, body, True)
    assert len(answer.notes) == 1
    assert answer.notes[0].startswith(note)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("status", [204, 304, 101, 200])
def test_nothing_is_waited_for_where_no_body_belongs(method: str, status: int) -> None:
    answer = read(f"HTTP/1.1 {status} X\r\nContent-Length: 9\r\n\r\n".encode(), method, ends=False)
    assert answer.is_complete == (method == "HEAD" or status != 200)


def test_a_body_to_head_is_a_note() -> None:
    answer = read(ok(FIVE, b"hello"), "HEAD", ends=False)
    assert (answer.is_complete, answer.body.text()) == (True, "")
    assert answer.notes == ["5 bytes came where none belongs; they were not read"]


@pytest.mark.parametrize(
    "raw",
    [
        ok(FIVE, b"hell"),
        ok("Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n"),
        ok("X: y")[:-2],
    ],
    ids=["body", "chunks", "head"],
)
def test_an_answer_that_breaks_off_is_not_whole(raw: bytes) -> None:
    answer = read(raw, ends=False)
    assert not answer.end()
    assert (answer.status, answer.is_complete) == (200, False)


@pytest.mark.parametrize(
    "raw",
    [
        b"220 mail.example.com ESMTP\r\n",
        b"SSH-2.0",
        b"HTTP/1.1 OK\r\n",
        b"\x15\x03\x01",
        b"HTTP/1.1 2000 X\r\n",
    ],
)
def test_what_is_not_http_is_seen_from_its_first_line(raw: bytes) -> None:
    with pytest.raises(NotHttpError):
        read(raw)


def test_a_bomb_is_read_to_the_limit_only() -> None:
    bomb = gzip.compress(bytes(50_000_000), compresslevel=1)
    answer = read(ok("Content-Encoding: gzip\r\n", bomb), ends=False)
    assert answer.is_complete
    assert answer.body.cut < 2_000_000
    assert answer.notes == ["the rest of the body was not read"]
