"""Lists go by an index, page by page, also over days that are over."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import pytest
from tests.sql.owned import EVERY_MINUTE, MINUTE, NOON, TEAM, spec
from tests.sql.upkept import Upkept, upkept

from matins.domain.runs.states import RunState
from matins.store import past, reads
from matins.store.past import around
from matins.store.queries import load_queries

DAY = timedelta(days=1)
OTHERS = "shipping"


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Upkept]:
    """A job with five runs on each of four days, of which two are over; and another team's."""
    async with upkept(dsn) as world:
        await world.owners.create(TEAM, EVERY_MINUTE)
        await world.owners.create(OTHERS, spec(EVERY_MINUTE.schedule, name="other"))
        for _ in range(4):
            world.now += 5 * MINUTE
            assert await world.claim(newest=5) == 5
            await world.end()
            world.now += DAY
            await world.work()
        await world.execute("DELETE FROM dispatch")  # nobody took them off the queue
        yield world


@pytest.mark.parametrize("limit", [3, 20])
async def test_the_pages_of_a_team_s_runs_join_up(world: Upkept, limit: int) -> None:
    listed = await pages(world, TEAM, RunState.SUCCEEDED, limit)
    every = (await world.reads.runs_of_job(TEAM, "job", None, 100)).runs
    assert listed == [run.id for run in every]
    assert len(listed) == 20
    assert await pages(world, OTHERS, RunState.SUCCEEDED, limit) == []


@pytest.mark.parametrize("team", [TEAM, None])
async def test_dead_runs_are_listed_page_by_page(world: Upkept, team: str | None) -> None:
    dead = await become(world, DIE, every=3)
    assert await pages(world, team, RunState.DEAD, 2) == dead
    assert await pages(world, OTHERS, RunState.DEAD, 2) == []


@pytest.mark.parametrize("team", [TEAM, None])
@pytest.mark.parametrize(("runs", "days"), [(3, 8), (5_000, 1), (7, 2)])
async def test_a_page_looks_at_so_much_and_no_more_for_what_is_rare(
    world: Upkept, monkeypatch: pytest.MonkeyPatch, team: str | None, runs: int, days: int
) -> None:
    every = [run.id for run in (await world.reads.runs_of_job(TEAM, "job", None, 100)).runs]
    rare = [every[2], every[-1]]
    for table in ("runs", "past_runs"):
        await world.execute(f"UPDATE {table} SET state = 'cancelled' WHERE id = ANY ($1)", rare)
    monkeypatch.setattr(reads, "WALK_MAX", runs)
    monkeypatch.setattr(reads, "RANGES_MAX", days)
    monkeypatch.setattr(past, "_FIRST_RANGE", 1)
    monkeypatch.setattr(past, "_RANGE", 1)
    first = await world.reads.runs(team, [RunState.CANCELLED], NOON, None, 2)
    assert len(first.runs) < 2
    assert first.next is not None
    assert await pages(world, team, RunState.CANCELLED, 2) == rare


@pytest.mark.parametrize("team", [TEAM, None])
async def test_retrying_runs_are_listed_page_by_page(world: Upkept, team: str | None) -> None:
    retrying = await become(world, FAIL, every=2)
    assert len(retrying) > 2
    assert await pages(world, team, RunState.RETRYING, 2) == retrying
    assert await pages(world, OTHERS, RunState.RETRYING, 2) == []


@pytest.mark.parametrize("team", [TEAM, None])
async def test_queued_runs_are_listed_page_by_page(world: Upkept, team: str | None) -> None:
    queued = await become(world, QUEUE, every=2)
    assert len(queued) > 2
    assert await pages(world, team, RunState.QUEUED, 2) == queued
    assert await pages(world, OTHERS, RunState.QUEUED, 2) == []


@pytest.mark.parametrize("team", [TEAM, None])
async def test_waiting_runs_are_listed_page_by_page(world: Upkept, team: str | None) -> None:
    held = await become(world, HOLD, every=2)
    assert len(held) > 2
    assert await pages(world, team, RunState.WAITING, 2) == held
    assert await pages(world, OTHERS, RunState.WAITING, 2) == []


@pytest.mark.parametrize("team", [TEAM, None])
async def test_running_runs_are_listed_page_by_page_and_none_that_have_ended(
    world: Upkept, team: str | None
) -> None:
    running = await become(world, RUN, every=1)
    await world.execute(
        "UPDATE runs SET state = 'succeeded', finished_at = now() WHERE id = $1", running.pop(1)
    )
    assert len(running) > 2
    assert await pages(world, team, RunState.RUNNING, 2) == running
    assert await pages(world, OTHERS, RunState.RUNNING, 2) == []


