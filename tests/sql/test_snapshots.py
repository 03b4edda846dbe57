"""Whoever holds an old snapshot is named, before it makes everything slow."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest
from structlog.testing import capture_logs

from matins.kernel import metrics
from matins.store.database import Database
from matins.store.snapshots import PostgresSnapshots
from matins.testing.virtual import VirtualClock, VirtualTime
from matins.upkeep.snapshots import OLD, SnapshotWatch

LONG_S = OLD.total_seconds() + 1


class Later(VirtualClock):
    """A clock that is moved by hand."""

    passed_s = 0.0

    def elapsed_s(self) -> float:
        return self.passed_s


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    database = Database(dsn, name="upkeep", size=1, by_key_only=True)
    yield database
    await database.close()


@pytest.fixture
async def report(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """A foreign session with a snapshot of its own."""
    session = await asyncpg.connect(dsn, server_settings={"application_name": "the report"})
    async with session.transaction(isolation="repeatable_read"):
        await session.fetch("SELECT count(*) FROM teams")
        yield session
    await session.close()


async def test_a_session_with_an_old_snapshot_is_named(
    database: Database, report: asyncpg.Connection
) -> None:
    """PG-16: before it makes everything slow."""
    clock = Later(VirtualTime())
    watch = SnapshotWatch(PostgresSnapshots(database), clock)
    with capture_logs() as logs:
        await watch.look()
        assert logs == []
        clock.passed_s += LONG_S
        await watch.look()
    [event] = logs
    pid = await report.fetchval("SELECT pg_backend_pid()")
    assert event["holder"].startswith(f"session {pid} (the report) of ")
    assert event["age_s"] == round(LONG_S)
    assert metrics.OLD_SNAPSHOT._value.get() == LONG_S


async def test_a_transaction_that_says_since_when_it_lasts_is_told_of_at_once(
    dsn: str, report: asyncpg.Connection
) -> None:
    begun = await report.fetchval("SELECT now()")
    later = Database(dsn, name="upkeep", size=1, now=lambda: begun + 2 * OLD)
    with capture_logs() as logs:
        await SnapshotWatch(PostgresSnapshots(later), Later(VirtualTime())).look()
    assert [event["age_s"] for event in logs] == [2 * OLD.total_seconds()]
    await later.close()


async def test_nobody_is_named_where_snapshots_come_and_go(dsn: str, database: Database) -> None:
    clock = Later(VirtualTime())
    watch = SnapshotWatch(PostgresSnapshots(database), clock)
    with capture_logs() as logs:
        for _ in range(3):
            session = await asyncpg.connect(dsn)
            async with session.transaction(isolation="repeatable_read"):
                await session.execute("CREATE TABLE IF NOT EXISTS advance_the_horizon ()")
                await session.execute("DROP TABLE advance_the_horizon")
                await watch.look()
            await session.close()
            clock.passed_s += LONG_S
        await watch.look()
    assert logs == []
    assert metrics.OLD_SNAPSHOT._value.get() == 0
