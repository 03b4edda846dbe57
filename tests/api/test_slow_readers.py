"""Who stops reading, on real sockets, is dropped and not waited for, and nobody else notices."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from structlog.testing import capture_logs
from tests.api.served import TOKEN, Owner, Served
from tests.api.test_output import Runner, following, runner, until

from matins.kernel import streams
from matins.kernel.http import HttpServer
from matins.web.live import Live, LivePart

pytestmark = pytest.mark.asyncio(loop_scope="module")
__all__ = ["runner"]

PIECE = "x" * 30_000


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "SEND_S", 0.5)


@contextmanager
def who_reads_nothing(url: str, path: str) -> Iterator[socket.socket]:
    """Ask for a stream over a connection that holds little, and read nothing."""
    where = urlsplit(url)
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        reader.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)  # as over a network
        reader.connect((where.hostname, where.port))
        headers = f"Host: {where.netloc}\r\nAuthorization: Bearer {TOKEN}"
        asked = f"GET {path} HTTP/1.1\r\n{headers}\r\nAccept: text/event-stream\r\n\r\n"
        reader.sendall(asked.encode())
        yield reader


async def left(reader: socket.socket) -> bytes:
    """Return what a reader still gets once the server has let go of it: no more comes, ever."""

    def read_all() -> bytes:
        reader.settimeout(20)
        got = b""
        try:
            while piece := reader.recv(65536):
                got += piece
        except ConnectionResetError:
            pass
        return got

    return await asyncio.to_thread(read_all)


def dropped(logs: list[Any]) -> list[str]:
    return [entry["path"] for entry in logs if entry["event"] == "stream.dropped"]


async def test_a_follower_of_output_that_stops_reading_is_dropped_and_others_go_on(
    owner: Owner, served: Served, runner: Runner, caplog: pytest.LogCaptureFixture
) -> None:
    path = f"/v1/runs/{runner.run_id}/output"
    with capture_logs() as logs, who_reads_nothing(served.url, path) as reader:
        async with asyncio.timeout(60), following(served, runner.run_id) as events:
            await until(events, "state")
            while not dropped(logs):
                await runner.write(PIECE)
                data = await until(events, "output")
                assert set(data["text"]) == {"x"}
            await runner.write("and on\n")
            data = await until(events, "output")
            assert data["text"].endswith("and on\n")
        got = await left(reader)
    assert got.startswith(b"HTTP/1.1 200 OK")
    assert not got.endswith(b"0\r\n\r\n")
    assert dropped(logs) == [path]
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_viewer_that_stops_reading_is_dropped_and_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    states = count()

    async def draw(_dependencies: object, _argument: str) -> str:
        return f"{next(states)} {PIECE}"

    live = Live({"big": LivePart("big", draw, every_s=0.01)}, None)  # type: ignore[arg-type] # not read
    async with serving(live) as url:
        with capture_logs() as logs, who_reads_nothing(url, "/live/big") as reader:
            async with (
                asyncio.timeout(60),
                aiohttp.ClientSession(url) as session,
                session.get("/live/big") as answer,
            ):
                while not dropped(logs):
                    assert await answer.content.readline()
                before = next(states)
                while (line := await answer.content.readline()) and not is_state(line, before):
                    pass
                assert line
            got = await left(reader)
    assert not got.endswith(b"0\r\n\r\n")
    assert dropped(logs) == ["/live/big"]
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def is_state(line: bytes, after: int) -> bool:
    return line.startswith(b"data: ") and int(line.split()[1]) > after


@asynccontextmanager
async def serving(live: Live) -> AsyncIterator[str]:
    server = HttpServer(live, "127.0.0.1", 0, drain_s=1)
    running = asyncio.create_task(server.run())
    try:
        yield server.url
    finally:
        live.stop()
        await server.stop()
        await running
