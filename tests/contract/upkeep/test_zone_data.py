"""Next due times follow the zone data, on memory and on PostgreSQL."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from tests.contract.ports.ground import SPEC, START, Ground, Row, claim

from matins.domain.runs.claims import Advance
from matins.domain.schedules.schedule import Schedule
from matins.domain.time.zones import data_version
from matins.testing.virtual import VirtualClock, VirtualTime
from matins.upkeep.zone_data import REASON, ZoneDataSync

TEAM = "default"
HOUR = timedelta(hours=1)
HOUR_S = 3600.0
HOURLY = msgspec.structs.replace(SPEC, schedule=Schedule(cron="0 * * * *"))
RIGHT = START + HOUR
OLDER, NEWER = "1999z", "2999a"


async def sync(ground: Ground) -> None:
    """Let the upkeep compare, and correct, if it is time."""
    clock, stopping = VirtualClock(VirtualTime()), asyncio.Event()
    upkeep = ground.owners.upkeep
    await ZoneDataSync(ground.due_times, upkeep, ground.hints, clock, stopping).sync()


async def make(ground: Ground, next_due: datetime, version: str = OLDER) -> UUID:
    """Make a job, and let other zone data have said what is its next due time."""
    job = (await ground.owners.jobs.put(TEAM, HOURLY)).job.id
    await ground.rows.told_by_older_data(job, next_due, version)
    return job


async def next_due(ground: Ground, job: UUID) -> tuple[datetime | None, int]:
    """Return a job's next due time, and its revision."""
    [found] = await ground.agenda.find_jobs([job])
    return found.next_due_at, found.revision


async def version(ground: Ground) -> str | None:
    """Return the version that is recorded."""
    return (await ground.due_times.computed_with()).version


async def test_the_first_scheduler_records_its_version_and_corrects_nothing(
    ground: Ground,
) -> None:
    job = (await ground.owners.jobs.put(TEAM, HOURLY)).job.id
    assert await version(ground) is None
    await sync(ground)
    assert await version(ground) == data_version()
    assert await next_due(ground, job) == (RIGHT, 1)


async def test_newer_data_corrects_what_lies_ahead_as_a_new_revision(ground: Ground) -> None:
    job = await make(ground, RIGHT + HOUR)
    await sync(ground)
    assert await next_due(ground, job) == (RIGHT, 2)
    assert await version(ground) == data_version()
    assert await ground.rows.runs(job) == []


async def test_what_is_right_already_is_left_untouched(ground: Ground) -> None:
    job = await make(ground, RIGHT)
    await sync(ground)
    assert await next_due(ground, job) == (RIGHT, 1)


async def test_a_due_time_that_moves_before_now_is_skipped(ground: Ground) -> None:
    job = await make(ground, RIGHT + 9 * HOUR)
    ground.clock.move(2.5 * HOUR_S)
    await sync(ground)
    assert await next_due(ground, job) == (START + 3 * HOUR, 2)
    assert await ground.rows.runs(job) == [
        Row(HOUR_S, "skipped", REASON),
        Row(2 * HOUR_S, "skipped", REASON),
    ]


async def test_a_due_time_that_has_its_row_gets_no_other(ground: Ground) -> None:
    job = (await ground.owners.jobs.put(TEAM, HOURLY)).job.id
    ground.clock.move(HOUR_S)
    epochs = await ground.all_leases(UUID(int=1))
    await ground.agenda.claim(UUID(int=1), epochs, [claim(job, RIGHT)])
    await ground.advance(Advance(job, 1, RIGHT + HOUR, RIGHT + HOUR, RIGHT))
    await ground.rows.told_by_older_data(job, RIGHT + 5 * HOUR, OLDER)
    await sync(ground)
    assert await next_due(ground, job) == (RIGHT + HOUR, 2)
    assert await ground.rows.runs(job) == [Row(HOUR_S, "queued")]


async def test_older_data_than_recorded_corrects_nothing(ground: Ground) -> None:
    job = await make(ground, RIGHT + HOUR, NEWER)
    ground.clock.move(60)
    await sync(ground)
    assert await next_due(ground, job) == (RIGHT + HOUR, 1)
    assert await version(ground) == NEWER


async def test_the_same_data_is_compared_again_after_an_hour(ground: Ground) -> None:
    job = await make(ground, RIGHT + 9 * HOUR, data_version())
    ground.clock.move(HOUR_S - 1)
    await sync(ground)
    assert await next_due(ground, job) == (RIGHT + 9 * HOUR, 1)
    ground.clock.move(1)
    await sync(ground)
    assert (await next_due(ground, job))[1] == 2


async def test_a_job_that_is_due_or_has_changed_since_is_not_corrected(ground: Ground) -> None:
    job = await make(ground, RIGHT + HOUR)
    [scheduled] = await ground.due_times.jobs_ahead(UUID(int=0), ground.clock.now(), 9)
    correction = scheduled.correction(ground.clock.now(), None)
    assert correction is not None
    ground.clock.move(HOUR_S)
    assert await ground.due_times.correct([correction]) == 0
    ground.clock.move(-HOUR_S)
    await ground.rows.revise(job)
    assert await ground.due_times.correct([correction]) == 0


async def test_a_job_that_follows_the_ends_of_its_runs_is_left_alone(ground: Ground) -> None:
    spec = msgspec.structs.replace(SPEC, schedule=Schedule(every="1h", after="end"))
    await ground.owners.jobs.put(TEAM, spec)
    assert await ground.due_times.jobs_ahead(UUID(int=0), ground.clock.now(), 9) == []
