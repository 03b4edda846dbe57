"""The output of runs: as text, and as events while they go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any
from uuid import UUID

import aiohttp
import msgspec
import pytest
import pytest_asyncio
from tests.api.served import TOKEN, Owner, Served
from tests.api.test_runs import Fleet, trigger

from matins.domain.executors.protocol import End, Ending
from matins.domain.runs.attempts import Result
from matins.domain.runs.output import CHUNK_MAX, LiveChunk, OutputChunk, Progress
from matins.domain.runs.states import Outcome, RunState
from matins.store.database import Database

pytestmark = pytest.mark.asyncio(loop_scope="module")

Event = tuple[str, dict[str, Any]]


class Runner(Fleet):
    """An executor that runs one attempt and tells what it writes."""

    def __init__(self, database: Database, served: Served) -> None:
        super().__init__(database)
        self._live, self.kept = served.live, served.kept
        self.run_id = UUID(int=0)
        self._at = 0

    async def begin(self, owner: Owner) -> UUID:
        await owner.job()
        self.run_id = UUID((await trigger(owner))["id"])
        assert await self.dequeue() == [self.run_id]
        return self.run_id

    async def write(self, text: str, *, lost: int = 0, **more: Any) -> None:
        """Write, after so many characters that nobody sees live."""
        self._at += lost
        chunk = LiveChunk(run_id=self.run_id, number=1, offset=self._at, text=text, **more)
        self._at += len(text)
        await self._live.append([chunk])

    async def finish(
        self, output: str, state: RunState = RunState.SUCCEEDED, *, exit_code: int = 0
    ) -> None:
        outcome = Outcome.SUCCEEDED if state is RunState.SUCCEEDED else Outcome.FAILED
        result = Result(outcome, "", output=output, exit_code=exit_code)
        wait_s = 0.0 if state is RunState.RETRYING else None
        ending = Ending(End(self.run_id, 1, result), state, "", wait_s)
        assert await self._dispatch.record(self.id, [ending])


@pytest_asyncio.fixture(loop_scope="module")
async def runner(database: Database, served: Served, owner: Owner) -> Runner:
    runner = Runner(database, served)
    await runner.begin(owner)
    return runner


@asynccontextmanager
async def following(
    served: Served, run_id: UUID, query: str = "", **headers: str
) -> AsyncIterator[AsyncIterator[Event]]:
    """Follow a run; gives its events."""
    sent = {"Authorization": f"Bearer {TOKEN}", "Accept": "text/event-stream", **headers}
    async with (
        aiohttp.ClientSession(served.url, headers=sent) as session,
        session.get(f"/v1/runs/{run_id}/output{query}") as answer,
    ):
        assert answer.status == 200, await answer.text()
        assert answer.content_type == "text/event-stream"
        async with aclosing(_events(answer)) as events:
            yield events


async def _events(answer: aiohttp.ClientResponse) -> AsyncGenerator[Event]:
    name = ""
    async with asyncio.timeout(20):
        async for line in answer.content:
            kind, _, value = line.decode().rstrip("\n").partition(": ")
            if kind == "event":
                name = value
            elif kind == "data":
                yield name, msgspec.json.decode(value)


async def until(events: AsyncIterator[Event], name: str) -> dict[str, Any]:
    """Return the next event of that name."""
    async for found, data in events:
        if found == name:
            return data
    raise AssertionError(f"no event {name}")


async def rest(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


def written(events: list[Event]) -> list[str]:
    return [data["text"] for name, data in events if name == "output"]


async def text_of(owner: Owner, run_id: UUID, **query: object) -> str:
    reply = await owner.get(f"/v1/runs/{run_id}/output", **query)
    assert reply.status == 200, reply.text
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    return reply.text


async def test_the_output_of_an_attempt_is_given_as_text(owner: Owner, runner: Runner) -> None:
    await runner.finish("one\ntwo ä\nthree\n")
    assert await text_of(owner, runner.run_id) == "one\ntwo ä\nthree\n"
    assert await text_of(owner, runner.run_id, tail=2) == "two ä\nthree\n"
    assert await text_of(owner, runner.run_id, attempt=1, tail=10_000) == "one\ntwo ä\nthree\n"
    assert (await owner.get(f"/v1/runs/{runner.run_id}/output", attempt=2)).status == 404
    for wrong in ({"attempt": 0}, {"tail": 0}, {"tail": 10_001}):
        assert (await owner.get(f"/v1/runs/{runner.run_id}/output", **wrong)).status == 422


async def test_all_is_given_where_all_is_kept(owner: Owner, runner: Runner) -> None:
    lines = [f"{number:09}\n" for number in range(20_000)]
    text = "".join(lines)
    for at in range(0, len(text), CHUNK_MAX):
        chunk = OutputChunk(
            run_id=runner.run_id, number=1, offset=at, text=text[at : at + CHUNK_MAX]
        )
        await runner.kept.append([chunk])
    await runner.finish("head\ntail\n")
    assert await text_of(owner, runner.run_id) == text
    assert await text_of(owner, runner.run_id, tail=9_000) == "".join(lines[-9_000:])


async def test_a_run_that_goes_on_has_what_there_is_so_far(owner: Owner, runner: Runner) -> None:
    assert await text_of(owner, runner.run_id) == ""
    await runner.write("so far\nand")
    assert await text_of(owner, runner.run_id) == "so far\nand"
    assert await text_of(owner, runner.run_id, tail=1) == "and"


async def test_a_run_that_did_not_begin_has_no_output(owner: Owner) -> None:
    await owner.job()
    assert await text_of(owner, UUID((await trigger(owner))["id"])) == ""


async def test_who_follows_sees_what_was_written_and_what_is_written_then(
    served: Served, runner: Runner
) -> None:
    await runner.write("before\n")
    async with following(served, runner.run_id) as events:
        assert (await until(events, "state"))["state"] == "running"
        first = await until(events, "output")
        assert first == {"attempt": 1, "offset": 0, "text": "before\n"}
        await runner.write("then\n", progress=Progress(1, 2, "half"))
        assert await until(events, "output") == {"attempt": 1, "offset": 7, "text": "then\n"}
        half = {"attempt": 1, "done": 1, "total": 2, "text": "half"}
        assert await until(events, "progress") == half
        await runner.finish("before\nthen\n", RunState.DEAD, exit_code=3)
        await runner.write("", is_last=True)
        told = await rest(events)
    assert written(told) == []
    assert [name for name, _ in told] == ["state", "end"]
    end = told[-1][1]
    assert (end["state"], end["attempt"], end["exit_code"]) == ("dead", 1, 3)


async def test_what_was_not_seen_live_comes_at_the_end(served: Served, runner: Runner) -> None:
    async with following(served, runner.run_id) as events:
        await runner.write("one\n")
        await until(events, "output")
        await runner.finish("one\ntwo\n")
        told = await rest(events)
    assert [data for name, data in told if name == "output"] == [
        {"attempt": 1, "offset": 4, "text": "two\n"}
    ]


@pytest.mark.parametrize("lost", [5, 0])
async def test_where_live_output_was_lost_all_of_it_comes_at_the_end(
    served: Served, runner: Runner, lost: int
) -> None:
    async with following(served, runner.run_id) as events:
        await runner.write("one\n")
        await until(events, "output")
        await runner.write("three\n", lost=lost)
        assert (await until(events, "output"))["offset"] == 4 + lost
        await runner.finish("one\nlost\nthree\n")
        await runner.write("", is_last=bool(lost))
        told = await rest(events)
    assert [data for name, data in told if name == "output"] == [
        {"attempt": 1, "offset": 0, "text": "one\nlost\nthree\n", "whole": True}
    ]


async def test_who_comes_again_gets_what_is_new_only(served: Served, runner: Runner) -> None:
    await runner.write("one\n")
    await runner.write("two\n")
    again = {"Last-Event-ID": "1:4"}
    async with following(served, runner.run_id, **again) as events:
        assert (await until(events, "output"))["text"] == "two\n"
        await runner.finish("one\ntwo\n")
        await runner.write("", is_last=True)
        assert written(await rest(events)) == []


async def test_a_run_that_is_over_is_told_at_once(served: Served, runner: Runner) -> None:
    await runner.finish("all\n")
    async with following(served, runner.run_id) as events:
        told = await rest(events)
    assert [name for name, _ in told] == ["state", "output", "end"]
    assert written(told) == ["all\n"]


async def test_who_follows_a_run_sees_its_next_attempt(
    served: Served, runner: Runner, database: Database
) -> None:
    async with following(served, runner.run_id) as events:
        await runner.finish("failed\n", RunState.RETRYING, exit_code=1)
        assert (await until(events, "state"))["attempt"] == 1
        assert (await until(events, "output"))["text"] == "failed\n"
        async with database.session() as session:
            await session.execute("UPDATE runs SET state = 'queued', retry_at = NULL")
        states = [(await until(events, "state"))["state"]]
        async with database.session() as session:
            await session.execute(
                "UPDATE runs SET state = 'running', attempt = 2, executor = $1", runner.id
            )
        chunk = LiveChunk(run_id=runner.run_id, number=2, offset=0, text="again\n")
        await served.live.append([chunk])
        while states[-1] != "running":
            states.append((await until(events, "state"))["state"])
        assert await until(events, "output") == {"attempt": 2, "offset": 0, "text": "again\n"}
    async with following(served, runner.run_id, "?attempt=1") as events:
        told = await rest(events)
    assert written(told) == ["failed\n"]
    assert told[-1][1]["exit_code"] == 1


async def test_a_stream_of_what_is_not_there_is_refused(owner: Owner, served: Served) -> None:
    sent = {"Authorization": f"Bearer {TOKEN}", "Accept": "text/event-stream"}
    await owner.job()
    run_id = (await trigger(owner))["id"]
    async with aiohttp.ClientSession(served.url, headers=sent) as session:
        for path, status in (
            (f"/v1/runs/{run_id}/output?tail=3", 422),
            (f"/v1/runs/{UUID(int=1)}/output", 404),
        ):
            async with session.get(path) as answer:
                assert (answer.status, answer.content_type) == (status, "application/problem+json")
