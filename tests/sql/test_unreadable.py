"""One job that can't be read stops no other, and is told of wherever it is met."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from tests.sql.owned import TEAM, Owned, owned, spec

from matins.domain.calendars.calendar import Calendar, Item
from matins.domain.schedules.schedule import Schedule

NAMES = ["a", "b", "c", "d"]
HOLIDAY = Calendar(name="bank", exclude=[Item(dates=["2026-12-24"])])
TWO_HOLIDAYS = Calendar(name="bank", exclude=[Item(dates=["2026-12-24", "2026-12-31"])])
ZONE_GONE = "replace({column}::text, 'Europe/Berlin', 'Mars/Base')::jsonb"
NEWER_FIELD = """{column} || '{{"brand_new": 1}}'"""


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Owned]:
    """Jobs that follow a calendar."""
    async with owned(dsn) as world:
        await world.calendars.put(TEAM, HOLIDAY)
        schedule = Schedule(cron="0 2 * * *", timezone="Europe/Berlin", calendars=["bank"])
        for name in NAMES:
            await world.owners.put(TEAM, spec(schedule, name=name))
        world.now += timedelta(days=1)
        yield world


async def make_unreadable(world: Owned, name: str, how: str) -> None:
    """Let a job be one that this version can't read."""
    job = await world.reads.job(TEAM, name)
    async with world.database.session() as session:
        for table, key in (("jobs", "id"), ("revisions", "job_id")):
            await session.execute(
                f"UPDATE {table} SET spec = {how.format(column='spec')} WHERE {key} = $1", job.id
            )


async def followed(world: Owned) -> dict[str, bool]:
    """Return which jobs follow the current version of the calendar."""
    async with world.database.session() as session:
        rows = await session.fetch(
            "SELECT j.name, c.replaced_at IS NULL AS current"
            " FROM jobs j JOIN calendars c ON c.id = ANY (j.calendars)"
        )
    return {row["name"]: row["current"] for row in rows}


@pytest.mark.parametrize("how", [ZONE_GONE, NEWER_FIELD], ids=["zone", "field"])
async def test_the_others_follow_a_calendar(world: Owned, how: str) -> None:
    await make_unreadable(world, "b", how)
    changed = await world.calendars.put(TEAM, TWO_HOLIDAYS)
    assert changed.jobs == 3
    assert [job.name for job in changed.unreadable] == ["b"]
    assert await followed(world) == {"a": True, "b": False, "c": True, "d": True}
    await world.calendars.keep_up()


async def test_the_upkeep_finishes_for_the_others_what_was_begun(world: Owned) -> None:
    await make_unreadable(world, "b", NEWER_FIELD)
    async with world.database.session() as session:
        await session.execute("UPDATE calendars SET replaced_at = made_at")
        await session.execute(
            "INSERT INTO calendars (team_id, name, written, resolved, made_at)"
            " SELECT team_id, name, written, resolved, made_at FROM calendars"
        )
    await world.calendars.keep_up()
    assert await followed(world) == {"a": True, "b": False, "c": True, "d": True}


async def test_lists_show_the_others_and_name_it(world: Owned) -> None:
    await make_unreadable(world, "b", NEWER_FIELD)
    page = await world.reads.jobs(TEAM, "", 100)
    assert [job.spec.name for job in page.jobs] == ["a", "c", "d"]
    [unreadable] = page.unreadable
    assert (unreadable.team, unreadable.name) == (TEAM, "b")
    assert "brand_new" in unreadable.fault
    everybody = await world.reads.all_jobs(None, 100)
    assert (len(everybody.jobs), everybody.unreadable) == (3, [unreadable])


async def test_pages_go_on_after_one_that_ends_with_it(world: Owned) -> None:
    await make_unreadable(world, "b", NEWER_FIELD)
    page = await world.reads.jobs(TEAM, "", 2)
    assert ([job.spec.name for job in page.jobs], page.next) == (["a"], "b")
    page = await world.reads.jobs(TEAM, "b", 2)
    assert [job.spec.name for job in page.jobs] == ["c", "d"]


@pytest.mark.parametrize("how", [ZONE_GONE, NEWER_FIELD], ids=["zone", "field"])
async def test_the_audit_tells_its_fault_beside_the_others(world: Owned, how: str) -> None:
    await make_unreadable(world, "b", how)
    found = {audit.job: audit for audit in await world.audit()}
    assert found.keys() == set(NAMES)
    assert found.pop("b").fault
    assert [row.fault for row in found.values()] == ["", "", ""]
