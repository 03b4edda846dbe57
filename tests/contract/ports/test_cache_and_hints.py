"""What may be lost: the status cache on memory and Valkey, hints on memory and PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import msgspec
import pytest
from tests.contract.ports.ground import START
from tests.ids import run_numbered

from matins.cache.status import ValkeyStatusCache
from matins.domain.executors.protocol import RunStatus
from matins.domain.ports import Hints, StatusCache
from matins.domain.runs.states import RunState
from matins.store.database import Database
from matins.store.hints import PostgresHints
from matins.testing.memory.hints import MemoryHints
from matins.testing.memory.status import MemoryStatusCache


@pytest.fixture(params=["memory", "valkey"])
async def cache(request: pytest.FixtureRequest, valkey: str) -> AsyncIterator[StatusCache]:
    if request.param == "memory":
        yield MemoryStatusCache()
        return
    cache = ValkeyStatusCache(valkey)
    yield cache
    await cache.close()


@pytest.fixture(params=["memory", "postgres"])
async def hints(request: pytest.FixtureRequest, postgres: str) -> AsyncIterator[Hints]:
    if request.param == "memory":
        yield MemoryHints()
        return
    database = Database(postgres, name="hints", size=1)
    yield PostgresHints(database)
    await database.close()


def status(run: UUID, state: RunState) -> RunStatus:
    return RunStatus(run, "t", "j", "scheduled", state, START, START, 1)


async def kept(cache: StatusCache, run: UUID) -> RunStatus | None:
    text = await cache.get(run)
    return None if text is None else msgspec.json.decode(text, type=RunStatus)


async def test_a_status_is_read_back_as_it_was_put(cache: StatusCache) -> None:
    done = status(run_numbered(1), RunState.SUCCEEDED)
    moving = status(run_numbered(2), RunState.RUNNING)
    await cache.put([done, moving])
    assert await kept(cache, done.id) == done
    assert await kept(cache, moving.id) == moving


async def test_what_was_never_put_is_not_there(cache: StatusCache) -> None:
    assert await cache.get(run_numbered(3)) is None


async def test_a_late_writer_does_not_hide_the_end_of_a_run(cache: StatusCache) -> None:
    run = run_numbered(4)
    await cache.put([status(run, RunState.RUNNING)])
    await cache.put([status(run, RunState.DEAD)])
    await cache.put([status(run, RunState.RUNNING)])
    assert await kept(cache, run) == status(run, RunState.DEAD)


async def test_a_listener_hears_an_empty_word_and_then_those_of_its_channel(hints: Hints) -> None:
    channel, other = f"c{uuid4().hex}", f"c{uuid4().hex}"
    words = hints.listen(channel)
    async with asyncio.timeout(20):
        assert await anext(words) == ""
        await hints.send(other, ["not for us"])
        await hints.send(channel, ["default"])
        assert await anext(words) == "default"
