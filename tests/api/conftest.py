"""The API as owners meet it: over real HTTP, on real PostgreSQL and Valkey."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.api.served import Hands, Owner, Served, calling, serve
from tests.conftest import fresh_database

from matins.store.database import Database


@pytest.fixture(scope="session")
def untouched_dsn(postgres: str) -> Iterator[str]:
    """One database for all tests that store nothing."""
    with asyncio.Runner() as runner:
        database = fresh_database(postgres)
        yield runner.run(database.__aenter__())
        runner.run(database.__aexit__(None, None, None))


@pytest.fixture
def hands() -> Hands:
    """The hands of the database's clock, for tests that set it."""
    return Hands()


@pytest.fixture
async def database(dsn: str, hands: Hands) -> AsyncIterator[Database]:
    database = Database(dsn, name="owners", size=4, now=lambda: hands.at)
    yield database
    await database.close()


@pytest.fixture
async def served(database: Database, valkey: str) -> AsyncIterator[Served]:
    async with serve(database, valkey) as served:
        yield served


@pytest.fixture
async def owner(served: Served) -> AsyncIterator[Owner]:
    """Someone who calls the API with the right token."""
    async with calling(served.url) as owner:
        yield owner
