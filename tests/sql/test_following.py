"""What owners do to jobs that follow the ends of their runs: nothing vanishes, no runs overlap."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from random import Random

import asyncpg
import msgspec
import pytest
from tests.sql.owned import (
    MINUTE,
    NOON,
    TEAM,
    Owned,
    insert_by_hand,
    owned,
    spec,
    waits_for_a_lock,
)

from matins.domain.calendars.calendar import Calendar, Item
from matins.domain.jobs.spec import JobSpec
from matins.domain.schedules.schedule import Override, Schedule
from matins.domain.values.errors import InvalidInputError

QUARTER = timedelta(minutes=15)
FOLLOWING = spec(Schedule(every="15m", after="end"))
QUICKER = spec(Schedule(every="10m", after="end"))
HOURLY_TOO = spec(Schedule(cron="0 * * * *"), name="other")
HOURLY = spec(Schedule(cron="0 * * * *"))


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Owned]:
    async with owned(dsn) as world:
        yield world


async def next_due(world: Owned) -> float | None:
    """Return when the job is due next, in minutes after noon."""
    due = (await world.reads.job(TEAM, "job")).next_due_at
    return None if due is None else (due - NOON) / MINUTE


async def run_goes_on(world: Owned) -> None:
    """Make a job whose first run goes on at 12:16."""
    await world.owners.create(TEAM, FOLLOWING)
    world.now += 16 * MINUTE
    assert await world.fire() == 1


async def holds(world: Owned) -> bool:
    return all(audit.agrees and not audit.pending for audit in await world.audit())


async def test_a_new_job_is_due_after_its_delay(world: Owned) -> None:
    world.now += timedelta(seconds=0.5)
    made = await world.owners.create(TEAM, FOLLOWING)
    assert made.job.next_due_at == NOON + QUARTER + timedelta(seconds=1)


async def test_each_due_time_follows_the_end_before_it(world: Owned) -> None:
    await run_goes_on(world)
    assert await next_due(world) is None
    world.now += MINUTE
    assert (await world.follow(), await world.end(), await world.follow()) == (0, 1, 1)
    assert await next_due(world) == 32
    assert await world.rows() == [(15, "succeeded", 1)]
    assert await holds(world)


async def test_an_edit_of_something_else_leaves_the_chain_alone(world: Owned) -> None:
    await world.owners.create(TEAM, FOLLOWING)
    other = msgspec.structs.replace(FOLLOWING, timeout="1m")
    world.now += MINUTE
    assert (await world.owners.put(TEAM, other)).job.next_due_at == NOON + QUARTER
    world.now += 15 * MINUTE
    await world.fire()
    await world.owners.put(TEAM, FOLLOWING)
    await world.end()
    await world.owners.put(TEAM, other)
    assert await world.follow() == 1
    assert await next_due(world) == 31


async def test_a_new_delay_counts_from_the_change(world: Owned) -> None:
    await world.owners.create(TEAM, FOLLOWING)
    world.now += 5 * MINUTE
    changed = await world.owners.put(TEAM, QUICKER)
    assert (changed.skipped, await next_due(world)) == (0, 15)
    assert await holds(world)


async def test_a_new_delay_waits_for_the_run_that_goes_on(world: Owned) -> None:
    await run_goes_on(world)
    await world.owners.put(TEAM, QUICKER)
    assert await next_due(world) is None
    world.now += 14 * MINUTE
    await world.end()
    assert await world.follow() == 1
    assert await next_due(world) == 40


@pytest.mark.parametrize("change", ["changed", "paused", "deleted"])
async def test_a_due_time_that_has_passed_is_put_on_record_by_a_change(
    world: Owned, change: str
) -> None:
    await world.owners.create(TEAM, FOLLOWING)
    world.now += 20 * MINUTE
    match change:
        case "changed":
            changed = await world.owners.put(TEAM, QUICKER)
        case "paused":
            changed = await world.owners.pause(TEAM, "job")
        case _:
            changed = await world.owners.delete(TEAM, "job")
    assert changed.skipped == 1
    [finding] = await world.audit()
    assert (finding.skipped, finding.agrees) == ({change: 1}, True)


async def test_so_is_one_that_no_scheduler_has_found_yet(world: Owned) -> None:
    await run_goes_on(world)
    await world.end()
    world.now += 20 * MINUTE
    assert (await world.owners.put(TEAM, QUICKER)).skipped == 1
    assert await world.rows() == [(15, "succeeded", 1), (31, "changed", 1)]
    assert await next_due(world) == 46
    assert await holds(world)


async def test_a_claim_that_is_under_way_at_a_change_is_waited_for(world: Owned, dsn: str) -> None:
    made = await world.owners.create(TEAM, FOLLOWING)
    world.now += 15 * MINUTE
    other = await asyncpg.connect(dsn)
    try:
        await other.execute("SELECT ensure_day($1)", NOON.date())
        claim = other.transaction()
        await claim.start()
        await insert_by_hand(other, made.job.id, NOON + QUARTER)
        changing = asyncio.create_task(world.owners.put(TEAM, QUICKER))
        await waits_for_a_lock(other)
        await claim.commit()
        assert (await changing).skipped == 0
    finally:
        await other.close()
    assert await next_due(world) is None
    world.now += MINUTE
    await world.end()
    await world.follow()
    assert await next_due(world) == 26


async def test_nothing_is_due_in_a_pause_and_the_delay_begins_anew_after_it(world: Owned) -> None:
    await world.owners.create(TEAM, FOLLOWING)
    world.now += 5 * MINUTE
    await world.owners.pause(TEAM, "job")
    assert await next_due(world) is None
    world.now += 30 * MINUTE
    resumed = await world.owners.resume(TEAM, "job", "all")
    assert (resumed.skipped, resumed.queued, await next_due(world)) == (0, 0, 50)
    assert await world.rows() == []
    assert await holds(world)


@pytest.mark.parametrize(("ends", "due"), [("in the pause", 35), ("after it", 40)])
async def test_a_run_may_go_on_in_a_pause(world: Owned, ends: str, due: float) -> None:
    await run_goes_on(world)
    await world.owners.pause(TEAM, "job")
    world.now += 2 * MINUTE
    if ends == "in the pause":
        await world.end()
    assert await world.follow() == 0
    world.now += 2 * MINUTE
    await world.owners.resume(TEAM, "job")
    world.now += 5 * MINUTE
    await world.end()
    await world.follow()
    assert await next_due(world) == due


async def test_a_quarantined_job_owes_what_was_due_before_it_and_no_more(world: Owned) -> None:
    await world.owners.create(TEAM, FOLLOWING)
    world.now += 20 * MINUTE
    await world.quarantine()
    world.now += 40 * MINUTE
    resumed = await world.owners.resume(TEAM, "job")
    assert (resumed.skipped, await next_due(world)) == (1, 75)
    assert await world.rows() == [(15, "quarantined", 1)]
    assert await holds(world)


async def test_a_job_has_so_many_runs_also_over_a_pause(world: Owned) -> None:
    await world.owners.create(TEAM, spec(Schedule(every="15m", after="end", max_runs=2)))
    for due in (15, 30):
        world.now = NOON + due * MINUTE
        await world.fire()
        await world.end()
        assert await world.follow() == 1
        await world.owners.pause(TEAM, "job")
        resumed = await world.owners.resume(TEAM, "job")
        assert (resumed.job.next_due_at is None) == (due == 30)
    assert await world.follow() == 0
    assert await holds(world)


async def test_a_job_may_change_between_due_times_of_its_own_and_ends(world: Owned) -> None:
    await world.owners.create(TEAM, HOURLY)
    world.now += 65 * MINUTE
    await world.fire()
    await world.owners.put(TEAM, FOLLOWING)
    assert await next_due(world) is None
    await world.end()
    await world.follow()
    assert await next_due(world) == 80
    world.now += 20 * MINUTE
    await world.fire()
    await world.owners.put(TEAM, HOURLY)
    assert await next_due(world) == 120
    await world.end()
    assert await world.follow() == 0
    assert await holds(world)


async def test_a_due_time_in_which_a_calendar_is_closed_is_skipped_and_followed(
    world: Owned,
) -> None:
    closed = Item(dates="2026-03-02", label="Founders' Day")
    await world.calendars.put(TEAM, Calendar("holidays", exclude=[closed]))
    keeping = spec(Schedule(every="6h", after="end", calendars=["holidays"]))
    await world.owners.create(TEAM, keeping)
    world.now += timedelta(hours=6)
    await world.fire()
    assert await world.ledger() == [("03-02 18:00", "calendar holidays: Founders' Day")]
    assert await world.follow() == 1
    await world.calendars.put(TEAM, Calendar("holidays"))
    assert await next_due(world) == 720
    world.now += timedelta(hours=7)
    await world.fire()
    assert await world.ledger() == [
        ("03-02 18:00", "calendar holidays: Founders' Day"),
        ("03-03 00:00", "queued"),
    ]
    assert await holds(world)


async def test_a_passed_due_time_is_skipped_by_a_new_calendar_and_the_chain_goes_on(
    world: Owned,
) -> None:
    await world.calendars.put(TEAM, Calendar("holidays"))
    keeping = Schedule(every="15m", after="end", calendars=["holidays"])
    await world.owners.create(TEAM, spec(keeping))
    world.now += 20 * MINUTE
    await world.calendars.put(TEAM, Calendar("holidays", exclude=[Item(dates="2026-12-24")]))
    assert await world.rows() == [(15, "changed", 1)]
    assert (await world.follow(), await next_due(world)) == (1, 35)
    assert await holds(world)


async def test_the_next_occurrence_can_be_skipped_and_none_can_be_moved(world: Owned) -> None:
    await world.owners.create(TEAM, FOLLOWING)
    due = NOON + QUARTER
    with pytest.raises(InvalidInputError, match="follows the ends"):
        await world.owners.override(TEAM, "job", Override(due, NOON + timedelta(hours=1)))
    await world.owners.override(TEAM, "job", Override(due, reason="deploy"))
    assert await next_due(world) == 15
    world.now += 15 * MINUTE
    await world.fire()
    assert await world.rows() == [(15, "skipped by an override: deploy", 1)]
    assert (await world.follow(), await next_due(world)) == (1, 30)
    assert await holds(world)


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_owners_do_each_chain_is_whole_and_no_runs_overlap(
    world: Owned, seed: int
) -> None:
    rng = Random(seed)
    await world.owners.put(TEAM, _any_spec(rng))
    for _ in range(50):
        world.now += timedelta(seconds=rng.choice((0, 0.4, 30, 61, 600, 1000)))
        await _something(world, rng)
    await world.owners.put(TEAM, _any_spec(rng))
    await world.owners.resume(TEAM, "job")
    await world.fire()
    await world.end()
    await world.follow()
    findings = await world.audit()
    assert [finding for finding in findings if not finding.agrees or finding.pending] == []
    assert sum(finding.succeeded + finding.dead for finding in findings) > 0


@pytest.mark.parametrize("change", ["edited", "paused"])
async def test_a_claim_under_way_makes_no_run_of_a_job_that_is_changed_meanwhile(
    world: Owned, dsn: str, change: str
) -> None:
    await world.owners.create(TEAM, FOLLOWING)
    await world.owners.create(TEAM, HOURLY_TOO)
    world.now = NOON + 4 * QUARTER
    await world.fire("other")  # with its day's table
    other, onlooker = await asyncpg.connect(dsn), await asyncpg.connect(dsn)
    holding = other.transaction()
    await holding.start()
    await other.execute("SELECT FROM partitions FOR UPDATE")
    world.now = NOON + QUARTER
    claiming = asyncio.create_task(world.fire())
    await waits_for_a_lock(onlooker)  # it sees the job as it is now
    world.now -= timedelta(seconds=0.1)  # a change that read the clock before the claim began
    if change == "edited":
        await world.owners.put(TEAM, QUICKER)
    else:
        await world.owners.pause(TEAM, "job")
    await holding.rollback()
    assert await claiming == 0
    assert await world.rows() == []
    await other.close()
    await onlooker.close()


async def test_a_claim_does_not_wait_for_an_owner(world: Owned, dsn: str) -> None:
    await world.owners.create(TEAM, FOLLOWING)
    world.now = NOON + QUARTER
    owner = await asyncpg.connect(dsn)
    async with owner.transaction():
        await owner.execute("SELECT FROM jobs FOR UPDATE")
        assert await world.fire(advance=False) == 0
    assert await world.fire() == 1
    await owner.close()


async def _something(world: Owned, rng: Random) -> None:
    """Do what owners, schedulers or executors do."""
    match rng.randrange(10):
        case 0:
            await world.owners.put(TEAM, _any_spec(rng))
        case 1:
            await world.owners.pause(TEAM, "job")
        case 2 | 3:
            await world.owners.resume(TEAM, "job")
        case 4 | 5:
            await world.end()
        case 6 | 7:
            await world.follow()
        case _:
            await world.fire()
    async with world.database.session() as session:
        overlapping = await session.fetchval(
            "SELECT count(*) FROM runs r JOIN jobs j ON j.id = r.job_id"
            " WHERE r.finished_at IS NULL AND j.schedule ->> 'after' = 'end'"
            " AND r.due_at > j.since"
        )
    assert overlapping <= 1


def _any_spec(rng: Random) -> JobSpec:
    schedule = rng.choice(
        (
            Schedule(every="10m", after="end"),
            Schedule(every="40s", after="end"),
            Schedule(every="5m", after="end", max_runs=3),
            Schedule(every="7m", after="end", jitter="2m"),
            Schedule(cron="*/7 * * * *"),
        )
    )
    return spec(schedule, program=rng.choice(("true", "false")))
