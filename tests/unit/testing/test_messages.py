"""A connection's bytes are cut into the messages of its protocol, however they come in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matins.testing.messages import Direction, HttpTalk, PostgresTalk, Talk

ASK, ANSWER = Direction.TO_SERVER, Direction.TO_CLIENT

Said = list[tuple[Direction, bytes]]


def message(kind: str, body: bytes) -> bytes:
    """Return a message of PostgreSQL's protocol."""
    return kind.encode() + (len(body) + 4).to_bytes(4, "big") + body


def opening(code: int, body: bytes = b"") -> bytes:
    """Return a message without a type."""
    return (len(body) + 8).to_bytes(4, "big") + code.to_bytes(4, "big") + body


STARTUP = opening(196608, b"user\0matins\0\0")

SESSION: Said = [
    (ASK, opening(80877103)),
    (ANSWER, b"N"),
    (ASK, STARTUP),
    (ANSWER, message("R", bytes(4)) + message("Z", b"I")),
    (ASK, message("P", b"s1\0INSERT INTO runs\0\0\0") + message("D", b"Ss1\0") + message("S", b"")),
    (ANSWER, message("1", b"") + message("Z", b"I")),
    (ASK, message("Q", b"SELECT 1\0")),
    (ANSWER, message("C", b"SELECT 1\0")),
    (ASK, message("B", b"\0s1\0\0\0") + message("E", b"\0\0\0\0\0") + message("S", b"")),
    (ANSWER, message("2", b"") + message("C", b"INSERT 0 1\0") + message("Z", b"I")),
    (ASK, message("X", b"")),
]

CUT_SESSION = [
    ("SSLRequest", ""),
    ("Encryption", ""),
    ("Startup", ""),
    ("R", ""),
    ("Z", ""),
    ("P", "INSERT INTO runs"),
    ("D", "INSERT INTO runs"),
    ("S", "INSERT INTO runs"),
    ("1", "INSERT INTO runs"),
    ("Z", "INSERT INTO runs"),
    ("Q", "SELECT 1"),
    ("C", "SELECT 1"),
    ("B", "INSERT INTO runs"),
    ("E", "INSERT INTO runs"),
    ("S", "INSERT INTO runs"),
    ("2", "INSERT INTO runs"),
    ("C", "INSERT INTO runs"),
    ("Z", "INSERT INTO runs"),
    ("X", "INSERT INTO runs"),
]


def pieces(said: Said, size: int) -> Iterator[tuple[Direction, bytes]]:
    """Yield the same bytes in pieces of at most this size."""
    for direction, data in said:
        for start in range(0, len(data), size):
            yield direction, data[start : start + size]


def cut(talk: Talk, said: Said, size: int = 1000) -> list[tuple[str, str]]:
    """Kind and text of the messages."""
    return [
        (part.kind, part.text)
        for direction, data in pieces(said, size)
        for part in talk.cut(direction, data)
    ]


@given(st.integers(1, 40))
def test_a_session_of_postgresql_is_cut_at_its_messages(size: int) -> None:
    assert cut(PostgresTalk(), SESSION, size) == CUT_SESSION


@given(st.integers(1, 40))
def test_no_byte_is_lost(size: int) -> None:
    talk = PostgresTalk()
    came = dict.fromkeys(Direction, b"")
    for direction, data in pieces(SESSION, size):
        for part in talk.cut(direction, data):
            came[direction] += part.payload
    assert came == {
        wanted: b"".join(data for direction, data in SESSION if direction is wanted)
        for wanted in Direction
    }


def test_after_a_granted_tls_request_all_is_opaque() -> None:
    said: Said = [(ASK, opening(80877103)), (ANSWER, b"S"), (ASK, b"\x16\x03\x01"), (ANSWER, b"x")]
    assert cut(PostgresTalk(), said)[2:] == [("data", ""), ("data", "")]


def test_a_cancel_request_is_told_from_a_startup() -> None:
    assert cut(PostgresTalk(), [(ASK, opening(80877102, bytes(8)))]) == [("CancelRequest", "")]


@given(st.integers(1, 60))
def test_http_is_cut_at_requests_and_answers_which_share_a_route(size: int) -> None:
    said: Said = [
        (ASK, b"POST /v1/jobs?dry=1 HTTP/1.1\r\nContent-Length: 5\r\n\r\n12345"),
        (ANSWER, b"HTTP/1.1 100 Continue\r\n\r\n"),
        (ANSWER, b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}"),
        (ASK, b"DELETE /v1/jobs/1 HTTP/1.1\r\n\r\n"),
        (ANSWER, b"HTTP/1.1 204 No Content\r\n\r\n"),
        (ASK, b"GET /v1/jobs HTTP/1.1\r\n\r\n"),
        (ANSWER, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ]
    assert cut(HttpTalk(), said, size) == [
        ("request", "POST /v1/jobs"),
        ("response", "POST /v1/jobs"),
        ("response", "POST /v1/jobs"),
        ("request", "DELETE /v1/jobs/1"),
        ("response", "DELETE /v1/jobs/1"),
        ("request", "GET /v1/jobs"),
        ("response", "GET /v1/jobs"),
    ]


@given(st.integers(1, 60))
def test_a_chunked_body_is_passed_on_chunk_by_chunk(size: int) -> None:
    said: Said = [
        (ASK, b"POST /live HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"),
        (ANSWER, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"),
        (ANSWER, b"3\r\nabc\r\n0\r\n\r\n"),
        (ASK, b"GET /ok HTTP/1.1\r\n\r\n"),
        (ANSWER, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ]
    assert cut(HttpTalk(), said, size) == [
        ("request", "POST /live"),
        ("data", "POST /live"),
        ("data", "POST /live"),
        ("response", "POST /live"),
        ("data", "POST /live"),
        ("data", "POST /live"),
        ("request", "GET /ok"),
        ("response", "GET /ok"),
    ]


def test_an_answer_to_head_has_no_body_whatever_its_length_says() -> None:
    said: Said = [
        (ASK, b"HEAD /ok HTTP/1.1\r\n\r\n"),
        (ANSWER, b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"),
        (ASK, b"GET /ok HTTP/1.1\r\n\r\n"),
    ]
    assert [text for _, text in cut(HttpTalk(), said)] == ["HEAD /ok", "HEAD /ok", "GET /ok"]


def test_an_answer_that_ends_with_its_connection_goes_on_as_data() -> None:
    said: Said = [
        (ASK, b"GET /old HTTP/1.0\r\n\r\n"),
        (ANSWER, b"HTTP/1.0 200 OK\r\n\r\n"),
        (ANSWER, b"as it comes"),
    ]
    assert cut(HttpTalk(), said)[1:] == [("response", "GET /old"), ("data", "")]


@pytest.mark.parametrize("junk", [b"\0\1\2\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b"\r\n\r\n"])
def test_what_is_no_http_passes_as_data(junk: bytes) -> None:
    [part] = HttpTalk().cut(ANSWER, junk)
    assert (part.kind, part.payload) == ("data", junk)


def test_a_half_message_is_given_back_at_the_end() -> None:
    talk = HttpTalk()
    assert list(talk.cut(ASK, b"POST /v1/jobs HTTP/1.1\r\n")) == []
    assert talk.rest(ASK) == b"POST /v1/jobs HTTP/1.1\r\n"
