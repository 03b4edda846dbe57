"""An old snapshot keeps dead index entries; scans with a lower bound pass them by."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from matins.store.database import session_settings
from matins.store.queries import load_queries

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
COUNT = 200
TURNS = 10
BEFORE_ALL, BEFORE_ALL_IDS = datetime(1, 1, 1, tzinfo=UTC), UUID(int=0)

MADE = """
INSERT INTO jobs (
    id, team_id, partition, name, revision, state, spec, misfire, pool, priority, anchor,
    created_at, changed_at, next_due_at, next_fire_at
)
SELECT gen_random_uuid(), t.id, 7, n::text, 1, 'active', '{}', '{}', 'default', 1,
       $1, $1, $1, $1, $1
FROM teams t, generate_series(1, $2::integer) AS n
"""
RETRYING = """
INSERT INTO retries (partition, retry_at, run_id, due_at)
SELECT 7, $1, gen_random_uuid(), $1 FROM generate_series(1, $2::integer)
"""


@pytest.fixture
async def session(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """A session beside another one with a snapshot that is older than all that this one does."""
    settings = session_settings("snapshots", by_key_only=True, deadline_s=10)
    session = await asyncpg.connect(dsn, server_settings=settings)
    await session.execute("INSERT INTO teams (name, created_at) VALUES ('team', now())")
    old = await asyncpg.connect(dsn)
    await old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    await old.fetch("SELECT FROM teams")
    yield session
    await old.close()
    await session.close()


async def test_loading_passes_by_what_was_claimed(session: asyncpg.Connection) -> None:
    await session.execute(MADE, NOON, COUNT)
    for turn in range(TURNS):
        later = NOON + (turn + 1) * MINUTE
        await session.execute("UPDATE jobs SET next_due_at = $1, next_fire_at = $1", later)
    await expect_fewer_pages(session, "load")


async def test_loading_passes_by_the_retries_that_were_promoted(
    session: asyncpg.Connection,
) -> None:
    for turn in range(TURNS):
        await session.execute(RETRYING, NOON + turn * MINUTE, COUNT)
        await session.execute("DELETE FROM retries")
    await session.execute(RETRYING, NOON + TURNS * MINUTE, COUNT)
    await expect_fewer_pages(session, "load_retries")


async def expect_fewer_pages(session: asyncpg.Connection, name: str) -> None:
    """Expect of a query that it finds the same from a lower bound, with few of the pages."""
    whole = await pages(session, name, BEFORE_ALL)
    bounded = await pages(session, name, NOON + TURNS * MINUTE - MINUTE / 2)
    assert bounded < whole / 4


async def pages(session: asyncpg.Connection, name: str, after: datetime) -> int:
    """How many pages of tables and indexes a query looks at, that finds a single row."""
    query = load_queries("agenda.sql")[name]
    given = {
        "partitions": [7],
        "after_ats": [after],
        "after_ids": [BEFORE_ALL_IDS],
        "until": NOON + 100 * MINUTE,
        "share": 1,
    }
    text = await session.fetchval(
        f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query.sql}", *query.arguments(given)
    )
    plan = json.loads(text)[0]["Plan"]
    assert plan["Actual Rows"] == 1
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
