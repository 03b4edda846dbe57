"""The pages that operators look at: the overview and the cluster."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import aiohttp
import pytest
from tests.api.served import Owner, signed_in

from matins.domain.status.tallies import LAG_BOUNDS_S, Tally
from matins.store.database import Database
from matins.store.tallies import PostgresTallies

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOLD = """
INSERT INTO schedulers
    (id, renewed_at, expires_at, name, version, since, wheel_size, clock_offset_s, lag_s)
VALUES (gen_random_uuid(), now(), now() + interval '1 hour', 'host-a', '1.2', now(), 7, 0.25, 0)
RETURNING id
"""
LEASES = "UPDATE partitions SET holder = $1, epoch = 4, expires_at = now() + interval '1 hour'"
EXECUTOR = """
INSERT INTO executors
    (id, name, pools, slots, partition, first_heartbeat_at, heartbeat_at, first_seq)
VALUES (gen_random_uuid(), 'worker-1', '{default,batch}', 12, 0, now(), now(), 1)
"""


async def text_of(browser: aiohttp.ClientSession, path: str) -> str:
    async with browser.get(path) as answer:
        assert answer.status == 200
        return await answer.text()


async def part_of(browser: aiohttp.ClientSession, name: str) -> str:
    """Return the first state of a live part."""
    headers = {"Accept": "text/event-stream"}
    async with asyncio.timeout(10), browser.get(f"/live/{name}", headers=headers) as answer:
        event = await answer.content.readuntil(b"\n\n")
    return event.decode()


async def test_the_overview_of_nothing_says_so(browser: aiohttp.ClientSession) -> None:
    await signed_in(browser)
    page = await text_of(browser, "/")
    for told in ("No scheduler is alive", "No team has a run", "Nothing is due", "No failures"):
        assert told in page
    assert "No holder" in page
    assert "256 partitions" in page


async def test_the_overview_shows_what_was_counted(
    browser: aiohttp.ClientSession, database: Database
) -> None:
    lags = [0] * (len(LAG_BOUNDS_S) + 1)
    lags[LAG_BOUNDS_S.index(0.1)], lags[LAG_BOUNDS_S.index(300)] = 50, 50
    tally = Tally(claimed=1, missed=7, succeeded=3, dead=1, lags=tuple(lags))
    await PostgresTallies(database).add(tally)
    await signed_in(browser)
    page = await text_of(browser, "/")
    assert "<dd>100 ms<small>in 10 minutes" in page
    assert "<dd>75.0 %<small>in the last hour" in page
    assert "<dd>50<small>by over a minute" in page
    assert "<dd>7<small>skipped by misfire" in page
    assert "counted since" in page


async def test_the_overview_shows_what_waits_by_pool_and_team(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await owner.job(pool="batch")
    assert (await owner.post("/v1/teams/payments/jobs/nightly/trigger")).status == 202
    await signed_in(browser)
    page = await text_of(browser, "/")
    assert "<strong>batch</strong>" in page
    assert '<a href="/teams/payments">payments</a>' in page
    assert "payments/</span>nightly" in await part_of(browser, "overview")


async def test_the_cluster_of_nobody_says_so(browser: aiohttp.ClientSession) -> None:
    await signed_in(browser)
    page = await text_of(browser, "/cluster")
    assert "No scheduler is known" in page
    assert "No executor is alive" in page


async def test_the_cluster_shows_who_works_and_on_what(
    browser: aiohttp.ClientSession, database: Database
) -> None:
    async with database.session() as session:
        holder = await session.fetchval(HOLD)
        await session.execute(LEASES, holder)
        await session.execute(EXECUTOR)
    await signed_in(browser)
    for page in (await text_of(browser, "/cluster"), await part_of(browser, "cluster")):
        assert f"host-a {str(holder)[:8]}" in page
        assert "256 of 256" in page
        assert "<strong>worker-1</strong>" in page
        assert "0 of 12" in page
        assert "250 ms" in page
        assert "PostgreSQL" in page


async def test_a_restore_is_decided_about(
    browser: aiohttp.ClientSession, database: Database
) -> None:
    now = await database.clock()
    async with database.session() as session:
        await session.execute(
            "INSERT INTO restores (lost_since, seen_until, noticed_at) VALUES ($1, $2, $2)",
            now - timedelta(hours=1),
            now,
        )
    try:
        csrf = await signed_in(browser)
        assert "A restore waits for your decision" in await text_of(browser, "/cluster")
        form = {"csrf": csrf, "missed": "all"}
        async with browser.post("/cluster/restore", data=form) as answer:
            assert "Decided about 0 due times" in await answer.text()
        assert "A restore waits" not in await text_of(browser, "/cluster")
    finally:
        async with database.session() as session:
            await session.execute("DELETE FROM restores")
