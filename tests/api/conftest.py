"""The API as owners meet it: over real HTTP, on real PostgreSQL and Valkey."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from tests.api.served import TOKEN, Owner, Served, serve

from matins.store.database import Database


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    database = Database(dsn, name="owners", size=4)
    yield database
    await database.close()


@pytest.fixture
async def served(database: Database, valkey: str) -> AsyncIterator[Served]:
    async with serve(database, valkey) as served:
        yield served


@pytest.fixture
async def owner(served: Served) -> AsyncIterator[Owner]:
    """Someone who calls the API with the right token."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(served.url, headers=headers) as session:
        yield Owner(session)
    await asyncio.sleep(0)