async def test_a_retry_that_went_on_is_left_out_and_its_page_is_full(world: Upkept) -> None:
    retrying = await become(world, FAIL, every=1)
    await world.execute(
        "UPDATE runs SET state = 'queued', retry_at = NULL WHERE id = ANY ($1)", retrying[:2]
    )
    page = await world.reads.runs(None, [RunState.RETRYING], NOON, None, 2)
    assert [run.id for run in page.runs] == retrying[2:4]


async def test_a_team_s_runs_are_found_by_its_own_index(world: Upkept) -> None:
    query = around(NOON, NOON + 9 * DAY).pin(load_queries("reads.sql")["runs_of_team"])
    async with world.database.session() as session:
        await session.execute("SET enable_seqscan = off")
        await session.execute(f"PREPARE listed AS {query.sql}")
        given = {
            "team": f"'{TEAM}'",
            "states": "'{dead}'",
            "limit": "5",
            "walk": "50",
            "since": f"'{NOON}'",
            "until": f"'{NOON + 9 * DAY}'",
            "before": f"'{UUID(int=9)}'",
        }
        values = ", ".join(given[name] for name in query.parameters)
        text = await session.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE listed({values})")
        await session.execute("DEALLOCATE listed")
    conditions = [
        condition
        for condition in index_conditions(json.loads(text)[0]["Plan"])
        if "runs" in condition[0]
    ]
    assert conditions
    assert all("team_id" in condition for _, condition in conditions)


async def test_an_audit_s_pages_of_a_team_hold_each_job_once(world: Upkept) -> None:
    names = [f"job-{number:03}" for number in range(60)]
    for name in names:
        await world.owners.create(TEAM, spec(EVERY_MINUTE.schedule, name=name))
    world.now += MINUTE
    found, after = [], None
    while True:
        page = await world.audits.page(TEAM, None, world.now - MINUTE, None, after)
        found += [job.job for job in page.jobs]
        after = page.next
        if after is None:
            break
    assert found == ["job", *names]


DIE = """
WITH dead AS (
    UPDATE {table} SET state = 'dead' WHERE id = $1 RETURNING *
)
INSERT INTO dead_letters (run_id, due_at, job_id, team_id, dead_at, reason)
SELECT id, due_at, job_id, team_id, due_at, '' FROM dead
"""

FAIL = """
WITH failed AS (
    UPDATE runs SET state = 'retrying', retry_at = now(), finished_at = NULL
    WHERE id = $1 RETURNING *
)
INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause)
SELECT partition, retry_at, id, due_at, team_id, 'retry' FROM failed
"""

QUEUE = """
WITH queued AS (
    UPDATE runs SET state = 'queued', finished_at = NULL WHERE id = $1 RETURNING *
)
INSERT INTO dispatch (pool, rank, run_id, due_at)
SELECT pool, 1, id, due_at FROM queued
"""

HOLD = """
WITH held AS (
    UPDATE runs SET state = 'waiting', finished_at = NULL WHERE id = $1 RETURNING *
)
INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause)
SELECT partition, now(), id, due_at, team_id, 'window' FROM held
"""

RUN = """
WITH running AS (
    UPDATE runs SET state = 'running', finished_at = NULL, executor = gen_random_uuid()
    WHERE id = $1 RETURNING *
)
INSERT INTO handouts (executor, seq, handed_at, run_ids)
SELECT executor, seq, now(), ARRAY[id] FROM running, generate_series(1, 2) AS seq
"""


async def become(world: Upkept, sql: str, *, every: int) -> list[UUID]:
    """Let each so many of the job's runs be otherwise; gives those for which it was done."""
    ids = [run.id for run in (await world.reads.runs_of_job(TEAM, "job", None, 100)).runs][::every]
    for run in ids:
        for table in ("runs", "past_runs") if "{table}" in sql else ("runs",):
            await world.execute(sql.format(table=table), run)
    listed = {run.id for run in (await world.reads.runs_of_job(TEAM, "job", None, 100)).runs}
    async with world.database.session() as session:
        rows = await session.fetch(
            "SELECT run_id FROM dead_letters UNION SELECT run_id FROM waiting"
            " UNION SELECT run_id FROM dispatch UNION SELECT unnest(run_ids) FROM handouts"
        )
    return [run for run in ids if run in {row["run_id"] for row in rows} & listed]


async def pages(world: Upkept, team: str | None, state: RunState, limit: int) -> list[UUID]:
    """Return all runs in a state, page by page."""
    found: list[UUID] = []
    before = None
    while True:
        page = await world.reads.runs(team, [state], NOON, before, limit)
        found += [run.id for run in page.runs]
        before = page.next
        if before is None:
            return found


def index_conditions(plan: dict[str, object]) -> list[tuple[str, str]]:
    """Return each index of a plan with what is looked up in it."""
    found = []
    if "Index Name" in plan:
        found.append((str(plan["Index Name"]), str(plan.get("Index Cond", ""))))
    inner = plan.get("Plans", [])
    assert isinstance(inner, list)
    for part in inner:
        found += index_conditions(part)
    return found
