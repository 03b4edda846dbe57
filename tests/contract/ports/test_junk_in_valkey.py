"""What stands in Valkey, or calls itself Valkey, may be anything: it is then as good as away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest
from tests.contract.ports.ground import START
from tests.ids import run_numbered
from valkey.asyncio import Valkey

from matins.cache import status as status_module
from matins.cache.status import ValkeyStatusCache
from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.states import RunState

OTHER = RunStatus(run_numbered(10), "t", "j", "scheduled", RunState.DEAD, START, START, 1)
NOBODYS = run_numbered(13), run_numbered(14)
CUT = msgspec.json.encode(OTHER)[:-3]


@pytest.fixture
async def client(valkey: str) -> AsyncIterator[Valkey]:
    client = Valkey.from_url(valkey)
    yield client
    await client.aclose()


@pytest.mark.parametrize(
    "junk",
    [b"", b"\xff\x00", b"null", b"[1, 2]", b"{}", CUT, msgspec.json.encode(OTHER)],
    ids=["nothing", "bytes", "null", "list", "object", "cut", "another run's"],
)
async def test_a_value_that_is_not_the_status_of_its_run_is_not_there(
    valkey: str, client: Valkey, junk: bytes
) -> None:
    run = run_numbered(11)
    good = RunStatus(run_numbered(12), "t", "j", "manual", RunState.DEAD, START, START, 1)
    await client.set(f"matins:run:{run.hex}", junk, px=60_000)
    cache = ValkeyStatusCache(valkey)
    await cache.put([good])
    assert list(await asyncio.gather(cache.get(run), cache.get(good.id))) == [
        None,
        msgspec.json.encode(good),
    ]
    await cache.close()


@pytest.mark.parametrize(
    "reply",
    [
        b":many\r\n",
        b"*x\r\n",
        b"*1\r\n:7\r\n",
        b"*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n",
        b"+OK\r\n",
        b"-WRONGTYPE what is asked for\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        bytes(range(256)),
    ],
)
async def test_whoever_asks_is_answered_whatever_comes_back(
    monkeypatch: pytest.MonkeyPatch, reply: bytes
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65536):
            writer.write(reply)
        writer.close()

    monkeypatch.setattr(status_module, "REST_S", 0.0)  # or it would not be asked again
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        cache = ValkeyStatusCache(f"redis://127.0.0.1:{listening.sockets[0].getsockname()[1]}")
        async with asyncio.timeout(5):
            for _ in range(3):
                found = await asyncio.gather(*map(cache.get, NOBODYS))
                assert found == [None, None]
            await cache.put([OTHER])
        await cache.close()
