"""Jobs of the version before go on after a migration, also those that it still writes meanwhile."""

from __future__ import annotations

from uuid import UUID

import asyncpg
import pytest
from tests.conftest import empty_database
from tests.sql.owned import MINUTE, NOON, TEAM, owned, spec

from matins.domain.schedules.schedule import Override, Schedule
from matins.store.migrate import migrate, migrations

JOB = UUID(int=7)
WRITTEN = (
    """{"name": "job", "target": {"command": {"argv": ["true"]}}, "schedule": {"every": "1m"}}"""
)

# As the version with migration 1 alone makes a job.
INSERT = """
WITH made AS (
    INSERT INTO jobs (
        id, team_id, partition, name, revision, state, spec, schedule, misfire, pool, priority,
        anchor, created_at, changed_at, next_due_at, next_fire_at
    )
    SELECT $1, id, 0, 'job', 1, 'active', $2::jsonb, $2::jsonb -> 'schedule', '{}', 'default', 1,
           now, now, now, now + interval '1 minute', now + interval '1 minute'
    FROM teams, (SELECT $3::timestamptz) AS c (now)
    RETURNING *
)
INSERT INTO revisions (job_id, revision, partition, effective_at, state, anchor, spec)
SELECT id, revision, partition, changed_at, state, anchor, spec FROM made
"""


@pytest.mark.parametrize("written", ["before", "during"])
async def test_a_job_of_the_version_before_goes_on(postgres: str, written: str) -> None:
    async with empty_database(postgres) as dsn:
        session = await asyncpg.connect(dsn)
        await session.execute(migrations()[0].sql)
        await session.execute(
            "CREATE TABLE migrations (number int, name text, applied_at timestamptz)"
        )
        await session.execute("INSERT INTO migrations VALUES (1, '0001_first.sql', $1)", NOON)
        await session.execute("INSERT INTO teams (name, created_at) VALUES ($1, $2)", TEAM, NOON)
        if written == "before":
            await session.execute(INSERT, JOB, WRITTEN, NOON)
        await migrate(dsn)
        if written == "during":
            await session.execute(INSERT, JOB, WRITTEN, NOON)
        await session.close()
        async with owned(dsn) as world:
            world.now = NOON + 2 * MINUTE
            await world.fire()
            await world.owners.override(TEAM, "job", Override(NOON + 3 * MINUTE))
            world.now = NOON + 3 * MINUTE
            await world.fire()
            assert await world.rows() == [
                (1, "queued", 1),
                (2, "to be admitted", 1),  # of a job that says nothing of overlap
                (3, "skipped by an override", 1),
            ]
            await world.end()
            await world.owners.put(TEAM, spec(Schedule(every="2m", after="end")))
            world.now = NOON + 6 * MINUTE
            await world.fire()
            assert (await world.rows())[3:] == [(5, "queued", 1)]
            [audit] = await world.audit()
            assert audit.agrees
