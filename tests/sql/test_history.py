"""Days that are over leave the tables of the hot statements, and nobody else notices."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from uuid import UUID

import asyncpg
import pytest
from tests.conftest import empty_database
from tests.sql.owned import EVERY_MINUTE, MINUTE, NOON, TEAM, spec
from tests.sql.upkept import Upkept, upkept

from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import ConflictError
from matins.store import migrate as migrating
from matins.store.database import session_settings
from matins.store.migrate import migrations
from matins.store.past import day_ranges
from matins.store.queries import load_queries

DAY = timedelta(days=1)
TODAY = NOON.date()
LISTED = {RunState.SUCCEEDED, RunState.SKIPPED}


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Upkept]:
    async with upkept(dsn) as world:
        yield world


async def test_a_day_that_is_over_leaves_the_hot_tables_with_its_rows(world: Upkept) -> None:
    await ended_runs(world)
    await world.work()
    assert await parent(world, "runs") == "runs"
    world.now += 2 * DAY
    await world.work()
    assert await parent(world, "runs") == "past_runs"
    assert await parent(world, "attempts") == "past_attempts"


async def test_owners_see_what_is_over_as_before(world: Upkept) -> None:
    await ended_runs(world)
    before = await all_answers(world)
    world.now += 2 * DAY
    await world.work()
    assert await all_answers(world) == before


async def test_a_run_that_is_over_for_long_cannot_be_cancelled(world: Upkept) -> None:
    await ended_runs(world)
    world.now += 2 * DAY
    await world.work()
    [run, _] = (await world.reads.runs_of_job(TEAM, "job", None, 10)).runs
    with pytest.raises(ConflictError, match="succeeded"):
        await world.manual.cancel(run.id)


async def test_a_day_stays_as_long_as_one_of_its_runs_goes_on(world: Upkept) -> None:
    await ended_runs(world)
    await world.execute(
        "UPDATE runs SET state = 'queued', finished_at = NULL WHERE due_at = $1", NOON + MINUTE
    )
    world.now += 9 * DAY
    await world.work()
    assert await parent(world, "runs") == "runs"
    await world.end()
    await world.work()
    assert await parent(world, "runs") == "past_runs"


async def test_a_day_stays_until_what_follows_its_runs_is_written(world: Upkept) -> None:
    await world.owners.create(TEAM, spec(Schedule(every="1m", after="end")))
    world.now += MINUTE
    assert await world.fire() == 1
    world.now += 2 * DAY
    await world.end()
    await world.work()
    assert await parent(world, "runs") == "runs"
    assert await world.follow() == 1
    await world.work()
    assert await parent(world, "runs") == "past_runs"


async def test_a_due_time_of_a_day_that_is_over_is_not_claimed_again(world: Upkept) -> None:
    await ended_runs(world)
    old = await world.claims_at(NOON + MINUTE)
    new = await world.claims_at(NOON + 9 * MINUTE)
    world.now += 2 * DAY
    await world.work()
    answer = await world.send([*old, *new])
    assert answer.made == {new[0].run_id}
    assert await parent(world, "runs") == "runs"


async def test_nothing_waits_for_a_move_that_waits_for_a_long_read(world: Upkept) -> None:
    """PG-14."""
    await ended_runs(world)
    new = await world.claims_at(NOON + 9 * MINUTE)
    world.now += 2 * DAY
    async with world.other.transaction() as session:
        await session.execute("SELECT FROM runs LIMIT 1")
        await world.work()
        assert await parent(world, "runs") == "runs"
        assert len((await world.send(new)).made) == 1


async def test_a_move_that_was_cut_off_is_made_at_the_next_time(world: Upkept) -> None:
    await ended_runs(world)
    table = f"runs_{TODAY:%Y%m%d}"
    with pytest.raises(asyncpg.UniqueViolationError):
        await world.execute(f"CREATE UNIQUE INDEX CONCURRENTLY {table}_team ON {table} (pool)")
    world.now += 2 * DAY
    await world.work()
    assert await parent(world, "runs") == "past_runs"


async def test_a_hot_statement_locks_no_more_tables_for_days_that_are_over(world: Upkept) -> None:
    before = await locks_of_hot_statements(world)
    for day in range(2, 42):
        await world.execute("SELECT ensure_day($1)", TODAY - day * DAY)
    assert await locks_of_hot_statements(world) != before
    await world.work()
    assert await locks_of_hot_statements(world) == before


async def test_nothing_moves_in_the_hour_after_the_migration_of_a_used_database(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = migrations()
    before = [migration for migration in every if migration.name < "0010_history.sql"]
    async with empty_database(postgres) as dsn:
        monkeypatch.setattr(migrating, "migrations", lambda: before)
        await migrating.migrate(dsn)
        session = await asyncpg.connect(dsn)
        now = await session.fetchval("SELECT clock_timestamp()")
        old = now - 3 * DAY
        await session.execute("SELECT ensure_day($1)", old.date())
        await session.execute(OLD_RUN, old)
        await session.close()
        monkeypatch.setattr(migrating, "migrations", lambda: every)
        await migrating.migrate(dsn)
        async with upkept(dsn) as world:
            world.now = now + timedelta(minutes=50)
            await world.work()
            assert await parent(world, "runs", old.date()) == "runs"
            world.now += timedelta(minutes=20)
            await world.work()
            assert await parent(world, "runs", old.date()) == "past_runs"


@pytest.mark.parametrize("kind", ["runs", "attempts"])
async def test_past_tables_are_as_the_hot_ones(world: Upkept, kind: str) -> None:
    async with world.database.session() as session:
        columns = [
            await session.fetch(
                "SELECT attname, atttypid, attnotnull FROM pg_attribute"
                " WHERE attrelid = $1::text::regclass AND attnum > 0 ORDER BY attname",
                name,
            )
            for name in (kind, f"past_{kind}", f"all_{kind}")
        ]
    assert columns[0] == columns[1]
    assert [column["attname"] for column in columns[0]] == [
        column["attname"] for column in columns[2]
    ]


async def test_ranges_leave_out_no_day_and_none_comes_twice(world: Upkept) -> None:
    for day in (100, 64, 65, 1):
        await world.execute("SELECT ensure_day($1)", TODAY - day * DAY)
    found = [days async for days in day_ranges(world.database.fetch)]
    assert found[-1].first <= NOON - 100 * DAY
    assert all(later.first >= earlier.past for later, earlier in pairwise(found))
    for row in await _days(world):
        at = datetime.combine(row["day"], time.min, UTC)
        assert sum(days.first <= at < days.past for days in found) == 1
    [first, *_] = [days async for days in day_ranges(world.database.fetch, NOON - 64 * DAY)]
    assert first.past == datetime(2025, 12, 29, tzinfo=UTC)


async def _days(world: Upkept) -> list[asyncpg.Record]:
    async with world.database.session() as session:
        rows: list[asyncpg.Record] = await session.fetch("SELECT day FROM days")
        return rows


async def test_years_without_a_day_are_no_ranges(world: Upkept) -> None:
    """An occurrence that was skipped far ahead has its row there."""
    before = [days async for days in day_ranges(world.database.fetch)]
    await world.execute("SELECT ensure_day($1)", TODAY + 1500 * DAY)
    [far, *rest] = [days async for days in day_ranges(world.database.fetch)]
    assert far.past == datetime.combine(TODAY + 1501 * DAY, time.min, UTC)
    assert rest[0].past > NOON
    assert len(rest) <= len(before) + 1


OLD_RUN = """
INSERT INTO runs (id, job_id, due_at, fire_at, claimed_at, finished_at, epoch, team_id, partition,
                  priority, kind, state, pool)
