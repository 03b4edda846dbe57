"""A cluster on the engines that the whole session shares, with a database of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.e2e.cluster import Cluster


@pytest.fixture
async def cluster(dsn: str, valkey: str, request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    """A cluster in which no role runs yet; when the test fails, the ends of all logs are shown."""
    failed = request.session.testsfailed
    async with Cluster((dsn, valkey)) as cluster:
        yield cluster
        if request.session.testsfailed > failed:
            for role in cluster.roles:
                print(f"--- {role.log.name}", role.log.read_text()[-5000:], sep="\n")
