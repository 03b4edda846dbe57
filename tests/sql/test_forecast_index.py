"""The index of jobs follows the rows: page by page at first, then change by change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest
from tests.sql.owned import NOON, TEAM, Owned, owned, spec

from matins.domain.jobs.spec import JobSpec
from matins.domain.schedules.schedule import Schedule
from matins.domain.time.instants import epoch_s
from matins.insight.forecast.expansion import LoadExpansion
from matins.store import forecast_index
from matins.store.database import Database
from matins.store.forecast_index import OVERLAP, LiveIndex
from matins.store.queries import Query
from matins.store.timings import KnownCalendars

SINCE = epoch_s(NOON)
HOUR = LoadExpansion(SINCE, SINCE + 3600)
QUARTERS = Schedule(cron="*/15 * * * *")


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Owned]:
    async with owned(dsn) as world:
        yield world


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast_index, "PAGE", 3)


def due(number: int, schedule: Schedule | None = QUARTERS) -> JobSpec:
    return spec(schedule, name=f"job-{number}")


def fires(live: LiveIndex) -> float:
    return sum(HOUR.minutes(live.index.counters()))


async def refreshed(world: Owned, live: LiveIndex) -> tuple[int, float]:
    """Return how many jobs and fires the index holds after a look."""
    await live.refresh(world.now)
    return len(live.index), fires(live)


class Interrupted(Database):
    """A database that loses a query now and then."""

    fail_at = -1

    async def fetch(self, query: Query, **given: object) -> list[asyncpg.Record]:
        self.fail_at -= 1
        if self.fail_at == 0:
            raise asyncio.CancelledError
        return await super().fetch(query, **given)


@pytest.mark.parametrize("count", [0, 1, 3, 7])
async def test_all_jobs_are_read_whatever_fills_the_last_page(world: Owned, count: int) -> None:
    for number in range(count):
        await world.owners.put(TEAM, due(number))
    live = LiveIndex(world.database, KnownCalendars(), NOON, SINCE)
    world.now += timedelta(hours=1)  # so that none of them has changed lately
    assert await refreshed(world, live) == (count, 4 * count)


async def test_only_active_jobs_with_a_schedule_are_read(world: Owned) -> None:
    for number in range(3):
        await world.owners.put(TEAM, due(number))
    await world.owners.put(TEAM, due(3, None))
    await world.owners.pause(TEAM, "job-1")
    await world.owners.delete(TEAM, "job-2")
    world.now += timedelta(hours=1)
    live = LiveIndex(world.database, KnownCalendars(), world.now, SINCE)
    assert await refreshed(world, live) == (1, 4)


async def test_changes_of_one_moment_are_read_over_all_their_pages(world: Owned) -> None:
    live = LiveIndex(world.database, KnownCalendars(), NOON, SINCE)
    assert await refreshed(world, live) == (0, 0)
    for number in range(8):
        await world.owners.put(TEAM, due(number))
    assert await refreshed(world, live) == (8, 32)
    world.now += timedelta(seconds=1)
    for number in range(8):
        await world.owners.put(TEAM, due(number, Schedule(cron="5 * * * *")))
    await world.owners.pause(TEAM, "job-1")
    assert await refreshed(world, live) == (7, 7)


async def test_a_change_that_was_committed_late_is_seen_all_the_same(world: Owned) -> None:
    live = LiveIndex(world.database, KnownCalendars(), NOON, SINCE)
    await live.refresh(NOON)
    world.now = NOON + timedelta(seconds=20)
    await live.refresh(world.now)
    late, world.now = world.now, world.now - timedelta(seconds=10)
    await world.owners.put(TEAM, due(1))
    world.now = late + OVERLAP / 2
    assert await refreshed(world, live) == (1, 4)


async def test_what_is_read_again_is_no_change(world: Owned) -> None:
    await world.owners.put(TEAM, due(1))
    live = LiveIndex(world.database, KnownCalendars(), NOON, SINCE)
    await live.refresh(world.now)
    changes = live.changes
    await live.refresh(world.now)
    assert live.changes == changes > 0


@pytest.mark.parametrize("fail_at", range(1, 6))
async def test_whoever_was_cancelled_lost_nothing(dsn: str, world: Owned, fail_at: int) -> None:
    for number in range(7):
        await world.owners.put(TEAM, due(number))
    database = Interrupted(dsn, name="interrupted", now=lambda: world.now)
    live = LiveIndex(database, KnownCalendars(), NOON, SINCE)
    database.fail_at = fail_at
    with pytest.raises(asyncio.CancelledError):
        await live.refresh(world.now)
    await world.owners.delete(TEAM, "job-1")
    assert await refreshed(world, live) == (6, 24)
    await database.close()
