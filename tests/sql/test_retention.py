"""Runs are kept as long as their owners say, and what is kept is never in doubt."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
from tests.sql.owned import EVERY_MINUTE, MINUTE, NOON, TEAM, spec
from tests.sql.upkept import Upkept, upkept

from matins.domain.jobs.keeping import DAYS, Keep, KeepLimits
from matins.domain.jobs.spec import JobSpec
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import NotFoundError
from matins.kernel.settings import Settings
from matins.store.teams import PostgresTeams

DAY = timedelta(days=1)
HOURLY = Schedule(cron="0 * * * *")


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Upkept]:
    async with upkept(dsn) as world:
        yield world


async def test_after_the_usual_time_a_day_is_dropped(world: Upkept) -> None:
    """RC-14: as a table, whatever it holds."""
    await runs(world, EVERY_MINUTE, 2)
    await after(world, DAYS * DAY)
    assert len(await world.rows()) == 2
    await after(world, 2 * DAY)
    assert await world.rows() == []
    assert not await exists(world, "runs_20260302")


async def test_the_usual_time_is_a_setting(world: Upkept) -> None:
    world.settings = Settings(keep_days=7)
    await runs(world, named("usual", None), 2)
    await runs(world, named("long", Keep(days=20)), 2)
    await after(world, 6 * DAY)
    assert len(await world.rows("usual")) == 2
    await after(world, 2 * DAY)
    assert (await world.rows("usual"), len(await world.rows("long"))) == ([], 2)
    await after(world, 14 * DAY)
    assert not await exists(world, "runs_20260302")


async def test_an_audit_judges_nothing_whose_rows_were_purged(world: Upkept) -> None:
    await runs(world, EVERY_MINUTE, 2)
    await after(world, (DAYS + 2) * DAY)
    page = await world.audits.page(TEAM, None, NOON, NOON + 5 * MINUTE, None)
    [job] = page.jobs
    assert (job.due, job.missing, job.holds) == (0, [], True)
    assert job.judged_from is not None
    assert job.judged_from > NOON + 5 * MINUTE


async def test_a_job_that_keeps_less_loses_its_rows_alone(world: Upkept) -> None:
    await runs(world, named("short", Keep(days=5)), 2)
    await runs(world, named("long", None), 2)
    await after(world, 6 * DAY)
    assert (await world.rows("short"), len(await world.rows("long"))) == ([], 2)
    [long, short] = (await world.audits.page(TEAM, None, NOON, NOON + 2 * MINUTE, None)).jobs
    assert (long.judged_from, long.due) == (None, 1)
    assert short.judged_from is not None
    assert short.holds


async def test_a_job_that_keeps_more_outlives_the_usual_time(world: Upkept) -> None:
    await runs(world, named("long", Keep(days=400)), 2)
    await runs(world, named("usual", None), 2)
    await after(world, (DAYS + 2) * DAY)
    assert (len(await world.rows("long")), await world.rows("usual")) == (2, [])
    await after(world, 400 * DAY)
    assert await world.rows("long") == []


async def test_so_many_runs_are_kept_and_no_more(world: Upkept) -> None:
    await runs(world, named("few", Keep(runs=2)), 5)
    await after(world, 3 * DAY)
    assert [row[0] for row in await world.rows("few")] == [4, 5]


async def test_runs_that_did_not_succeed_are_kept_apart(world: Upkept) -> None:
    await runs(world, named("apart", Keep(days=5, others=KeepLimits(days=20))), 3)
    await cancel(world, NOON + 2 * MINUTE)
    await after(world, 6 * DAY)
    assert [row[0] for row in await world.rows("apart")] == [2]
    await after(world, 15 * DAY)
    assert await world.rows("apart") == []


async def test_a_job_keeps_what_its_team_says_unless_it_says_otherwise(world: Upkept) -> None:
    await runs(world, named("silent", None), 1)
    await runs(world, named("own", Keep(days=30)), 1)
    await PostgresTeams(world.database).put_keep(TEAM, Keep(days=5))
    await after(world, 6 * DAY)
    assert (await world.rows("silent"), len(await world.rows("own"))) == ([], 1)


async def test_an_open_dead_letter_stays_with_its_attempts(world: Upkept) -> None:
    """RC-14."""
    await runs(world, EVERY_MINUTE, 3)
    run = await die(world, NOON + MINUTE)
    await after(world, (DAYS + 2) * DAY)
    assert not await exists(world, "runs_20260302")
    assert [row[0] for row in await world.rows()] == [1]
    [status] = await world.reads.statuses([run])
    assert status.state == "dead"
    assert len(await world.reads.attempts(run)) == 1


async def test_a_letter_that_was_dismissed_goes_with_its_run(world: Upkept) -> None:
    await runs(world, EVERY_MINUTE, 3)
    await die(world, NOON + MINUTE)
    await world.execute("UPDATE dead_letters SET dismissed_at = now()")
    await after(world, (DAYS + 2) * DAY)
    assert (await world.rows(), await letters(world)) == ([], 0)


async def test_so_it_does_where_a_job_keeps_less(world: Upkept) -> None:
    await runs(world, named("short", Keep(days=5)), 3)
    await die(world, NOON + MINUTE)
    await world.execute("UPDATE dead_letters SET dismissed_at = now()")
    await after(world, 6 * DAY)
    assert (await world.rows("short"), await letters(world)) == ([], 0)


async def test_a_dead_letter_outlives_the_days_of_a_job_that_keeps_less(world: Upkept) -> None:
    await runs(world, named("short", Keep(days=5)), 3)
    await die(world, NOON + MINUTE)
    await after(world, 6 * DAY)
    assert [row[0] for row in await world.rows("short")] == [1]


async def test_a_run_that_goes_on_stays_however_old_it_is(world: Upkept) -> None:
    await world.owners.create(TEAM, named("short", Keep(days=5)))
    world.now += MINUTE
    await world.fire("short")
    await after(world, (DAYS + 2) * DAY)
    assert len(await world.rows("short")) == 1


async def test_runs_that_count_are_kept_until_all_of_them_were_due(world: Upkept) -> None:
    schedule = Schedule(every="1m", after="end", max_runs=2)
    await world.owners.create(TEAM, spec(schedule))
    world.now += MINUTE
    assert await world.fire() == 1
    world.now += 2 * DAY
    await world.end()
    await world.follow()
    await after(world, (DAYS + 2) * DAY)
    assert len(await world.rows()) == 1
    assert await world.fire() == 1
    await world.end()
    assert await world.follow() == 1
    assert (await world.job()).next_due_at is None


async def test_what_is_purged_is_in_the_archive_first(world: Upkept, tmp_path: Path) -> None:
    world.settings = Settings(archive=tmp_path / "archive")
    await runs(world, EVERY_MINUTE, 2)
    await runs(world, named("short", Keep(days=5)), 1)
    await attempt(world, NOON + MINUTE)
    await after(world, 6 * DAY)
    assert [row["job"] for row in archived(tmp_path)] == ["short"]
    await after(world, DAYS * DAY)
    lines = archived(tmp_path)
    assert [line["job"] for line in lines] == ["short", "job", "job"]
    assert [line["due_at"] for line in lines[1:]] == [
        "2026-03-02T12:01:00+00:00",
        "2026-03-02T12:02:00+00:00",
    ]
    assert [len(line["attempts"]) for line in lines[1:]] == [1, 0]


async def test_nothing_is_purged_that_cannot_be_archived(world: Upkept, tmp_path: Path) -> None:
    (tmp_path / "archive").write_text("not a folder")
    world.settings = Settings(archive=tmp_path / "archive")
    await runs(world, EVERY_MINUTE, 2)
    await runs(world, named("short", Keep(days=5)), 1)
    await after(world, (DAYS + 2) * DAY)
    assert (len(await world.rows()), len(await world.rows("short"))) == (2, 1)


async def test_revisions_go_once_no_audit_needs_them(world: Upkept) -> None:
    await world.owners.create(TEAM, EVERY_MINUTE)
    for program in ("true", "false", "true"):
        world.now += MINUTE
        await world.owners.put(TEAM, spec(EVERY_MINUTE.schedule, program=program))
    await after(world, (DAYS + 2) * DAY)
    assert await count(world, "revisions") == 1
    await runs(world, named("other", None), 1)
    assert await count(world, "revisions") == 2


async def test_executors_and_hand_outs_go_after_they_ended(world: Upkept) -> None:
    await world.execute(ENDED_EXECUTOR, UUID(int=1), NOON)
    await world.execute(
        "INSERT INTO handouts (executor, seq, handed_at, run_ids) VALUES ($1, 1, $2, '{}')",
        UUID(int=1),
        NOON,
    )
    await after(world, 2 * DAY)
    assert (await count(world, "executors"), await count(world, "handouts")) == (1, 0)
    await after(world, DAYS * DAY)
    assert await count(world, "executors") == 0


async def test_a_job_that_was_quarantined_owes_nothing_that_was_purged(world: Upkept) -> None:
    await runs(world, spec(HOURLY), 60)
    await world.quarantine()
    await after(world, (DAYS + 2) * DAY)
    await world.owners.put(TEAM, spec(HOURLY, program="false"))
    assert min(row[0] for row in await world.rows()) == 12 * 60


async def test_keep_of_a_team_nobody_knows(world: Upkept) -> None:
    with pytest.raises(NotFoundError, match="no team"):
        await PostgresTeams(world.database).keep("nobody")


ENDED_EXECUTOR = """
INSERT INTO executors (
    id, name, pools, slots, partition, first_heartbeat_at, heartbeat_at, first_seq, ended_at
)
VALUES ($1, 'gone', '{default}', 1, 0, $2, $2, 1, $2)
"""

ATTEMPT = """
INSERT INTO attempts (
    run_id, due_at, number, executor, started_at, finished_at, outcome, reason, output, output_cut
)
SELECT id, due_at, 1, gen_random_uuid(), due_at, due_at, 'failed', '', '', 0
FROM runs
WHERE due_at = $1
"""


def named(name: str, keep: Keep | None) -> JobSpec:
    """Return a job that is due every minute."""
    return msgspec.structs.replace(spec(EVERY_MINUTE.schedule, name=name), keep=keep)


async def letters(world: Upkept) -> int:
    """Return how many dead letters there are."""
    async with world.database.session() as session:
        count: int = await session.fetchval("SELECT count(*) FROM dead_letters")
    return count


async def runs(world: Upkept, job: JobSpec, minutes: int) -> None:
    """What a job is due in so many minutes from noon, or from now, has succeeded."""
    world.now = max(world.now, NOON) if job.name in ("job", "other") else NOON
    await world.owners.create(TEAM, job)
    world.now += minutes * MINUTE
    await world.fire(job.name)
    await world.end(job.name)


async def after(world: Upkept, length: timedelta) -> None:
    """The upkeep, so much later."""
    world.now += length
    await world.work()
    await world.work()


async def cancel(world: Upkept, due_at: object) -> None:
    """Let a run have been cancelled."""
    await world.execute("UPDATE runs SET state = 'cancelled' WHERE due_at = $1", due_at)


async def attempt(world: Upkept, due_at: object) -> None:
    """Let the first run of that due time have had an attempt."""
    await world.execute(ATTEMPT, due_at)


async def die(world: Upkept, due_at: object) -> UUID:
    """Let a run have died, with its attempt on record."""
    await world.execute(ATTEMPT, due_at)
    async with world.database.session() as session:
        run: UUID = await session.fetchval(
            "UPDATE runs SET state = 'dead' WHERE due_at = $1 RETURNING id", due_at
        )
        await session.execute(
            "INSERT INTO dead_letters (run_id, due_at, job_id, team_id, dead_at, reason)"
            " SELECT id, due_at, job_id, team_id, due_at, '' FROM runs WHERE id = $1",
            run,
        )
    return run


async def count(world: Upkept, table: str) -> int:
    """Return how many rows a table has."""
    async with world.database.session() as session:
        number: int = await session.fetchval(f"SELECT count(*) FROM {table}")
        return number


async def exists(world: Upkept, table: str) -> bool:
    """Return whether there is such a table."""
    async with world.database.session() as session:
        return await session.fetchval("SELECT to_regclass($1)", table) is not None


def archived(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of the archive's files."""
    found = []
    for path in sorted((folder / "archive").iterdir()):
        assert path.name == "runs-2026-03-02.ndjson.gz"
        found += gzip.decompress(path.read_bytes()).decode().splitlines()
    return [json.loads(line) for line in found]
