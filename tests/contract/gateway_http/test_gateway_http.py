"""The executors' protocol over real HTTP, as a client in any language sees it."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import aiohttp
import msgspec
import pytest
from tests.contract.gateway_http.served import TOKEN, Served, serve
from tests.unit.gateway.rows import until

from matins.gateway.wire import BODY_MAX

NOBODY = str(UUID(int=0))


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serve() as served:
        yield served


@pytest.fixture
async def http(served: Served) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(f"{served.url}/v1/executors/", headers=headers) as session:
        yield session


async def call(
    http: aiohttp.ClientSession, name: str, body: object, status: int = 200
) -> dict[str, Any]:
    async with http.post(name, json=body) as response:
        assert response.status == status, await response.text()
        return dict(await response.json(content_type=None))


def heartbeat(executor: str, **fields: object) -> dict[str, object]:
    given = {"executor": executor, "name": "e", "pools": ["default"], "slots": 9, "next_seq": 1}
    return given | fields


def poll(executor: str, **fields: object) -> dict[str, object]:
    given = {"executor": executor, "seq": 1, "pools": ["default"], "free": 9, "wait_s": 5}
    return given | fields


async def test_an_attempt_is_taken_run_and_reported_in_json(
    served: Served, http: aiohttp.ClientSession
) -> None:
    executor = str(uuid4())
    [run] = served.rows.enqueue()
    assert await call(http, "heartbeat", heartbeat(executor)) == {}
    [attempt] = (await call(http, "poll", poll(executor)))["attempts"]
    assert attempt["run_id"] == str(run)
    assert attempt["due_at"] == "2026-01-02T02:00:00Z"
    assert attempt["target"] == {"http": {"url": "http://target.invalid/"}}
    end = {"run_id": str(run), "number": 1, "result": {"outcome": "succeeded"}}
    assert await call(http, "report", {"executor": executor, "ends": [end]}) == {}
    assert served.rows.states() == {"succeeded": 1}


async def test_messagepack_is_answered_in_messagepack(
    served: Served, http: aiohttp.ClientSession
) -> None:
    executor = str(uuid4())
    await call(http, "heartbeat", heartbeat(executor))
    served.rows.enqueue()
    headers = {"Content-Type": "application/msgpack"}
    body = msgspec.msgpack.encode(poll(executor))
    async with http.post("poll", data=body, headers=headers) as response:
        assert response.content_type == "application/msgpack"
        assert len(msgspec.msgpack.decode(await response.read())["attempts"]) == 1


async def test_a_poll_whose_client_has_gone_leaves_the_queue(
    served: Served, http: aiohttp.ClientSession
) -> None:
    executor = str(uuid4())
    await call(http, "heartbeat", heartbeat(executor))
    asking = asyncio.create_task(call(http, "poll", poll(executor)))
    dispatcher = served.gateway._dispatcher
    await until(lambda: len(dispatcher._polls) == 1)
    asking.cancel()
    await until(lambda: not dispatcher._polls)
    served.rows.enqueue()
    await served.words.send("dispatch", ["default"])
    await asyncio.gather(asking, return_exceptions=True)
    assert len((await call(http, "poll", poll(executor, seq=2)))["attempts"]) == 1


async def test_a_poll_without_work_ends_empty_after_its_wait(
    served: Served, http: aiohttp.ClientSession
) -> None:
    executor = str(uuid4())
    await call(http, "heartbeat", heartbeat(executor))
    assert await call(http, "poll", poll(executor, wait_s=0.01)) == {}


async def test_an_executor_that_never_heartbeat_is_unknown(
    served: Served, http: aiohttp.ClientSession
) -> None:
    served.rows.enqueue()
    assert await call(http, "poll", poll(str(uuid4()))) == {"unknown": True}


@pytest.mark.parametrize("given", [None, "Bearer wrong", "Bearer ", f"Basic {TOKEN}"])
async def test_nothing_works_without_the_token(served: Served, given: str | None) -> None:
    headers = {"Authorization": given} if given else {}
    async with aiohttp.ClientSession(f"{served.url}/v1/executors/", headers=headers) as http:
        problem = await call(http, "heartbeat", heartbeat(str(uuid4())), status=401)
    assert problem["title"] == "A valid bearer token is needed"
    assert not served.rows.executors


@pytest.mark.parametrize(
    ("name", "body", "where"),
    [
        ("poll", poll(NOBODY, free="many"), "free"),
        ("poll", poll(NOBODY, free=0), "free"),
        ("poll", poll(NOBODY, slots=3), ""),
        ("poll", poll("not-a-uuid"), "executor"),
        ("poll", poll(NOBODY, pools=["a\0"]), "pools[0]"),
        ("heartbeat", heartbeat(NOBODY, name="a\0b"), "name"),
        ("heartbeat", heartbeat(NOBODY, held=[[NOBODY]]), "held[0]"),
        (
            "report",
            {"executor": NOBODY, "ends": [{"run_id": NOBODY, "number": 1, "result": {}}]},
            "ends[0].result",
        ),
        (
            "report",
            {
                "executor": NOBODY,
                "ends": [{"run_id": NOBODY, "number": 1, "result": {"outcome": "won"}}],
            },
            "ends[0].result.outcome",
        ),
    ],
)
async def test_bad_input_is_refused_with_the_path_of_the_field(
    http: aiohttp.ClientSession, name: str, body: object, where: str
) -> None:
    problem = await call(http, name, body, status=422)
    assert problem["status"] == 422
    assert [error["where"] for error in problem["errors"]] == [where]


async def test_a_body_that_is_no_json_is_refused(http: aiohttp.ClientSession) -> None:
    for body in (b"{", b"", b"\xff\xfe", b'{"executor": "\\ud800"}'):
        async with http.post(
            "heartbeat", data=body, headers={"Content-Type": "application/json"}
        ) as response:
            assert response.status == 422
            assert response.content_type == "application/problem+json"


async def test_a_body_that_is_too_long_is_refused(http: aiohttp.ClientSession) -> None:
    body = json.dumps(heartbeat(NOBODY, name="x" * BODY_MAX)).encode()

    async def in_chunks() -> AsyncIterator[bytes]:
        yield body

    headers = {"Content-Type": "application/json"}
    for data in (io.BytesIO(body), in_chunks()):
        async with http.post("heartbeat", data=data, headers=headers) as response:
            assert response.status == 413


async def test_other_methods_paths_and_media_are_refused(http: aiohttp.ClientSession) -> None:
    async with http.get("poll") as response:
        assert response.status == 405
    async with http.post("nothing") as response:
        assert response.status == 404
    async with http.post("poll", data=b"a", headers={"Content-Type": "text/csv"}) as response:
        assert response.status == 415


async def test_an_unknown_outcome_is_503_with_a_time_to_come_back(
    served: Served, http: aiohttp.ClientSession
) -> None:
    served.rows.lost_answers["heartbeat"] = 1
    async with http.post("heartbeat", json=heartbeat(str(uuid4()))) as response:
        assert response.status == 503
        assert response.headers["Retry-After"] == "1"


async def test_nul_in_a_result_is_replaced_so_that_the_run_can_end(
    served: Served, http: aiohttp.ClientSession
) -> None:
    executor = str(uuid4())
    [run] = served.rows.enqueue()
    await call(http, "heartbeat", heartbeat(executor))
    await call(http, "poll", poll(executor))
    result = {"outcome": "cancelled", "output": "a\0b"}
    end = {"run_id": str(run), "number": 1, "result": result}
    await call(http, "report", {"executor": executor, "ends": [end]})
    assert served.rows.ends[run, 1].end.result.output == "a\ufffdb"


async def test_output_is_passed_on_and_kept(served: Served, http: aiohttp.ClientSession) -> None:
    run = served.rows.enqueue()[0]
    chunk = {"run_id": str(run), "number": 1, "offset": 0, "text": "one\n"}
    async with served.live.follow(run, 1) as chunks, asyncio.timeout(20):
        said = {"executor": str(uuid4()), "live": [chunk], "kept": [chunk]}
        assert await call(http, "output", said) == {}
        assert (await anext(chunks)).text == "one\n"
    assert (await served.live.so_far(run, 1)).text == "one\n"
    assert await served.kept.read(run, 1, 0, 9) == "one\n"
