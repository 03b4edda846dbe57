"""A change that commits long after it read the clock is found by the next poll all the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import asyncpg
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, on_postgres

from matins.domain.runs.claims import BEGINNING
from matins.domain.values.ids import partition_of

JOB, OTHER = UUID(int=1), UUID(int=2)
PARTITIONS = {partition_of(JOB), partition_of(OTHER)}
HOUR = timedelta(hours=1)

REVISED = """
WITH changed AS (UPDATE jobs SET revision = revision + 1 WHERE id = $1 RETURNING *)
INSERT INTO revisions (job_id, revision, partition, effective_at, state, anchor, spec)
SELECT id, revision, partition, $2, state, anchor, spec FROM changed
"""


@pytest.fixture
async def ground(dsn: str) -> AsyncIterator[Ground]:
    ground, database = on_postgres(dsn)
    yield ground
    await database.close()


@pytest.fixture
async def owner(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """The session of an API in which a change is under way."""
    session = await asyncpg.connect(dsn)
    yield session
    await session.close()


async def polled(ground: Ground) -> set[tuple[UUID, int]]:
    """Return the jobs that a poll finds which looks back for nothing, and their revisions."""
    ground.clock.move(60)
    found = await ground.agenda.changed_jobs(PARTITIONS, ground.clock.now())
    return {(job.id, job.revision) for job in found}


async def load(ground: Ground) -> None:
    await ground.agenda.load(dict.fromkeys(PARTITIONS, BEGINNING), START, 9)


async def test_what_was_under_way_at_one_poll_is_found_by_the_next(
    ground: Ground, owner: asyncpg.Connection
) -> None:
    await ground.rows.add_job(JOB, SPEC)
    await polled(ground)
    change = owner.transaction()
    await change.start()
    await owner.execute(REVISED, JOB, ground.clock.now())
    assert await polled(ground) == set()
    assert await polled(ground) == set()
    await change.commit()
    assert await polled(ground) == {(JOB, 2)}
    assert await polled(ground) == set()


async def test_what_was_under_way_at_the_first_load_is_found_by_the_first_poll(
    ground: Ground, owner: asyncpg.Connection
) -> None:
    await ground.rows.add_job(JOB, SPEC)
    change = owner.transaction()
    await change.start()
    await owner.execute(REVISED, JOB, ground.clock.now())
    await load(ground)
    await change.commit()
    assert await polled(ground) == {(JOB, 2)}


async def test_what_began_and_ended_between_two_polls_is_found_however_old_it_says_it_is(
    ground: Ground, owner: asyncpg.Connection
) -> None:
    await ground.rows.add_job(JOB, SPEC)
    await ground.rows.add_job(OTHER, SPEC)
    await polled(ground)
    await owner.execute(REVISED, JOB, ground.clock.now() - HOUR / 2)
    await owner.execute(REVISED, OTHER, ground.clock.now() - 2 * HOUR)
    assert await polled(ground) == {(JOB, 2)}
