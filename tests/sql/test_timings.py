"""What decides about due times is read once and shared, and right however little is kept of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.sql.owned import TEAM, Owned, owned

from matins.domain.calendars.calendar import Calendar, Item
from matins.domain.values.errors import ScheduleError
from matins.store import timings
from matins.store.timings import KnownCalendars

NAMES = ("bank", "factory", "school")


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Owned]:
    async with owned(dsn) as opened:
        yield opened


@pytest.fixture
async def versions(world: Owned) -> list[int]:
    """One version of each of the calendars."""
    for name in NAMES:
        await world.calendars.put(TEAM, Calendar(name, exclude=[Item(dates="12-25")]))
    return [(await world.stored_calendars.show(TEAM, name)).version for name in NAMES]


async def test_whoever_asks_at_once_gets_all_of_it_though_hardly_any_is_kept(
    world: Owned, versions: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timings, "KNOWN_MAX", 1)
    known = KnownCalendars()
    for _ in range(3):
        asked = [versions, versions[::-1], versions[1:], versions[:1]] * 3
        fetch = world.database.fetch
        told = await asyncio.gather(*(known.closures(fetch, group) for group in asked))
        names = dict(zip(versions, NAMES, strict=True))
        assert [[calendar.name for calendar in found] for found in told] == [
            [names[name] for name in group] for group in asked
        ]


async def test_a_version_is_read_once(world: Owned, versions: list[int]) -> None:
    known = KnownCalendars()
    first = await known.closures(world.database.fetch, versions)
    again = await known.closures(world.database.fetch, versions)
    assert [id(calendar) for calendar in again] == [id(calendar) for calendar in first]


async def test_a_version_that_can_not_be_read_is_told(world: Owned, versions: list[int]) -> None:
    async with world.database.session() as session:
        await session.execute("UPDATE calendars SET resolved = '{}' WHERE id = $1", versions[1])
    known = KnownCalendars()
    with pytest.raises(ScheduleError, match=f"version {versions[1]} of a calendar"):
        await known.closures(world.database.fetch, versions)
    assert len(await known.closures(world.database.fetch, [versions[0], versions[2]])) == 2
