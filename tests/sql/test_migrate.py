"""Migrations go on beside those who use the schema: nobody waits long behind one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import pytest
from tests.conftest import empty_database
from tests.e2e.cluster import until

from matins.domain.jobs.misfire import Misfire
from matins.domain.schedules.schedule import Override
from matins.domain.values.errors import UnavailableError
from matins.store import migrate as migrating
from matins.store.database import session_settings
from matins.store.migrate import LOCK_S, Migration, migrate, migrations

EVERY = migrations()
WAITS = "SELECT FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
BUILDS = "SELECT FROM pg_stat_progress_create_index"
SLOW_INDEX = Migration(
    9001,
    "9001_jobs_team.sql",
    "-- concurrently\nCREATE INDEX CONCURRENTLY IF NOT EXISTS jobs_team ON jobs (team_id);\n",
)


@pytest.fixture
async def dsn(postgres: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """A database of the version with the first migration alone."""
    async with empty_database(postgres) as dsn:
        monkeypatch.setattr(migrating, "migrations", lambda: EVERY[:1])
        await migrate(dsn)
        monkeypatch.setattr(migrating, "migrations", lambda: EVERY)
        monkeypatch.setattr(migrating, "PAUSES_S", (0.1,))
        yield dsn


async def test_claims_go_on_while_a_migration_waits_for_a_reader(dsn: str) -> None:
    reader, claimer = await _reading(dsn), await _claiming(dsn)
    migration = asyncio.create_task(migrate(dsn))
    for _ in range(2):  # each of its tries
        await until(lambda: _is_any(claimer, WAITS), 30, 0.01)
        await claimer.fetch("SELECT id FROM jobs WHERE id = $1", UUID(int=1))
    assert not migration.done()
    await reader.close()
    assert await migration == [migration.name for migration in EVERY[1:]]
    await claimer.close()


async def test_who_is_in_the_way_for_too_long_is_named(dsn: str) -> None:
    reader = await _reading(dsn)
    with pytest.raises(UnavailableError, match=rf"session {reader.get_server_pid()} \(pg_dump of"):
        await migrate(dsn, patience_s=0)
    await reader.close()


async def test_what_was_applied_before_it_had_to_give_up_stays_applied(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    teams = Migration(9000, "9000_teams.sql", "ALTER TABLE teams ADD COLUMN colour text")
    monkeypatch.setattr(migrating, "migrations", lambda: [EVERY[0], teams, EVERY[1]])
    reader = await _reading(dsn)
    with pytest.raises(UnavailableError):
        await migrate(dsn, patience_s=0)
    await reader.close()
    assert await migrate(dsn) == [EVERY[1].name]


async def test_an_index_is_built_while_others_write(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "migrations", lambda: [EVERY[0], SLOW_INDEX])
    reader, claimer = await _reading(dsn), await _claiming(dsn)
    migration = asyncio.create_task(migrate(dsn))
    await until(lambda: _is_any(claimer, BUILDS), 30, 0.01)  # it waits for the reader's snapshot
    await claimer.execute("UPDATE jobs SET pool = pool")
    assert not migration.done()
    await reader.close()
    assert await migration == [SLOW_INDEX.name]
    await claimer.close()


async def test_an_index_whose_build_was_interrupted_is_built_anew(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await _claiming(dsn)
    reader = await _reading(dsn)
    await session.execute("SET lock_timeout = 1")
    with pytest.raises(asyncpg.LockNotAvailableError):
        await session.execute(SLOW_INDEX.sql)
    await reader.close()
    broken = "SELECT FROM pg_index WHERE indexrelid = 'jobs_team'::regclass AND NOT indisvalid"
    assert await _is_any(session, broken)
    monkeypatch.setattr(migrating, "migrations", lambda: [EVERY[0], SLOW_INDEX])
    assert await migrate(dsn) == [SLOW_INDEX.name]
    assert not await _is_any(session, broken)
    await session.close()


async def test_two_who_migrate_at_once_apply_each_migration_once(dsn: str) -> None:
    both = await asyncio.gather(migrate(dsn), migrate(dsn))
    assert sorted(both) == [[], [migration.name for migration in EVERY[1:]]]


def test_a_migration_waits_for_locks_more_briefly_than_a_claim_does() -> None:
    claim = session_settings("claim", by_key_only=True, deadline_s=5)
    assert int(claim["lock_timeout"]) / 2 > LOCK_S * 1000


async def _reading(dsn: str) -> asyncpg.Connection:
    """Return a session that reads the jobs for a long time, as pg_dump does."""
    session = await asyncpg.connect(dsn, server_settings={"application_name": "pg_dump"})
    await session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    await session.fetch("SELECT count(*) FROM jobs")
    return session


async def _claiming(dsn: str) -> asyncpg.Connection:
    settings = session_settings("claim", by_key_only=True, deadline_s=5)
    session: asyncpg.Connection = await asyncpg.connect(dsn, server_settings=settings)
    return session


async def _is_any(session: asyncpg.Connection, sql: str) -> bool:
    return bool(await session.fetch(sql))


async def test_overrides_keep_their_reasons_under_the_new_name(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [migration for migration in EVERY if migration.number < 15]
    monkeypatch.setattr(migrating, "migrations", lambda: before)
    await migrate(dsn)
    session = await asyncpg.connect(dsn)
    await session.execute("INSERT INTO teams (name, created_at) VALUES ('team', now())")
    await session.execute(
        """
        INSERT INTO jobs (id, team_id, partition, name, revision, state, spec, pool, priority,
                          anchor, created_at, changed_at, misfire, overrides)
        SELECT gen_random_uuid(), id, 1, 'job', 1, 'active', '{}', 'default', 1, now(), now(),
               now(), '{}', '[{"due_at": "2026-12-24T00:00:00Z", "why": "say \\"why\\": no"}]'
        FROM teams
        """
    )
    monkeypatch.setattr(migrating, "migrations", lambda: EVERY)
    await migrate(dsn)
    text = await session.fetchval("SELECT overrides::text FROM jobs")
    await session.close()
    assert msgspec.json.decode(text, type=list[Override])[0].reason == 'say "why": no'


OLD_JOBS = {
    "silent": ("{}", "{}", ("all", "1d")),
    "newest": ('{"policy": "last"}', '{"misfire": {"policy": "last"}}', ("last", "1d")),
    "explicit": (
        '{"policy": "skip", "max_age": "2h"}',
        '{"misfire": {"policy": "skip", "max_age": "2h"}}',
        ("skip", "2h"),
    ),
}
"""What stood in `misfire` and `spec` of jobs, and the policy and bound of age that this meant."""


async def test_jobs_keep_the_misfire_policy_that_was_the_default(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = {name: (misfire, spec) for name, (misfire, spec, _) in OLD_JOBS.items()}
    rows = await _migrated_jobs(dsn, monkeypatch, old | {"broken": ("7", "{}")}, before=18)
    assert rows.pop("broken")
    for name, row in rows.items():
        for told in (row["misfire"], row["spec"]["misfire"], row["revision"]["misfire"]):
            policy = msgspec.convert(told, type=Misfire)
            assert (policy.policy, policy.max_age) == OLD_JOBS[name][2]
    assert len(rows) == len(OLD_JOBS)


_COMMAND, _HTTP = '{"command": {"argv": ["true"]}}', '{"http": {"url": "http://127.0.0.1:9"}}'
OLD_RETRIES = {
    "command": (f'{{"target": {_COMMAND}}}', {"attempts": 3}),
    "command that says it": (
        f'{{"target": {_COMMAND}, "retry": {{"attempts": 1}}}}',
        {"attempts": 1},
    ),
    "command that says another": (
        f'{{"target": {_COMMAND}, "retry": {{"lost": 2}}}}',
        {"attempts": 3, "lost": 2},
    ),
    "http": (f'{{"target": {_HTTP}}}', None),
    "no target": ('{"target": 7}', None),
    "no policy": (f'{{"target": {_COMMAND}, "retry": 7}}', 7),
}
"""What stood in `spec` of jobs, and what then stands in its `retry`."""


async def test_jobs_keep_the_attempts_that_were_the_default(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = {name: ("{}", spec) for name, (spec, _) in OLD_RETRIES.items()}
    rows = await _migrated_jobs(dsn, monkeypatch, old, before=30)
    assert {name: row["spec"].get("retry") for name, row in rows.items()} == {
        name: kept for name, (_, kept) in OLD_RETRIES.items()
    }
    assert all(row["spec"] == row["revision"] for row in rows.values())


async def _migrated_jobs(
    dsn: str,
    monkeypatch: pytest.MonkeyPatch,
    old: Mapping[str, tuple[str, str]],
    *,
    before: int,
) -> dict[str, dict[str, Any]]:
    """Return jobs by name, with their first revision, that were there before a migration."""
    monkeypatch.setattr(
        migrating,
        "migrations",
        lambda: [migration for migration in EVERY if migration.number < before],
    )
    await migrate(dsn)
    session = await asyncpg.connect(dsn)
    await session.execute("INSERT INTO teams (name, created_at) VALUES ('team', now())")
    for name, (misfire, spec) in old.items():
        await session.execute(
            """
            WITH made AS (
                INSERT INTO jobs (id, team_id, partition, name, revision, state, spec, pool,
                                  priority, anchor, created_at, changed_at, misfire)
                SELECT gen_random_uuid(), id, 1, $1, 1, 'active', $3, 'default', 1, now(), now(),
                       now(), $2
                FROM teams
                RETURNING *
            )
            INSERT INTO revisions (job_id, revision, partition, effective_at, state, anchor, spec)
            SELECT id, revision, partition, changed_at, state, anchor, spec FROM made
            """,
            *(name, misfire, spec),
        )
    monkeypatch.setattr(migrating, "migrations", lambda: EVERY)
    await migrate(dsn)
    rows = await session.fetch(
        """
        SELECT j.name, j.misfire::text AS misfire, j.spec::text AS spec, r.spec::text AS revision
        FROM jobs j JOIN revisions r ON r.job_id = j.id
        """
    )
    await session.close()
    return {
        row["name"]: {
            column: msgspec.json.decode(row[column]) for column in ("misfire", "spec", "revision")
        }
        for row in rows
    }
