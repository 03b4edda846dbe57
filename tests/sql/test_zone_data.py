"""New zone data computes next due times anew, from now on, and loses no due time by it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest
from prometheus_client import REGISTRY
from tests.sql.owned import EVERY_MINUTE, MINUTE, NOON, TEAM, serve_the_default_pool, spec
from tests.sql.upkept import NEWER, OLDER, Upkept, upkept

from matins.domain.schedules.schedule import Schedule, Times
from matins.domain.time.zones import data_version
from matins.domain.upkeep.zone_data import AGAIN
from matins.upkeep import zone_data
from matins.upkeep.zone_data import REASON

HOUR = timedelta(hours=1)
DAILY = spec(Schedule(cron="0 20 * * *", timezone="Africa/Casablanca"))
RIGHT = NOON + 8 * HOUR
"""20:00 in Casablanca, whose clocks stand an hour back in this Ramadan."""
WRONG = NOON + 7 * HOUR
"""What data says that does not know of it."""


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Upkept]:
    async with upkept(dsn) as world:
        yield world


async def next_due(world: Upkept, name: str = "job") -> datetime | None:
    return (await world.job(name)).next_due_at


async def test_the_first_scheduler_ever_records_its_version_and_changes_nothing(
    world: Upkept,
) -> None:
    await world.owners.create(TEAM, DAILY)
    await world.told_by_older_data(WRONG)
    await world.execute("DELETE FROM zone_data")
    await world.work()
    assert await world.recorded() == data_version()
    assert await next_due(world) == WRONG


async def test_newer_data_corrects_what_lies_ahead_as_a_new_revision(world: Upkept) -> None:
    made = await world.owners.create(TEAM, DAILY)
    assert made.job.next_due_at == RIGHT
    await world.told_by_older_data(WRONG)
    world.now += MINUTE
    await world.work()
    job = await world.job()
    assert (job.next_due_at, job.next_fire_at, job.revision) == (RIGHT, RIGHT, 2)
    assert job.changed_at == NOON + MINUTE
    assert await world.recorded() == data_version()
    assert await world.rows() == []


async def test_what_is_right_already_is_left_untouched(world: Upkept) -> None:
    made = await world.owners.create(TEAM, DAILY)
    await world.computed_with(OLDER)
    world.now += MINUTE
    await world.work()
    assert await world.job() == made.job


async def test_a_fire_time_is_corrected_with_its_due_time(world: Upkept) -> None:
    made = await world.owners.create(
        TEAM, spec(Schedule(cron="0 20 * * *", timezone="Africa/Casablanca", jitter="30m"))
    )
    await world.told_by_older_data(WRONG)
    await world.work()
    assert (await world.job()).next_fire_at == made.job.next_fire_at


async def test_a_zone_of_one_member_of_a_union_counts(world: Upkept) -> None:
    members = [Times(cron="0 23 * * *"), Times(cron="0 20 * * *", timezone="Africa/Casablanca")]
    await world.owners.create(TEAM, spec(Schedule(any_of=members)))
    await world.told_by_older_data(WRONG)
    await world.work()
    assert await next_due(world) == RIGHT


async def test_a_job_that_is_due_already_goes_on_by_its_claim(world: Upkept) -> None:
    await world.owners.create(TEAM, EVERY_MINUTE)
    await world.computed_with(OLDER)
    world.now += 2 * MINUTE
    await world.work()
    assert (await world.job()).revision == 1
    assert await world.claim() == 2


async def test_claims_of_the_old_revision_are_stale(world: Upkept) -> None:
    await world.owners.create(TEAM, DAILY)
    await world.told_by_older_data(WRONG)
    claims = await world.claims_at(WRONG)
    await world.work()
    world.now = WRONG
    answer = await world.send(claims)
    assert (answer.made, len(answer.stale)) == (set(), 1)
    assert await world.rows() == []


async def test_a_due_time_that_moves_before_now_is_skipped_and_not_run(world: Upkept) -> None:
    await world.owners.create(TEAM, DAILY)
    await world.told_by_older_data(RIGHT + 2 * HOUR)
    world.now = RIGHT + HOUR
    await world.work()
    assert await next_due(world) == RIGHT + 24 * HOUR
    assert await world.ledger() == [("03-02 20:00", REASON)]
    assert await world.queued() == 0
    assert [audit for audit in await world.audit() if not audit.agrees] == []


async def test_a_due_time_that_has_its_row_stays_accounted_for(world: Upkept) -> None:
    await serve_the_default_pool(world.database)
    await world.owners.create(TEAM, DAILY)
    world.now = RIGHT
    assert await world.claim() == 1
    await world.told_by_older_data(WRONG + 24 * HOUR)
    world.now += HOUR
    await world.work()
    assert await next_due(world) == RIGHT + 24 * HOUR
    assert await world.ledger() == [("03-02 20:00", "queued")]


async def test_rows_that_are_gone_by_now_are_not_made_again(world: Upkept) -> None:
    await world.owners.create(TEAM, DAILY)
    world.now += timedelta(days=10)
    await world.told_by_older_data(world.now + 7 * HOUR)
    await world.work()
    assert await world.ledger() == [("03-10 20:00", REASON), ("03-11 20:00", REASON)]


async def test_a_due_time_that_ran_is_not_due_again_when_the_clock_was_put_back(
    world: Upkept,
) -> None:
    await world.owners.create(TEAM, EVERY_MINUTE)
    world.now += 30 * MINUTE
    await world.claim()
    world.now -= 10 * MINUTE
    await world.computed_with(OLDER)
    before = await world.job()
    await world.work()
    assert await world.job() == before


async def test_a_job_that_has_no_due_time_left_is_over(world: Upkept) -> None:
    at = Schedule(at="2026-03-02T13:00:00", timezone="Africa/Casablanca")
    await world.owners.create(TEAM, spec(at))
    await world.told_by_older_data(NOON + 3 * HOUR)
    world.now += 2 * HOUR
    await world.work()
    job = await world.job()
    assert (job.state, job.next_due_at, job.next_fire_at) == ("active", None, None)
    assert await world.ledger() == [("03-02 13:00", REASON)]


async def test_a_job_that_follows_the_ends_of_its_runs_is_left_alone(world: Upkept) -> None:
    await world.owners.create(TEAM, spec(Schedule(every="1h", after="end")))
    await world.told_by_older_data(NOON + 5 * HOUR)
    await world.work()
    assert await next_due(world) == NOON + 5 * HOUR


async def test_older_data_than_recorded_computes_nothing_and_says_so(world: Upkept) -> None:
    await world.owners.create(TEAM, DAILY)
    await world.told_by_older_data(WRONG)
    await world.computed_with(NEWER)
    world.now += 2 * AGAIN
    await world.work()
    assert await next_due(world) == WRONG
    assert await world.recorded() == NEWER
    assert REGISTRY.get_sample_value("matins_zone_data_behind") == 1


async def test_what_others_wrote_with_older_data_is_corrected_within_the_hour(
    world: Upkept,
) -> None:
    await world.owners.create(TEAM, DAILY)
    await world.told_by_older_data(WRONG)
    await world.computed_with(data_version())
    world.now += AGAIN - MINUTE
    await world.work()
    assert await next_due(world) == WRONG
    world.now += MINUTE
    await world.work()
    assert await next_due(world) == RIGHT


async def test_a_job_that_can_t_be_computed_stops_no_other(world: Upkept) -> None:
    for name in ("one", "two", "three"):
        await world.owners.create(
            TEAM, spec(Schedule(cron="0 20 * * *", timezone="Africa/Casablanca"), name=name)
        )
        await world.told_by_older_data(WRONG, name)
    broken = '{"cron": "0 20 * * *", "timezone": "Nowhere/At_All"}'
    await world.execute("UPDATE jobs SET schedule = $1 WHERE name = 'two'", broken)
    await world.work()
    assert [await next_due(world, name) for name in ("one", "two", "three")] == [
        RIGHT,
        WRONG,
        RIGHT,
    ]
    assert await world.recorded() == data_version()


async def test_two_at_once_do_no_harm(world: Upkept) -> None:
    names = [f"job-{number}" for number in range(20)]
    for name in names:
        await world.owners.create(
            TEAM, spec(Schedule(cron="0 20 * * *", timezone="Africa/Casablanca"), name=name)
        )
        await world.told_by_older_data(RIGHT + 2 * HOUR, name)
    world.now = RIGHT + HOUR
    await asyncio.gather(world.work(), world.upkeep(world.other).work())
    jobs = [await world.job(name) for name in names]
    assert {(job.next_due_at, job.revision) for job in jobs} == {(RIGHT + 24 * HOUR, 2)}
    assert [await world.ledger(name) for name in names] == [[("03-02 20:00", REASON)]] * 20


async def test_all_pages_are_looked_at(world: Upkept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zone_data, "PAGE", 2)
    monkeypatch.setattr(zone_data, "_PAUSE_S", 0)
    names = [f"job-{number}" for number in range(5)]
    for name in names:
        await world.owners.create(
            TEAM, spec(Schedule(cron="0 20 * * *", timezone="Africa/Casablanca"), name=name)
        )
        await world.told_by_older_data(WRONG, name)
    await world.work()
    assert {await next_due(world, name) for name in names} == {RIGHT}


async def test_one_that_is_stopped_on_the_way_leaves_the_rest_to_the_next(
    world: Upkept,
) -> None:
    await world.owners.create(TEAM, DAILY)
    await world.told_by_older_data(WRONG)
    stopped = world.upkeep()
    await stopped.stop()
    await stopped.work()
    assert await world.recorded() == OLDER
    await world.work()
    assert await next_due(world) == RIGHT
