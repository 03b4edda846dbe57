"""Every due time has one row: also where many share one, and somebody else goes on from there."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import msgspec
import pytest
from tests.sql.owned import MINUTE, TEAM, Owned, owned, spec

from matins.domain.jobs.misfire import Misfire
from matins.domain.schedules.schedule import Schedule

MINUTELY = spec(Schedule(cron="* * * * *"))
POLICIES = [
    Misfire(policy="skip"),
    Misfire(policy="last"),
    Misfire("all", max_age="20m"),
    Misfire("all", max_count=5),
]


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Owned]:
    """A job's owner, and a scheduler."""
    async with owned(dsn) as world:
        yield world


async def accounted(world: Owned) -> int:
    """Return how many due times the rows account for."""
    return sum(count for _, _, count in await world.rows())


@pytest.mark.parametrize("misfire", POLICIES)
async def test_a_successor_accounts_for_nothing_that_is_in_a_range(
    world: Owned, misfire: Misfire
) -> None:
    await world.owners.put(TEAM, msgspec.structs.replace(MINUTELY, misfire=misfire))
    world.now += 40 * MINUTE
    await world.fire(advance=False)
    world.now += MINUTE
    await world.fire(advance=False)
    assert await accounted(world) == 41
    [audit] = await world.audit()
    assert audit.holds


@pytest.mark.parametrize("misfire", POLICIES)
async def test_a_change_of_the_policy_runs_nothing_that_is_on_record_as_skipped(
    world: Owned, misfire: Misfire
) -> None:
    await world.owners.put(TEAM, msgspec.structs.replace(MINUTELY, misfire=misfire))
    world.now += 40 * MINUTE
    await world.fire(advance=False)
    queued = await world.queued()
    await world.owners.put(TEAM, msgspec.structs.replace(MINUTELY, misfire=Misfire("all")))
    await world.fire(advance=False)
    assert (await accounted(world), await world.queued()) == (40, queued)


async def test_a_job_that_catches_up_is_passed_over_while_it_is_being_changed(
    dsn: str, world: Owned
) -> None:
    await world.owners.put(TEAM, MINUTELY)
    world.now += 5 * MINUTE
    owner = await asyncpg.connect(dsn)
    async with owner.transaction():
        await owner.execute("SELECT FROM jobs FOR UPDATE")
        assert await world.claim(advance=False) == 0
    await owner.close()
    assert await world.claim() == 5
