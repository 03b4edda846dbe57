"""The client of our own servers: a connection is used again where that is safe, and only there."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from matins.kernel.connection import ConnectError
from matins.kernel.http_client import AT_ONCE_MAX, HttpClient, LostAnswerError

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LIMIT_S = 30.0

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def says(*pieces: bytes) -> Answer:
    """Read a request without a body and send pieces, each by itself; the connection stays."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    return answer


def then_hangs_up(answer: Answer) -> Answer:
    """Answer, and close the connection."""

    async def answer_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answer(reader, writer)
        writer.close()

    return answer_and_close


class Server:
    """Answers request after request of each connection, until the answer closes it."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.url = ""
        self.connections = 0
        self.open: dict[asyncio.StreamWriter, asyncio.Event] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open[writer] = asyncio.Event()
        try:
            while not writer.is_closing():
                await self.answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            writer.close()
            self.open.pop(writer).set()

    async def close(self) -> None:
        """Hang up on everybody."""
        for writer, ended in list(self.open.items()):
            writer.transport.abort()
            await ended.wait()


@asynccontextmanager
async def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """A server whose answers are these."""
    server = Server(answer)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, backlog=1000, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    server.url = f"https://localhost:{port}" if tls else f"http://127.0.0.1:{port}"
    yield server
    listening.close()
    await server.close()


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    client = HttpClient({})
    yield client
    client.close()


async def get(client: HttpClient, server: Server, limit_s: float = LIMIT_S) -> tuple[int, bytes]:
    return await client.exchange("GET", f"{server.url}/v1/jobs", None, limit_s)


@pytest.mark.parametrize(
    "pieces",
    [
        (OK,),
        (OK[:10], OK[10:]),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n",
            b"1\r\nk\r\n0\r\n\r\n",
        ),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", OK),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" + OK,),
    ],
)
async def test_one_connection_carries_many_exchanges(
    client: HttpClient, pieces: tuple[bytes, ...]
) -> None:
    async with serving(says(*pieces)) as server:
        assert [await get(client, server) for _ in range(3)] == [(200, b"ok")] * 3
    assert server.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        then_hangs_up(says(OK)),
        says(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")),
        says(OK.replace(b"1.1", b"1.0")),
        says(OK + b"more"),
        says(OK + OK.replace(b"200", b"500")),
        then_hangs_up(says(b"HTTP/1.1 200 OK\r\n\r\n", b"ok")),
    ],
    ids=["hung up", "close", "HTTP/1.0", "surplus", "a second answer", "body without length"],
)
async def test_a_connection_that_is_done_or_in_disorder_is_not_used_again(
    client: HttpClient, answer: Answer
) -> None:
    async with serving(answer) as server:
        assert [await get(client, server) for _ in range(3)] == [(200, b"ok")] * 3
    assert server.connections == 3


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (then_hangs_up(says()), "the connection was closed before the answer"),
        (then_hangs_up(says(OK[:-1])), "the connection was closed in the middle of the answer"),
        (then_hangs_up(says(b"SSH-2.0\r\n")), "the answer is not HTTP"),
        (says(b"HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), "is not HTTP"),
        (says(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n"), "is not HTTP"),
    ],
)
async def test_what_is_no_whole_answer_is_told_and_nothing_is_sent_twice(
    client: HttpClient, answer: Answer, told: str
) -> None:
    async with serving(answer) as server:
        with pytest.raises(LostAnswerError, match=told):
            await get(client, server)
    assert server.connections == 1


async def test_an_answer_that_does_not_come_within_the_limit_is_lost(client: HttpClient) -> None:
    async with serving(says()) as server:
        with pytest.raises(LostAnswerError, match=r"no whole answer within 0\.05 s"):
            await get(client, server, limit_s=0.05)


async def test_once_a_server_was_silent_none_of_its_connections_is_used_again(
    client: HttpClient,
) -> None:
    talks = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if talks.is_set():
            writer.write(OK)

    async with serving(answer) as server:
        talks.set()
        await asyncio.gather(*(get(client, server) for _ in range(3)))
        assert server.connections == 3
        talks.clear()
        with pytest.raises(LostAnswerError):
            await get(client, server, limit_s=0.05)
        talks.set()
        assert await get(client, server) == (200, b"ok")
    assert server.connections == 4


async def test_an_exchange_that_is_cancelled_takes_its_connection_along(
    client: HttpClient,
) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await reader.read(1)
        gone.set()
        writer.close()

    async with serving(never) as server:
        running = asyncio.create_task(get(client, server))
        await asked.wait()
        running.cancel()
        await gone.wait()
        with pytest.raises(asyncio.CancelledError):
            await running


async def test_an_answer_before_all_was_sent_is_read_and_ends_the_connection(
    client: HttpClient,
) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK.replace(b"200", b"413"))
        await reader.read()
        writer.close()

    async with serving(refuse) as server:
        body = b"x" * 50_000_000
        for _ in range(2):
            answered = await client.exchange("POST", server.url, body, LIMIT_S)
            assert answered == (413, b"ok")
    assert server.connections == 2


async def test_as_many_exchanges_as_one_likes_share_a_bounded_number_of_connections(
    client: HttpClient,
) -> None:
    async with serving(says(OK)) as server:
        answers = await asyncio.gather(*(get(client, server) for _ in range(3 * AT_ONCE_MAX)))
    assert set(answers) == {(200, b"ok")}
    assert server.connections <= AT_ONCE_MAX


async def test_a_trusted_server_is_called_under_tls_over_one_connection(
    client: HttpClient, trusted: ssl.SSLContext
) -> None:
    async with serving(says(OK), trusted) as server:
        assert [await get(client, server) for _ in range(3)] == [(200, b"ok")] * 3
    assert server.connections == 1


async def test_a_server_that_nobody_vouches_for_gets_nothing(
    client: HttpClient, self_signed: ssl.SSLContext
) -> None:
    async with serving(says(OK), self_signed) as server:
        with pytest.raises(ConnectError, match="localhost is not trusted"):
            await get(client, server)
    assert server.connections == 0


async def test_proxies_of_the_environment_are_left_alone(
    client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with serving(says(OK)) as server:
        assert await get(client, server) == (200, b"ok")


async def test_a_header_that_would_break_the_head_is_refused() -> None:
    client = HttpClient({"Authorization": "Bearer a\r\nX: y"})
    with pytest.raises(ValueError, match="line break"):
        await client.exchange("GET", "http://127.0.0.1:9/", None, LIMIT_S)
