"""Answers that go on, read by the client a piece at a time."""

from __future__ import annotations

import pytest
from tests.unit.kernel.test_http_client import says, serving, then_hangs_up

from matins.kernel.connection import ConnectError
from matins.kernel.http_client import HttpClient, LostAnswerError

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def pieces_of(url: str, idle_s: float = 30.0) -> tuple[int, list[bytes]]:
    client = HttpClient({})
    async with client.stream(url, idle_s) as (status, pieces):
        return status, [piece async for piece in pieces]


async def test_the_pieces_come_as_they_are_sent_up_to_the_end() -> None:
    async with serving(
        says(HEAD[:20], HEAD[20:] + b"3\r\none\r\n", b"3\r\ntwo\r\n0\r\n\r\n")
    ) as server:
        status, pieces = await pieces_of(server.url)
    assert (status, b"".join(pieces)) == (200, b"onetwo")


async def test_a_piece_is_there_before_the_answer_is_whole() -> None:
    async with (
        serving(says(HEAD + b"3\r\none\r\n")) as server,
        HttpClient({}).stream(server.url, 30) as (_, pieces),
    ):
        assert await anext(pieces) == b"one"


@pytest.mark.parametrize("sent", [b"", HEAD[:10], HEAD, HEAD + b"3\r\none\r\n", b"what?\r\n\r\n"])
async def test_what_breaks_off_is_told(sent: bytes) -> None:
    async with serving(then_hangs_up(says(sent))) as server:
        with pytest.raises(LostAnswerError):
            await pieces_of(server.url)


async def test_who_says_nothing_for_too_long_is_given_up() -> None:
    async with serving(says(HEAD)) as server:
        with pytest.raises(LostAnswerError, match="nothing came for"):
            await pieces_of(server.url, 0.05)


async def test_where_nobody_listens_nothing_was_sent() -> None:
    async with serving(says(b"")) as server:
        url = server.url
    with pytest.raises(ConnectError):
        await pieces_of(url)
