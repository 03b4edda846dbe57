"""A change never fires a run, and no due time vanishes by it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from random import Random

import asyncpg
import msgspec
import pytest
from tests.sql.owned import (
    EVERY_MINUTE,
    MINUTE,
    NOON,
    TEAM,
    Owned,
    insert_by_hand,
    owned,
    spec,
    waits_for_a_lock,
)

from matins.domain.jobs.misfire import COUNT_MAX, Missed
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import ConflictError, InvalidInputError, NotFoundError
from matins.owners.recording import LOOK_MAX

HOURLY = spec(Schedule(cron="0 * * * *"))


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Owned]:
    async with owned(dsn) as world:
        yield world


async def test_a_new_job_is_due_after_its_creation_and_not_at_it(world: Owned) -> None:
    made = await world.owners.create(TEAM, EVERY_MINUTE)
    assert made.job.next_due_at == NOON + MINUTE


async def test_every_counts_from_the_second_of_creation(world: Owned) -> None:
    world.now = NOON + timedelta(seconds=7, milliseconds=900)
    made = await world.owners.create(TEAM, spec(Schedule(every="15m")))
    assert made.job.next_due_at == NOON + timedelta(minutes=15, seconds=7)


async def test_an_edit_that_keeps_the_schedule_keeps_what_is_due(world: Owned) -> None:
    await world.owners.create(TEAM, EVERY_MINUTE)
    world.now += 5 * MINUTE
    changed = await world.owners.put(TEAM, msgspec.structs.replace(EVERY_MINUTE, timeout="1m"))
    assert (changed.change, changed.skipped, changed.job.revision) == ("changed", 0, 2)
    assert changed.job.next_due_at == NOON + MINUTE
    assert await world.rows() == []
    assert await world.claim() == 5


async def test_a_new_schedule_counts_from_the_change_and_skips_what_lay_before(
    world: Owned,
) -> None:
    await world.owners.create(TEAM, EVERY_MINUTE)
    world.now += 3 * MINUTE
    changed = await world.owners.put(TEAM, HOURLY)
    assert (changed.change, changed.skipped, changed.queued) == ("changed", 3, 0)
    assert changed.job.next_due_at == NOON + timedelta(hours=1)
    assert await world.rows() == [(1, "changed", 1), (2, "changed", 1), (3, "changed", 1)]
    assert await world.queued() == 0


async def test_many_skipped_due_times_share_one_row(world: Owned) -> None:
    await world.owners.create(TEAM, EVERY_MINUTE)
    world.now += 11 * MINUTE
    paused = await world.owners.pause(TEAM, "job")
    assert paused.skipped == 11
    assert await world.rows() == [(1, "paused", 11)]


async def test_due_times_that_have_their_row_get_no_second_one(world: Owned) -> None:
    await world.owners.create(TEAM, EVERY_MINUTE)
    world.now += 20 * MINUTE
    assert await world.claim(newest=2, advance=False) == 2
    world.now += 3 * MINUTE
    deleted = await world.owners.delete(TEAM, "job")
    assert deleted.skipped == 18 + 3
    [finding] = await world.audit()
    assert (finding.due, finding.cancelled, finding.skipped) == (23, 2, {"deleted": 21})
    assert finding.agrees


async def test_a_job_without_a_schedule_owes_nothing(world: Owned) -> None:
    await world.owners.create(TEAM, spec(None))
    world.now += 5 * MINUTE
    assert (await world.owners.pause(TEAM, "job")).skipped == 0
    assert (await world.owners.resume(TEAM, "job", "all")).queued == 0


@pytest.mark.parametrize(
    ("missed", "queued", "rows"),
    [
        ("skip", 0, [(1, "paused", 1), (2, "paused", 1), (3, "paused", 1)]),
        ("last", 1, [(1, "paused", 1), (2, "paused", 1), (3, "queued", 1)]),
        ("all", 3, [(1, "queued", 1), (2, "queued", 1), (3, "queued", 1)]),
    ],
)
async def test_resuming_decides_about_what_was_missed(
    world: Owned, missed: Missed, queued: int, rows: list[tuple[int, str, int]]
) -> None:
    await world.owners.create(TEAM, EVERY_MINUTE)
    await world.owners.pause(TEAM, "job")
    world.now += 3 * MINUTE
    resumed = await world.owners.resume(TEAM, "job", missed)
    assert (resumed.skipped, resumed.queued) == (3 - queued, queued)
    assert resumed.job.next_due_at == NOON + 4 * MINUTE
    assert await world.rows() == rows
    assert await world.queued() == queued


async def test_all_of_very_much_is_the_newest_thousand(world: Owned) -> None:
    await world.owners.create(TEAM, EVERY_MINUTE)
    await world.owners.pause(TEAM, "job")
    world.now += (COUNT_MAX + 50) * MINUTE
    resumed = await world.owners.resume(TEAM, "job", "all")
    assert (resumed.skipped, resumed.queued) == (50, COUNT_MAX)
    assert await world.queued() == COUNT_MAX


async def test_a_job_mended_while_paused_can_still_catch_up(world: Owned) -> None:
    await world.owners.create(TEAM, EVERY_MINUTE)
    await world.owners.pause(TEAM, "job")
    world.now += 2 * MINUTE
    mended = await world.owners.put(TEAM, msgspec.structs.replace(EVERY_MINUTE, timeout="1m"))
    assert (mended.job.state, mended.job.next_due_at) == (JobState.PAUSED, None)
    world.now += 2 * MINUTE
    assert (await world.owners.resume(TEAM, "job", "all")).queued == 4


async def test_a_new_schedule_for_a_paused_job_closes_the_pause_of_the_old_one(
    world: Owned,
) -> None:
    await world.owners.create(TEAM, EVERY_MINUTE)
    await world.owners.pause(TEAM, "job")
    world.now += 2 * MINUTE
    changed = await world.owners.put(TEAM, HOURLY)
    assert (changed.skipped, changed.job.state) == (2, JobState.PAUSED)
    world.now += timedelta(hours=2)
    assert (await world.owners.resume(TEAM, "job", "all")).queued == 2
    assert all(finding.agrees for finding in await world.audit())


async def test_more_than_one_transaction_can_hold_is_put_on_record_in_pieces(world: Owned) -> None:
    await world.owners.create(TEAM, spec(Schedule(every="1s")))
    count = 2 * LOOK_MAX + COUNT_MAX + 5
    world.now += timedelta(seconds=count)
    paused = await world.owners.pause(TEAM, "job")
    assert paused.skipped == count
    counts = [row[2] for row in await world.rows()]
    assert counts == [LOOK_MAX, LOOK_MAX, COUNT_MAX + 5]
    world.now += timedelta(seconds=count)
    resumed = await world.owners.resume(TEAM, "job", "last")
    assert (resumed.skipped, resumed.queued) == (count - 1, 1)


async def test_a_claim_that_comes_between_wins_and_takes_no_other_along(
    world: Owned, dsn: str
) -> None:
    made = await world.owners.create(TEAM, EVERY_MINUTE)
    world.now += 20 * MINUTE
    other = await asyncpg.connect(dsn)
    try:
        await other.execute("SELECT ensure_day($1)", NOON.date())
        claim = other.transaction()
        await claim.start()
        await insert_by_hand(other, made.job.id, NOON + MINUTE)
        pausing = asyncio.create_task(world.owners.pause(TEAM, "job"))
        await waits_for_a_lock(other)
        await claim.commit()
        assert (await pausing).skipped == 19
    finally:
        await other.close()
    assert await world.rows() == [(1, "queued", 1), (2, "paused", 19)]


async def test_a_dry_run_tells_what_would_be_skipped_and_keeps_all_as_it_is(world: Owned) -> None:
    made = await world.owners.create(TEAM, EVERY_MINUTE)
    world.now += 5 * MINUTE
    told = await world.owners.put(TEAM, HOURLY, dry_run=True)
    assert (told.change, told.skipped) == ("changed", 5)
    kept = await world.reads.job(TEAM, "job")
    assert msgspec.structs.replace(kept, overdue="") == made.job
    assert await world.rows() == []


async def test_a_refused_job_leaves_nothing_behind(world: Owned) -> None:
    with pytest.raises(InvalidInputError, match="timeout"):
        await world.owners.put(TEAM, msgspec.structs.replace(EVERY_MINUTE, timeout="-1s"))
    with pytest.raises(NotFoundError):
        await world.reads.job(TEAM, "job")


async def test_a_quarantined_job_is_mended_by_a_new_schedule(world: Owned) -> None:
    made = await world.owners.create(TEAM, EVERY_MINUTE)
    async with world.database.session() as session:
        await session.execute(
            "UPDATE jobs SET state = 'quarantined', reason = 'broken', revision = 2,"
            " next_due_at = NULL, next_fire_at = NULL"
        )
        await session.execute(
            "INSERT INTO revisions SELECT id, 2, partition, $1, 'quarantined', anchor, spec"
            " FROM jobs",
            NOON + MINUTE,
        )
    with pytest.raises(ConflictError, match="quarantined"):
        await world.owners.pause(TEAM, "job")
    world.now += 3 * MINUTE
    mended = await world.owners.put(TEAM, HOURLY)
    assert (mended.job.state, mended.job.reason) == (JobState.ACTIVE, "")
    assert mended.job.id == made.job.id
    assert mended.skipped == 3


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_owners_do_every_due_time_is_accounted_for_once(
    world: Owned, seed: int
) -> None:
    rng = Random(seed)
    await world.owners.put(TEAM, _any_spec(rng))
    for _ in range(40):
        world.now += timedelta(seconds=rng.choice((0, 0.4, 30, 61, 600, 4000)))
        await _something(world, rng)
    await world.owners.put(TEAM, _any_spec(rng))
    await world.owners.resume(TEAM, "job", "all")
    await world.claim()
    findings = await world.audit()
    assert [finding for finding in findings if not finding.agrees or finding.pending] == []
    assert sum(finding.due for finding in findings) > 0


async def _something(world: Owned, rng: Random) -> None:
    """Do what owners or schedulers do."""
    match rng.randrange(8):
        case 0:
            await world.owners.put(TEAM, _any_spec(rng))
        case 1:
            await world.owners.pause(TEAM, "job")
        case 2:
            missed: Missed = rng.choice(("skip", "last", "all"))
            await world.owners.resume(TEAM, "job", missed)
        case 3 if rng.random() < 0.3:
            await world.owners.delete(TEAM, "job")
            await world.owners.create(TEAM, _any_spec(rng))
        case 4:
            await world.claim(newest=rng.randint(1, 3))
        case _:
            await world.claim(advance=rng.random() < 0.5)


def _any_spec(rng: Random) -> JobSpec:
    schedule = rng.choice(
        (
            Schedule(cron="* * * * *"),
            Schedule(cron="*/7 * * * *", jitter="2m"),
            Schedule(cron="30 2,13 * * *", timezone="Europe/Berlin"),
            Schedule(every="40s"),
            Schedule(at="2026-03-02T12:30:00Z"),
            None,
        )
    )
    return spec(schedule, program=rng.choice(("true", "false")))
