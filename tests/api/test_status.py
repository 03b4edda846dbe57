"""The status of a run: polled by many, from the cache if there is one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from typing import Any
from uuid import UUID

import msgspec
import pytest
import pytest_asyncio
from tests.api.served import JOBS, Owner, Served, calling, serve
from tests.ids import run_numbered

from matins.api.status import StatusReader
from matins.cache.status import ValkeyStatusCache
from matins.domain.executors.protocol import RunStatus
from matins.domain.values.errors import NotFoundError, UnavailableError
from matins.store.database import Database
from matins.store.reads import PostgresReads

pytestmark = pytest.mark.asyncio(loop_scope="module")

AWAY = "redis://127.0.0.1:1"
"""Nothing listens there."""


@pytest_asyncio.fixture(loop_scope="module")
async def without_valkey(database: Database) -> AsyncIterator[Owner]:
    async with serve(database, AWAY) as served, calling(served.url) as owner:
        yield owner


@pytest_asyncio.fixture(loop_scope="module")
async def nothing_cached() -> AsyncIterator[ValkeyStatusCache]:
    cache = ValkeyStatusCache(AWAY)
    yield cache
    await cache.close()


async def a_run(owner: Owner) -> dict[str, Any]:
    await owner.job()
    run: dict[str, Any] = (await owner.post(f"{JOBS}/nightly/trigger")).json
    return run


async def test_a_status_is_what_the_row_says(owner: Owner) -> None:
    run = await a_run(owner)
    polled = await owner.get(f"/v1/runs/{run['id']}")
    assert (polled.status, polled.json) == (200, run)
    assert polled.headers["content-type"] == "application/json"


async def test_a_status_comes_from_the_cache_if_it_is_there(owner: Owner, served: Served) -> None:
    run = await a_run(owner)
    told = msgspec.convert(run | {"state": "succeeded"}, RunStatus)
    await served.cache.put([told])
    assert (await owner.get(f"/v1/runs/{run['id']}")).json["state"] == "succeeded"


async def test_a_cancelled_run_is_told_at_once_whatever_was_cached(owner: Owner) -> None:
    run = await a_run(owner)
    assert (await owner.get(f"/v1/runs/{run['id']}")).json["state"] == "queued"
    await owner.post(f"/v1/runs/{run['id']}/cancel")
    assert (await owner.get(f"/v1/runs/{run['id']}")).json["state"] == "cancelled"


async def test_a_status_is_told_without_valkey(without_valkey: Owner) -> None:
    run = await a_run(without_valkey)
    polls = [without_valkey.get(f"/v1/runs/{run['id']}") for _ in range(20)]
    assert [reply.json for reply in await asyncio.gather(*polls)] == [run] * 20
    assert (await without_valkey.get(f"/v1/runs/{run_numbered(101)}")).status == 404


async def test_other_ways_to_write_a_runs_id_are_understood(owner: Owner) -> None:
    run = await a_run(owner)
    assert (await owner.get(f"/v1/runs/{UUID(run['id']).hex}")).json == run


class Counting(PostgresReads):
    """Counts the queries for statuses, and fails when told."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.asked: list[int] = []
        self.error: Exception | None = None

    async def statuses(self, run_ids: Collection[UUID]) -> list[RunStatus]:
        self.asked.append(len(run_ids))
        if self.error:
            raise self.error
        return await super().statuses(run_ids)


async def test_polls_in_flight_share_one_query(
    owner: Owner, database: Database, nothing_cached: ValkeyStatusCache
) -> None:
    await owner.job()
    runs = [(await owner.post(f"{JOBS}/nightly/trigger")).json["id"] for _ in range(5)]
    reads = Counting(database)
    reader = StatusReader(reads, nothing_cached)
    polls = [reader.read(UUID(run)) for run in runs * 20]
    answers = await asyncio.gather(*polls)
    assert [msgspec.json.decode(answer)["id"] for answer in answers] == runs * 20
    assert reads.asked == [5]


async def test_an_error_reaches_all_who_asked_and_nobody_later(
    owner: Owner, database: Database, nothing_cached: ValkeyStatusCache
) -> None:
    run = UUID((await a_run(owner))["id"])
    reads = Counting(database)
    reader = StatusReader(reads, nothing_cached)
    reads.error = UnavailableError("away")
    failed = await asyncio.gather(*[reader.read(run) for _ in range(3)], return_exceptions=True)
    assert [type(error) for error in failed] == [UnavailableError] * 3
    reads.error = None
    assert msgspec.json.decode(await reader.read(run))["state"] == "queued"
    with pytest.raises(NotFoundError):
        await reader.read(run_numbered(102))
