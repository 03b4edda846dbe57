"""Channels that are deleted while a message for them is being written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
from tests.contract.alerts.watched import TEAM, Watched
from tests.contract.ports.ground import on_postgres
from tests.sql.test_races import is_blocked


@pytest.fixture
async def watched(dsn: str) -> AsyncIterator[Watched]:
    """A team with two channels, and a job of which a run has died."""
    ground, database = on_postgres(dsn)
    watched = Watched(ground)
    for name in ("first", "other"):
        await watched.channel(name)
    await watched.job()
    await watched.look()
    await watched.end()
    yield watched
    await database.close()


@pytest.fixture
async def session(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """The session of somebody else, whose transaction is under way."""
    session = await asyncpg.connect(dsn)
    yield session
    await session.close()


async def test_a_look_waits_for_the_end_of_a_channel_and_tells_the_others(
    watched: Watched, session: asyncpg.Connection
) -> None:
    async with session.transaction():
        await session.execute("DELETE FROM channels WHERE name = 'first'")
        looking = asyncio.create_task(watched.look())
        await is_blocked(session)
    assert await looking == 1
    assert [told.channel for told in await watched.ports.rows.notices()] == ["other"]


async def test_the_end_of_the_last_channel_waits_for_a_look_and_blocks_it_not(
    watched: Watched, session: asyncpg.Connection
) -> None:
    await watched.channels.delete(TEAM, "first")
    async with session.transaction():
        await session.execute("SELECT FROM watches FOR UPDATE")
        deleting = asyncio.create_task(watched.channels.delete(TEAM, "other"))
        await is_blocked(session)
        await session.execute("SELECT FROM channels FOR KEY SHARE NOWAIT")
    assert (await deleting).change == "deleted"
    assert await session.fetchval("SELECT count(*) FROM watches") == 0