VALUES (gen_random_uuid(), gen_random_uuid(), $1, $1, $1, $1, 0, 1, 0, 1, 'manual', 'succeeded', '')
"""

HOT = {
    "dispatch.sql": (
        "dequeue",
        "running_runs",
        "record",
        "which_recorded",
        "to_stop",
        "put_back",
        "abandoned_runs",
    ),
    "claims.sql": ("claim", "claim_rest"),
    "waiting.sql": ("candidates", "carry_out"),
    "following.sql": ("ended_runs",),
}


async def ended_runs(world: Upkept) -> None:
    """Two runs of a job that have ended; it goes on."""
    await world.owners.create(TEAM, EVERY_MINUTE)
    world.now += 2 * MINUTE
    assert await world.fire() == 2
    await world.end()


async def parent(world: Upkept, kind: str, day: date = TODAY) -> str:
    """Below which table the one of a day hangs."""
    async with world.database.session() as session:
        name: str = await session.fetchval(
            "SELECT inhparent::regclass::text FROM pg_inherits WHERE inhrelid = to_regclass($1)",
            f"{kind}_{day:%Y%m%d}",
        )
        return name


async def all_answers(world: Upkept) -> list[object]:
    """Return what owners are told of the runs of the first day."""
    page = await world.reads.runs_of_job(TEAM, "job", None, 10)
    assert len(page.runs) == 2
    ids: list[UUID] = [run.id for run in page.runs]
    audits = await world.audits.page(TEAM, None, NOON, NOON + 2 * MINUTE, None)
    return [
        page.runs,
        await world.reads.runs(TEAM, list(LISTED), NOON, None, 10),
        await world.reads.runs(None, list(LISTED), NOON, None, 10),
        sorted(await world.reads.statuses(ids), key=lambda status: status.id),
        [await world.reads.attempts(run) for run in ids],
        [(job.due, job.missing, job.unexpected) for job in audits.jobs],
    ]


async def locks_of_hot_statements(world: Upkept) -> dict[str, int]:
    """Return how many tables and indexes each statement locks by its generic plan."""
    settings = session_settings("locks", by_key_only=True, deadline_s=10)
    session = await asyncpg.connect(world.database.server.dsn, server_settings=settings)
    locks = {}
    for file, names in HOT.items():
        for name in names:
            query = load_queries(file)[name]
            async with session.transaction():
                await session.fetch(query.sql, *([None] * len(query.parameters)))
                locks[name] = await session.fetchval(
                    "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()"
                )
    await session.close()
    return locks
