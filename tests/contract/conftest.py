"""Ports and use cases are tested on memory and on PostgreSQL alike."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.conftest import fresh_database
from tests.contract.ports.ground import Ground, on_memory, on_postgres


@pytest.fixture(params=["memory", "postgres"])
async def ground(request: pytest.FixtureRequest, postgres: str) -> AsyncIterator[Ground]:
    """The ports of one implementation."""
    if request.param == "memory":
        yield on_memory()
        return
    async with fresh_database(postgres) as dsn:
        ground, database = on_postgres(dsn)
        yield ground
        await database.close()
