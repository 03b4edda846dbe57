"""An API, commands that find it, and an SDK connected to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.api.served import TOKEN, Served, serve
from tests.e2e.cli.typed import Typist

from matins.client.sdk import Matins
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
async def matins(served: Served) -> AsyncIterator[Matins]:
    async with Matins(served.url, TOKEN) as matins:
        yield matins


@pytest.fixture
def typed(
    served: Served,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Typist:
    """Types commands whose environment names the API."""
    monkeypatch.setenv("MATINS_DATA", str(tmp_path))
    monkeypatch.setenv("MATINS_URL", served.url)
    monkeypatch.setenv("MATINS_TOKEN", TOKEN)
    return Typist(capsys)
