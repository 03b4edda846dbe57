"""The API as owners meet it: over real HTTP, on real PostgreSQL and Valkey.

A module's tests share one server and one event loop; each of them begins with nothing stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
import pytest_asyncio
from tests.api.served import Hands, Owner, Served, calling, clear, serve
from tests.conftest import fresh_database

from matins.store.database import Database


@pytest.fixture(scope="session")
def owners_dsn(postgres: str) -> Iterator[str]:
    """One migrated database for all tests of the API."""
    with asyncio.Runner() as runner:
        database = fresh_database(postgres)
        yield runner.run(database.__aenter__())
        runner.run(database.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def hands() -> Hands:
    """The hands of the database's clock, for tests that set it."""
    return Hands()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool(owners_dsn: str, hands: Hands) -> AsyncIterator[Database]:
    database = Database(owners_dsn, name="owners", size=4, now=lambda: hands.at)
    yield database
    await database.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(pool: Database, valkey: str) -> AsyncIterator[Served]:
    async with serve(pool, valkey) as served:
        yield served


@pytest_asyncio.fixture(loop_scope="module")
async def database(pool: Database, hands: Hands) -> Database:
    """A database with nothing in it."""
    hands.at = None
    await clear(pool)
    return pool


@pytest_asyncio.fixture(loop_scope="module")
async def owner(served: Served, database: Database) -> AsyncIterator[Owner]:
    """Someone who calls the API with the right token."""
    del database
    async with calling(served.url) as owner:
        yield owner


@pytest_asyncio.fixture(loop_scope="module")
async def browser(served: Served, owner: Owner) -> AsyncIterator[aiohttp.ClientSession]:
    """A browser that nobody has signed in yet; it runs no scripts."""
    del owner
    jar = aiohttp.CookieJar(unsafe=True)
    headers = {"Accept": "text/html"}
    async with aiohttp.ClientSession(served.url, headers=headers, cookie_jar=jar) as session:
        yield session
