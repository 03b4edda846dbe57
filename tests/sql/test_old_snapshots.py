"""An old snapshot keeps dead index entries; scans with a lower bound pass them by."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from matins.domain.executors.protocol import Heartbeat
from matins.store.database import session_settings
from matins.store.queries import load_queries
from matins.store.settled_polls import SettledPolls

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
COUNT = 500
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
INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause)
SELECT 7, $1, gen_random_uuid(), $1, 1, 'retry' FROM generate_series(1, $2::integer)
"""
EXECUTOR = """
INSERT INTO executors (
    id, name, pools, slots, partition, first_heartbeat_at, heartbeat_at, first_seq
) VALUES (gen_random_uuid(), 'one', '{default}', 9, 1, now(), now(), 1)
RETURNING id
"""
QUEUED = """
INSERT INTO dispatch (pool, rank, run_id, due_at)
SELECT 'default', $1::bigint + n, gen_random_uuid(), now()
FROM generate_series(1, $2::integer) AS n
"""
HANDED_OUT = """
INSERT INTO handouts (executor, seq, handed_at, run_ids)
SELECT $1, n, now(), array[gen_random_uuid()] FROM generate_series(1, $2::integer) AS n
"""
AGENDA, DISPATCH, ROOM = (load_queries(f"{file}.sql") for file in ("agenda", "dispatch", "waiting"))
QUERIES = AGENDA | DISPATCH | {"load_waiting": ROOM["load_waiting"]}


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
    """PG-16."""
    await session.execute(MADE, NOON, COUNT)
    for turn in range(TURNS):
        later = NOON + (turn + 1) * MINUTE
        await session.execute("UPDATE jobs SET next_due_at = $1, next_fire_at = $1", later)
    await expect_fewer_pages(session, "load")


async def test_loading_passes_by_the_retries_that_were_queued(
    session: asyncpg.Connection,
) -> None:
    """PG-16."""
    for turn in range(TURNS):
        await session.execute(RETRYING, NOON + turn * MINUTE, COUNT)
        await session.execute("DELETE FROM waiting")
    await session.execute(RETRYING, NOON + TURNS * MINUTE, COUNT)
    await expect_fewer_pages(session, "load_waiting")


async def test_takes_pass_by_what_was_taken(session: asyncpg.Connection) -> None:
    executor = await session.fetchval(EXECUTOR)
    await session.execute(QUEUED, 0, TURNS * COUNT)
    await session.execute("DELETE FROM dispatch")
    await session.execute(QUEUED, TURNS * COUNT, 1)
    given = {"executor": executor, "pool": "default", "free": 1, "now": NOON}
    given |= {"suspect_after": 2, "passed": []}
    async with session.transaction():
        whole = await read(session, "dequeue", given | {"seq": 1, "front": 0})
        await session.execute(QUEUED, TURNS * COUNT, 1)
        bounded = await read(session, "dequeue", given | {"seq": 2, "front": TURNS * COUNT})
    assert bounded < whole / 4


async def test_heartbeats_pass_by_the_polls_that_were_closed(session: asyncpg.Connection) -> None:
    executor = await session.fetchval(EXECUTOR)
    await session.execute(HANDED_OUT, executor, TURNS * COUNT)
    await session.execute("DELETE FROM handouts")
    polls, past = SettledPolls(), TURNS * COUNT
    first, later = (Heartbeat(executor, "e", ["default"], 9, past + seq) for seq in (0, 1))
    whole = await read_put_back(session, polls, first)
    polls.note(first)
    assert await read_put_back(session, polls, later) < whole / 4


async def read_put_back(
    session: asyncpg.Connection, polls: SettledPolls, heartbeat: Heartbeat
) -> int:
    """Return how many pages are looked at for what a heartbeat puts back."""
    ranges = polls.unsettled(heartbeat)
    given = {"executor": heartbeat.executor, "known": [], "now": NOON, "suspect_after": 2}
    given |= {"firsts": [first for first, _ in ranges], "pasts": [past for _, past in ranges]}
    return await read(session, "put_back", given)


async def expect_fewer_pages(session: asyncpg.Connection, name: str) -> None:
    """Expect of a query that it finds the same from a lower bound, with few of the pages."""
    whole = await pages(session, name, BEFORE_ALL)
    bounded = await pages(session, name, NOON + TURNS * MINUTE - MINUTE / 2)
    assert bounded < whole / 4


async def pages(session: asyncpg.Connection, name: str, after: datetime) -> int:
    """Return how many pages of tables and indexes a query looks at, that finds a single row."""
    given = {
        "partitions": [7],
        "after_ats": [after],
        "after_ids": [BEFORE_ALL_IDS],
        "until": NOON + 100 * MINUTE,
        "share": 1,
    }
    return await read(session, name, given)


async def read(session: asyncpg.Connection, name: str, given: dict[str, object]) -> int:
    """Return how many pages a query looks at."""
    query = QUERIES[name]
    text = await session.fetchval(
        f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query.sql}", *query.arguments(given)
    )
    plan = json.loads(text)[0]["Plan"]
    assert plan["Actual Rows"] == 1
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
