"""What the tests of the fault bench stand on: a call recorder, and calls to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import aiohttp
import pytest
from tests.ids import run_numbered

from matins.testing.call_recorder import CallRecorder

DUE_AT = datetime(2026, 11, 29, 2, tzinfo=UTC)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the calls are noted."""
    return tmp_path / "calls.jsonl"


@pytest.fixture
async def recorder(file: Path) -> AsyncIterator[CallRecorder]:
    """A running call recorder."""
    async with CallRecorder(file) as server:
        yield server


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    """A client that opens a connection for each request."""
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield session


def named(run_id: UUID | None = None, attempt: int = 1) -> dict[str, str]:
    """Return the headers of an attempt."""
    return {
        "Matins-Run-Id": str(run_id or run_numbered(1)),
        "Matins-Attempt": str(attempt),
        "Matins-Due-At": "2026-11-29T02:00:00Z",
        "Matins-Job": "nightly",
        "Matins-Team": "payments",
        "Matins-Kind": "scheduled",
    }
