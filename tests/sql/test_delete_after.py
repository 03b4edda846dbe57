"""A job is deleted `delete_after` its last run has ended, as its owner would do it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from tests.sql.owned import MINUTE, TEAM, spec
from tests.sql.upkept import Upkept, upkept

from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import NotFoundError

HOUR = timedelta(hours=1)
ONCE = Schedule(at="2026-03-02T12:01:00Z", delete_after="1h")


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Upkept]:
    async with upkept(dsn) as world:
        yield world


async def exists(world: Upkept, name: str = "job") -> bool:
    """Return whether the job is there after the upkeep has looked."""
    await world.work()
    try:
        await world.job(name)
    except NotFoundError:
        return False
    return True


async def finish(world: Upkept, kind: str = "scheduled") -> None:
    """Let all runs of a kind end now."""
    await world.execute(
        "UPDATE runs SET state = 'succeeded', finished_at = $1 WHERE kind = $2", world.now, kind
    )


async def ran(world: Upkept, schedule: Schedule = ONCE, name: str = "job") -> None:
    """Make a job; its one run is due a minute later and ends five minutes later."""
    await world.owners.create(TEAM, spec(schedule, name=name))
    world.now += MINUTE
    assert await world.claim(name) == 1
    world.now += 5 * MINUTE
    await finish(world)


async def test_it_goes_so_long_after_its_last_run_has_ended_and_not_before(world: Upkept) -> None:
    await ran(world)
    world.now += HOUR - timedelta(seconds=1)
    assert await exists(world)
    world.now += timedelta(seconds=1)
    assert not await exists(world)


async def test_it_is_deleted_as_its_owner_would_do_it(world: Upkept) -> None:
    await ran(world)
    world.now += HOUR
    await world.work()
    async with world.database.session() as session:
        [job] = await session.fetch("SELECT state, reason, revision, changed_at FROM jobs")
        last = await session.fetchval("SELECT state FROM revisions WHERE revision = 2")
        assert await session.fetchval("SELECT count(*) FROM runs") == 1
    assert tuple(job) == ("deleted", "delete_after", 2, world.now)
    assert last == "deleted"
    assert [audit for audit in await world.audit() if not audit.agrees] == []
    await world.owners.create(TEAM, spec(None))


async def test_not_while_it_has_a_due_time_ahead(world: Upkept) -> None:
    several = ["2026-03-02T12:01:00Z", "2026-03-02T20:00:00Z"]
    await ran(world, Schedule(at=several, delete_after="1h"))
    world.now += 2 * HOUR
    assert await exists(world)


async def test_not_without_being_told_to(world: Upkept) -> None:
    await ran(world, Schedule(at="2026-03-02T12:01:00Z"))
    world.now += 1000 * HOUR
    assert await exists(world)


async def test_not_while_its_last_run_is_unfinished(world: Upkept) -> None:
    await world.owners.create(TEAM, spec(ONCE))
    world.now += MINUTE
    await world.claim()
    world.now += 5 * HOUR
    assert await exists(world)
    await finish(world)
    assert await exists(world)
    world.now += HOUR
    assert not await exists(world)


async def test_not_while_a_run_that_was_triggered_is_unfinished(world: Upkept) -> None:
    await ran(world)
    await world.manual.trigger(TEAM, "job")
    world.now += HOUR
    assert await exists(world)
    await finish(world, "manual")
    assert not await exists(world)


async def test_without_any_run_it_counts_from_when_the_job_was_written(world: Upkept) -> None:
    await world.owners.create(TEAM, spec(Schedule(at="2026-03-01T00:00:00Z", delete_after="1h")))
    world.now += HOUR - MINUTE
    assert await exists(world)
    world.now += MINUTE
    assert not await exists(world)


async def test_a_paused_job_stays(world: Upkept) -> None:
    await ran(world)
    await world.owners.pause(TEAM, "job")
    world.now += 5 * HOUR
    assert await exists(world)


async def test_not_while_a_job_waits_for_the_end_that_its_next_due_time_follows(
    world: Upkept,
) -> None:
    delay = Schedule(every="1h", after="end", ends_at="2026-03-02T13:30:00Z", delete_after="1m")
    await world.owners.create(TEAM, spec(delay))
    world.now += HOUR
    await world.fire()
    await finish(world)
    world.now += 5 * MINUTE
    assert await exists(world)
    await world.execute("UPDATE jobs SET follows = NULL")
    assert not await exists(world)


async def test_one_that_can_t_be_read_stops_no_other(world: Upkept) -> None:
    for name in ("one", "two", "three"):
        await world.owners.create(TEAM, spec(ONCE, name=name))
    world.now += MINUTE
    for name in ("one", "two", "three"):
        await world.claim(name)
    await finish(world)
    await world.execute(
        """UPDATE jobs SET schedule = '{"at": 7, "delete_after": "?"}' WHERE name = 'two'"""
    )
    world.now += HOUR
    assert [await exists(world, name) for name in ("one", "two", "three")] == [False, True, False]


async def test_two_at_once_delete_it_once(world: Upkept) -> None:
    await ran(world)
    world.now += HOUR
    await asyncio.gather(world.work(), world.upkeep(world.other).work())
    async with world.database.session() as session:
        assert await session.fetchval("SELECT count(*) FROM revisions") == 2
