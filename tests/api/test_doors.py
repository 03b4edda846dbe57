"""Who may pass where: tokens, open paths, the gateway's, the demo's; and the description."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio
from tests.api.served import JOBS, TOKEN, Owner, Served, calling, serve

from matins.store.database import Database, can_write
from matins.store.leases import PostgresLeases

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def stranger(served: Served) -> AsyncIterator[Owner]:
    """Someone without a token."""
    async with calling(served.url, token=None) as owner:
        yield owner


@pytest.mark.parametrize(
    "credentials", [None, "Bearer wrong", f"Bearer {TOKEN}x", TOKEN, "Bearer", "Bearer \xff"]
)
async def test_without_the_token_nothing_is_told(stranger: Owner, credentials: str | None) -> None:
    headers = {} if credentials is None else {"Authorization": credentials}
    for path in (JOBS, "/v1/runs", f"/v1/runs/{UUID(int=7)}", "/v1/executors", "/v1/nothing"):
        reply = await stranger.call("GET", path, headers=headers)
        assert (reply.status, reply.json["title"]) == (401, "A valid bearer token is needed")
        assert reply.headers["www-authenticate"] == "Bearer"


async def test_health_readiness_metrics_and_description_are_open(stranger: Owner) -> None:
    assert (await stranger.get("/health")).text == "ok\n"
    assert (await stranger.get("/ready")).text.startswith("ready\n")
    assert "matins_recorded" in (await stranger.get("/metrics")).text
    assert (await stranger.get("/openapi.json")).json["openapi"].startswith("3.1")


async def test_the_gateways_paths_are_the_gateways(stranger: Owner) -> None:
    for name in ("poll", "report", "heartbeat", "nothing"):
        assert (await stranger.post(f"/v1/executors/{name}")).text == "the gateway\n"


async def test_executors_and_partitions_are_listed(owner: Owner) -> None:
    assert (await owner.get("/v1/executors")).json == []
    partitions = (await owner.get("/v1/partitions")).json
    assert [partition["partition"] for partition in partitions] == list(range(256))
    assert {partition["holder"] for partition in partitions} == {None}


async def test_a_cluster_without_schedulers_has_no_holders(owner: Owner) -> None:
    assert (await owner.get("/v1/cluster")).json == {
        "schedulers": [],
        "without_holder": list(range(256)),
        "watermark": None,
        "restore": None,
    }


async def test_the_demos_targets_need_no_token(stranger: Owner) -> None:
    async def statuses(name: str) -> list[int]:
        attempts = [{"Matins-Attempt": str(number)} for number in (1, 2, 3)]
        replies = [
            await stranger.call("POST", f"/demo/{name}", headers=attempt) for attempt in attempts
        ]
        return [reply.status // 100 for reply in replies]

    assert await statuses("ok") == [2, 2, 2]
    assert await statuses("flaky") == [5, 5, 2]
    assert await statuses("broken") == [5, 5, 5]
    assert await statuses("nothing") == [4, 4, 4]


async def test_a_slow_target_of_the_demo_takes_its_time(stranger: Owner) -> None:
    begun = time.monotonic()
    assert (await stranger.post("/demo/slow")).status == 200
    assert time.monotonic() - begun >= 1.9


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def without_database(valkey: str) -> AsyncIterator[Owner]:
    database = Database("postgres://nobody@127.0.0.1:1/none", name="away", deadline_s=1)
    async with serve(database, valkey) as served, calling(served.url) as owner:
        yield owner
    await database.close()


@pytest.mark.parametrize("path", ["/ready", JOBS, "/v1/runs", f"/v1/runs/{UUID(int=7)}"])
async def test_without_the_database_it_says_try_again(without_database: Owner, path: str) -> None:
    """PG-01."""
    reply = await without_database.get(path)
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert reply.headers["content-type"] == "application/problem+json"


async def test_it_is_ready_only_if_each_of_its_pools_can_write(
    database: Database, valkey: str
) -> None:
    gateways = Database(database.server.dsn, name="dequeue", size=1)
    async with serve(database, valkey, [gateways]) as served, calling(served.url) as owner:
        assert (await owner.get("/ready")).status == 200
        async with gateways.session() as session:
            await session.execute("SET default_transaction_read_only = on")
        assert (await owner.get("/ready")).status == 503
        assert (await owner.get("/ready")).status == 200  # that session was closed
    await gateways.close()


async def test_reads_that_wait_take_no_session_from_executors_and_are_given_up(
    database: Database, valkey: str
) -> None:
    """PG-07: a table is locked that owners read, by more of them than there are sessions."""
    dsn = database.server.dsn
    owners = Database(dsn, name="owners", size=2, deadline_s=0.5)
    gateways = Database(dsn, name="dequeue", size=1, deadline_s=1)
    leases = PostgresLeases(gateways)
    async with serve(owners, valkey, [gateways]) as served, calling(served.url) as owner:
        assert (await owner.get("/ready")).status == 200
        stranger = await asyncpg.connect(dsn)
        async with stranger.transaction():
            await stranger.execute("LOCK TABLE jobs")
            asking = [asyncio.create_task(owner.get(JOBS)) for _ in range(6)]
            replies = [await reply for reply in asking]
            assert await can_write(gateways)
            assert len(await leases.acquire(UUID(int=9), 256, 10)) == 256
        assert [(reply.status, reply.headers["retry-after"]) for reply in replies] == [
            (503, "1")
        ] * 6
        assert (await owner.get(JOBS)).status == 200
        await stranger.close()
    for pool in (owners, gateways):
        await pool.close()


async def test_health_needs_no_database(without_database: Owner) -> None:
    assert (await without_database.get("/health")).status == 200


async def test_an_unexpected_failure_tells_an_id_and_nothing_else(
    owner: Owner, database: Database
) -> None:
    async with database.session() as session:
        await session.execute("ALTER TABLE jobs RENAME COLUMN spec TO spec_of_old")
        reply = await owner.get(JOBS)
        await session.execute("ALTER TABLE jobs RENAME COLUMN spec_of_old TO spec")
    assert (reply.status, reply.json["errors"]) == (500, [])
    assert reply.json["instance"].startswith("urn:uuid:")
    assert "spec" not in reply.text


ROUTES = {
    "/v1/jobs": {"get"},
    "/v1/teams/{team}/jobs": {"get", "post", "put"},
    "/v1/teams/{team}/jobs/{name}": {"get", "put", "delete"},
    "/v1/teams/{team}/jobs/{name}/pause": {"post"},
    "/v1/teams/{team}/jobs/{name}/resume": {"post"},
    "/v1/teams/{team}/jobs/{name}/revisions": {"get"},
    "/v1/teams/{team}/jobs/{name}/revisions/{revision}": {"get"},
    "/v1/teams/{team}/jobs/{name}/relabel": {"post"},
    "/v1/teams/{team}/jobs/{name}/rollback": {"post"},
    "/v1/teams/{team}/jobs/{name}/trigger": {"post"},
    "/v1/teams/{team}/jobs/{name}/runs": {"get"},
    "/v1/teams/{team}/jobs/{name}/backfills": {"get", "post"},
    "/v1/teams/{team}/backfills": {"get"},
    "/v1/backfills/{backfill_id}": {"get"},
    "/v1/backfills/{backfill_id}/pause": {"post"},
    "/v1/backfills/{backfill_id}/resume": {"post"},
    "/v1/backfills/{backfill_id}/cancel": {"post"},
    "/v1/runs": {"get"},
    "/v1/runs/{run_id}": {"get"},
    "/v1/runs/{run_id}/attempts": {"get"},
    "/v1/runs/{run_id}/input": {"get"},
    "/v1/runs/resolve": {"get"},
    "/v1/runs/{run_id}/output": {"get"},
    "/v1/runs/{run_id}/outlook": {"get"},
    "/v1/runs/{run_id}/cancel": {"post"},
    "/v1/runs/{run_id}/retry": {"post"},
    "/v1/runs/{run_id}/stop-retrying": {"post"},
    "/v1/runs/{run_id}/replay": {"post"},
    "/v1/runs/{run_id}/failure": {"get"},
    "/v1/teams/{team}/dead": {"get"},
    "/v1/teams/{team}/dead/groups": {"get"},
    "/v1/teams/{team}/dead/counts": {"get"},
    "/v1/teams/{team}/dead/dismiss": {"post"},
    "/v1/teams/{team}/dead/replay": {"post"},
    "/v1/teams/{team}/replays": {"get"},
    "/v1/replays/{replay_id}": {"get"},
    "/v1/replays/{replay_id}/cancel": {"post"},
    "/v1/teams/{team}/jobs/{name}/preview": {"get"},
    "/v1/teams/{team}/jobs/{name}/overrides": {"put"},
    "/v1/teams/{team}/jobs/{name}/overrides/{due_at}": {"delete"},
    "/v1/teams/{team}/pause": {"post"},
    "/v1/teams/{team}/relabel": {"post"},
    "/v1/teams/{team}/resume": {"post"},
    "/v1/teams": {"get"},
    "/v1/teams/{team}/keep": {"get", "put"},
    "/v1/teams/{team}/share": {"get", "put"},
    "/v1/teams/{team}/output": {"get", "put"},
    "/v1/teams/{team}/limits": {"get"},
    "/v1/teams/{team}/limits/{key}": {"get", "put", "delete"},
    "/v1/teams/{team}/quotas": {"get", "put"},
    "/v1/teams/{team}/calendars": {"get"},
    "/v1/teams/{team}/calendars/{name}": {"get", "put", "delete"},
    "/v1/teams/{team}/windows": {"get"},
    "/v1/teams/{team}/windows/{name}": {"get", "put", "delete"},
    "/v1/teams/{team}/checkins": {"get"},
    "/v1/teams/{team}/checkins/{name}": {"get"},
    "/v1/teams/{team}/checkins/{name}/rotate": {"post"},
    "/v1/teams/{team}/channels": {"get"},
    "/v1/teams/{team}/channels/{name}": {"get", "put", "delete"},
    "/v1/teams/{team}/channels/{name}/rotate": {"post"},
    "/v1/teams/{team}/channels/{name}/test": {"post"},
    "/v1/teams/{team}/deliveries": {"get"},
    "/v1/deliveries/{delivery_id}": {"get"},
    "/v1/alerts": {"get"},
    "/v1/teams/{team}/jobs/{name}/alerts": {"get"},
    "/v1/teams/{team}/alert-rules": {"get"},
    "/v1/teams/{team}/alert-rules/{name}": {"put", "delete"},
    "/v1/preview": {"post"},
    "/v1/forecast": {"get"},
    "/v1/runs/{run_id}/explanation": {"get"},
    "/v1/teams/{team}/jobs/{name}/explanation": {"get"},
    "/v1/audit": {"get"},
    "/v1/executors": {"get"},
    "/v1/partitions": {"get"},
    "/v1/cluster": {"get"},
    "/v1/sign-in-links": {"post"},
    "/v1/status": {"get"},
    "/v1/restores/resume": {"post"},
    "/ping/{token}": {"post"},
    "/ping/{token}/{what}": {"post"},
    "/health": {"get"},
    "/ready": {"get"},
    "/metrics": {"get"},
}


@pytest_asyncio.fixture(loop_scope="module")
async def document(stranger: Owner) -> dict[str, Any]:
    described: dict[str, Any] = (await stranger.get("/openapi.json")).json
    return described


async def test_the_description_names_every_route(document: dict[str, Any]) -> None:
    assert {path: set(methods) for path, methods in document["paths"].items()} == ROUTES


async def test_the_description_refers_to_nothing_that_is_not_there(
    document: dict[str, Any],
) -> None:
    schemas = document["components"]["schemas"]
    named = {reference.removeprefix("#/components/schemas/") for reference in _references(document)}
    assert named <= schemas.keys()
    assert {"Job", "JobSpec", "Schedule", "RunStatus", "ProblemDetails"} <= named


async def test_the_description_tells_of_bodies_answers_and_problems(
    document: dict[str, Any],
) -> None:
    put = document["paths"]["/v1/teams/{team}/jobs/{name}"]["put"]
    assert _references(put["requestBody"]) == ["#/components/schemas/JobSpec"]
    assert _references(put["responses"]["200"]) == ["#/components/schemas/Changed"]
    assert _references(put["responses"]["default"]) == ["#/components/schemas/ProblemDetails"]
    assert document["security"] == [{"token": []}]
    assert document["paths"]["/health"]["get"]["security"] == []


def _references(part: object) -> list[str]:
    match part:
        case {"$ref": str(name)}:
            return [name]
        case dict():
            return [reference for inner in part.values() for reference in _references(inner)]
        case list():
            return [reference for inner in part for reference in _references(inner)]
    return []
