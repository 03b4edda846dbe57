"""The tables of the coming days are there before anything is due in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta

import pytest
from tests.conftest import empty_database

from matins.store.database import Database
from matins.store.day_tables import PostgresDayTables
from matins.store.migrate import migrate
from matins.upkeep.days import AHEAD_DAYS, DaysAhead, make_days_ahead

NEW_YEAR = datetime(2030, 1, 1, 23, 30, tzinfo=UTC)


class World:
    """A migrated database without any day, and a clock that a sleep moves."""

    def __init__(self, dsn: str) -> None:
        self.now = NEW_YEAR
        self.database = Database(dsn, name="days", size=1, now=lambda: self.now)
        self.slept = asyncio.Event()

    def elapsed_s(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        """Let so much time pass; from the second sleep on for ever."""
        if self.slept.is_set():
            await asyncio.Event().wait()
        self.slept.set()
        self.now += timedelta(seconds=seconds)

    async def days(self, table: str) -> list[date]:
        """Return the days of which a table has its part."""
        async with self.database.session() as session:
            rows = await session.fetch(
                "SELECT right(inhrelid::regclass::text, 8) AS day FROM pg_inherits"
                " WHERE inhparent = $1::text::regclass ORDER BY 1",
                table,
            )
        return [datetime.strptime(row["day"], "%Y%m%d").replace(tzinfo=UTC).date() for row in rows]


@pytest.fixture
async def world(postgres: str) -> AsyncIterator[World]:
    async with empty_database(postgres) as dsn:
        await migrate(dsn)
        world = World(dsn)
        yield world
        await world.database.close()


def around(instant: datetime) -> list[date]:
    """Yesterday and all days up to a week ahead."""
    return [instant.date() + timedelta(days=number) for number in range(-1, AHEAD_DAYS + 1)]


async def test_days_from_yesterday_to_a_week_ahead_are_made(world: World) -> None:
    assert AHEAD_DAYS == 7
    for _ in range(2):
        await make_days_ahead(PostgresDayTables(world.database))
        assert await world.days("runs") == around(NEW_YEAR)
        assert await world.days("attempts") == around(NEW_YEAR)


async def test_further_days_are_made_as_time_goes_on(world: World) -> None:
    service = DaysAhead(PostgresDayTables(world.database), world)
    running = asyncio.create_task(service.run())
    last = around(NEW_YEAR + timedelta(hours=1))[-1]
    async with asyncio.timeout(20):
        while not world.slept.is_set() or last not in await world.days("runs"):
            await asyncio.sleep(0.01)
    await service.stop()
    await running
