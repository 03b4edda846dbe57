"""Whatever is broken, `matins status` says so within its bound, and says when all is well again.

One cluster with engines of its own, since Valkey is stopped and PostgreSQL made read-only.
"""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from tests.e2e.cluster import Cluster, until
from tests.e2e.commands import type_command
from tests.e2e.faults.scenes import PARTITIONS

SAID_S = 30.0
"""It takes 2 s of being wrong and half a second between looks; the rest is for a busy machine."""

ORPHAN = 7


async def typed(cluster: Cluster, kinds: list[str]) -> list[dict[str, Any]]:
    """Type `matins status --json` until it tells of these and no others; return its findings."""
    found: list[dict[str, Any]] = []

    async def told() -> bool:
        code, output = await type_command(cluster, "matins", "status", "--json")
        found[:] = json.loads(output)["findings"]
        assert code == (1 if found else 0)
        return [finding["kind"] for finding in found] == kinds

    await until(told, SAID_S)
    return found


async def says(cluster: Cluster, kind: str, words: str = "", subject: str = "") -> None:
    """Wait until one thing is wrong, and it is this."""
    await until(lambda: kinds_are(cluster, [kind]), SAID_S)
    [finding] = await typed(cluster, [kind])
    assert words in finding["what"], finding
    assert finding["subject"] == subject
    assert finding["since"]
    assert finding["remedy"]


async def is_well(cluster: Cluster) -> None:
    await until(lambda: kinds_are(cluster, []), SAID_S)
    await typed(cluster, [])


async def kinds_are(cluster: Cluster, kinds: list[str]) -> bool:
    async with cluster.http.get(f"{cluster.urls[0]}/v1/status") as answer:
        return [finding["kind"] for finding in (await answer.json())["findings"]] == kinds


@asynccontextmanager
async def locked_orphan(cluster: Cluster) -> AsyncIterator[None]:
    """A session that keeps the row of a partition locked."""
    stranger = await asyncpg.connect(cluster.dsn)
    try:
        async with stranger.transaction():
            await stranger.fetch("SELECT FROM partitions WHERE partition = $1 FOR UPDATE", ORPHAN)
            yield
    finally:
        await stranger.close()


async def alter_database(cluster: Cluster, change: str) -> None:
    """Change a setting of the database, as hosts do whose disk is full, and end all sessions."""
    session = await asyncpg.connect(cluster.dsn)
    await session.execute("SET default_transaction_read_only = off")
    await session.execute(f"ALTER DATABASE matins {change}")
    await session.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE backend_type = 'client backend' AND usename = current_user"
        " AND pid <> pg_backend_pid()"
    )
    await session.close()


async def test_each_fault_is_said_and_so_is_its_end() -> None:
    async with Cluster(None, MATINS_STATUS_AFTER="2s", MATINS_STATUS_EVERY="500ms") as cluster:
        await cluster.start("api")
        frozen = await cluster.start("scheduler")
        executor = await cluster.start("executor")
        await cluster.put_job("steady", schedule={"every": "1s"}, overlap="allow")
        await until(lambda: held(cluster, PARTITIONS), SAID_S)
        await is_well(cluster)

        async with locked_orphan(cluster):
            frozen.signal(signal.SIGSTOP)
            await says(cluster, "schedulers", "no scheduler is alive")
            await cluster.start("scheduler")
            await until(lambda: held(cluster, PARTITIONS - 1), 20)
            await says(cluster, "partitions", f"1 ({ORPHAN})")
        await is_well(cluster)
        frozen.signal(signal.SIGCONT)

        await executor.kill()
        await says(cluster, "unserved", "no executor serves pool default", "default")
        await executor.start()
        await is_well(cluster)

        await cluster.valkey.stop()
        await says(cluster, "cache", "Valkey can't be used")
        await cluster.valkey.start()
        await is_well(cluster)

        await alter_database(cluster, "SET default_transaction_read_only = on")
        await says(cluster, "database", "read-only")
        async with cluster.http.get(f"{cluster.urls[0]}/ready") as answer:
            assert answer.status == 503
        await alter_database(cluster, "RESET default_transaction_read_only")
        await is_well(cluster)


async def held(cluster: Cluster, count: int) -> bool:
    async with cluster.http.get(f"{cluster.urls[0]}/v1/status") as answer:
        return bool((await answer.json())["partitions_held"] == count)
