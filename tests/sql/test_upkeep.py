"""The upkeep goes on whatever happens to one of its tasks, and keeps the ledger whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from random import Random

import pytest
from tests.sql.owned import MINUTE, TEAM, spec
from tests.sql.upkept import Upkept, upkept

from matins.domain.jobs.spec import JobSpec
from matins.domain.schedules.schedule import Schedule, Times
from matins.domain.time.zones import data_version
from matins.domain.values.errors import NotFoundError


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Upkept]:
    async with upkept(dsn) as world:
        yield world


async def test_a_task_that_fails_holds_up_no_other(world: Upkept) -> None:
    await world.owners.create(TEAM, spec(Schedule(at="2026-03-01T00:00:00Z", delete_after="1m")))
    world.now += MINUTE
    await world.execute("ALTER TABLE zone_data RENAME TO gone")
    await world.work()
    with pytest.raises(NotFoundError):
        await world.job()


async def test_it_works_from_its_start_until_it_is_stopped(world: Upkept) -> None:
    await world.execute("DELETE FROM zone_data")
    upkeep = world.upkeep()
    running = asyncio.create_task(upkeep.run())
    while await world.recorded() is None:
        await asyncio.sleep(0.01)
    await upkeep.stop()
    await running
    assert await world.recorded() == data_version()


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_older_data_said_every_due_time_is_accounted_for_once(
    world: Upkept, seed: int
) -> None:
    rng = Random(seed)
    await world.owners.create(TEAM, _any_spec(rng))
    for _ in range(25):
        world.now += timedelta(minutes=rng.randrange(90), seconds=rng.choice((0, 0.4, 30)))
        match rng.randrange(3):
            case 0:
                if rng.random() < 0.5:
                    await world.claim()
                hours = timedelta(hours=rng.choice((1, 2, 5)))
                await world.told_by_older_data(world.now.replace(microsecond=0) + hours)
                await world.work()
            case 1:
                await world.claim()
            case _:
                await world.owners.put(TEAM, _any_spec(rng))
    await world.claim()
    findings = await world.audit()
    assert [finding for finding in findings if not finding.agrees or finding.pending] == []
    assert sum(finding.due for finding in findings) > 0


def _any_spec(rng: Random) -> JobSpec:
    schedule = rng.choice(
        (
            Schedule(cron="*/20 * * * *", jitter="2m"),
            Schedule(cron="30 * * * *", timezone="Africa/Casablanca"),
            Schedule(every="25m", timezone="Africa/Casablanca"),
            Schedule(any_of=[Times(cron="0 */2 * * *"), Times(every="50m")]),
        )
    )
    return spec(schedule, program=rng.choice(("true", "false")))
