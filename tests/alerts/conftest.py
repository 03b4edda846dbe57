"""Alerts on real PostgreSQL: an API that is served, what looks and what delivers beside it, and a
clock that the test sets.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.alerts.ground import Ground
from tests.alerts.receivers import Hooks, Mails, mail_server, webhooks
from tests.api.served import calling, serve
from tests.conftest import fresh_database

from matins.store.database import Database


@pytest.fixture
async def ground(postgres: str, valkey: str) -> AsyncIterator[Ground]:
    """A team without channels, at noon."""
    async with fresh_database(postgres) as dsn:
        ground = Ground()
        database = Database(dsn, name="alerts", size=6, now=lambda: ground.now)
        async with serve(database, valkey) as served, calling(served.url) as owner:
            await ground.open(database, owner)
            yield ground
            await ground.close()
        await database.close()


@pytest.fixture
async def hooks() -> AsyncIterator[Hooks]:
    """A receiver of webhooks."""
    async with webhooks() as hooks:
        yield hooks


@pytest.fixture
async def mails() -> AsyncIterator[Mails]:
    """A mail server."""
    async with mail_server() as mails:
        yield mails
