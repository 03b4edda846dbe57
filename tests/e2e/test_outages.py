"""Engines and API processes go away and come back: everything catches up, nobody is restarted."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest
from tests.e2e.cluster import Cluster, until

JOBS = 40
SECONDS = 16
AWAY_S = 6
ENDED = "SELECT id FROM runs WHERE finished_at IS NOT NULL LIMIT 1"


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(MATINS_CUT_OFF="12s", MATINS_LOST_AFTER="16s") as cluster:
        await cluster.start("api")
        await cluster.start("api")
        await cluster.start("scheduler")
        await cluster.start("scheduler")
        await cluster.start("executor")
        yield cluster


async def load(cluster: Cluster) -> datetime:
    """Jobs that are due each second from some seconds on; gives the end."""
    first = await cluster.whole_second(4)
    end = first + timedelta(seconds=SECONDS)
    await cluster.put_every_second(JOBS, first, end)
    await cluster.pass_by(first + timedelta(seconds=2))
    return end


async def insist(cluster: Cluster, end: datetime) -> None:
    """All ended well, and by the same processes that began."""
    pids = [role.pid for role in cluster.roles]
    await cluster.pass_by(end)
    counts = await cluster.check(end)
    assert counts["runs succeeded"] >= JOBS * SECONDS
    assert [role.process.returncode for role in cluster.roles] == [None] * len(pids)


async def test_postgres_stopped_and_started_again(cluster: Cluster) -> None:
    """RC-02: an end is confirmed once it is committed, so none is forgotten meanwhile."""
    end = await load(cluster)
    await cluster.postgres.stop()
    await asyncio.sleep(AWAY_S)
    await cluster.postgres.start()
    await insist(cluster, end)


async def test_postgres_killed_five_times_under_load(cluster: Cluster) -> None:
    """PG-01: all that was acknowledged is there, and nobody has to be started again."""
    end = await load(cluster)
    for _ in range(5):
        await cluster.crash_postgres()
        await asyncio.sleep(1)
    await insist(cluster, end)


async def test_valkey_stopped_emptied_and_started_again(cluster: Cluster) -> None:
    end = await load(cluster)
    await cluster.valkey.stop()
    await until(lambda: cluster.value(ENDED), 10)
    run_id = await cluster.value(ENDED)
    async with cluster.http.get(f"{cluster.urls[0]}/v1/runs/{run_id}") as answer:
        assert (await answer.json())["state"] == "succeeded", await answer.text()
    await asyncio.sleep(AWAY_S)
    await cluster.valkey.start()
    await insist(cluster, end)


async def test_api_processes_stopped_and_continued(cluster: Cluster) -> None:
    end = await load(cluster)
    for role in cluster.roles[:2]:
        role.signal(signal.SIGSTOP)
    await asyncio.sleep(AWAY_S)
    for role in cluster.roles[:2]:
        role.signal(signal.SIGCONT)
    await insist(cluster, end)


async def test_api_processes_killed_and_started_again_later(cluster: Cluster) -> None:
    end = await load(cluster)
    for role in cluster.roles[:2]:
        await role.kill()
    await asyncio.sleep(AWAY_S)
    for role in cluster.roles[:2]:
        await role.start()
    await insist(cluster, end)
