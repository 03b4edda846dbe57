"""The last runs of many jobs: of each the newest few, over days that are over as well."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from tests.sql.owned import EVERY_MINUTE, MINUTE, NOON, TEAM, spec
from tests.sql.test_plans import nodes
from tests.sql.upkept import Upkept, upkept

from matins.domain.runs.recent import RecentRun
from matins.store import past, recent
from matins.store.past import around
from matins.store.queries import load_queries

DAY = timedelta(days=1)


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Upkept]:
    """A job with five runs on each of four days, of which two are over, one with none, and one
    that only ran on the first day.
    """
    async with upkept(dsn) as world:
        await world.owners.create(TEAM, EVERY_MINUTE)
        await world.owners.create(TEAM, spec(EVERY_MINUTE.schedule, name="old"))
        await world.owners.create(TEAM, spec(None, name="idle"))
        world.now += 2 * MINUTE
        assert await world.claim("old") == 2
        await world.end("old")
        for _ in range(4):
            world.now += 5 * MINUTE
            assert await world.claim(newest=5) == 5
            await world.end()
            world.now += DAY
            await world.work()
        await world.execute("DELETE FROM days WHERE day > $1", NOON.date() + 3 * DAY)
        yield world


async def test_the_last_runs_of_each_job_are_given_newest_first(world: Upkept) -> None:
    runs = await recent_of(world, 7)
    every = (await world.reads.runs_of_job(TEAM, "job", None, 100)).runs
    assert [run.id for run in runs["job"]] == [run.id for run in every[:7]]
    assert [run.due_at for run in runs["old"]] == [NOON + 2 * MINUTE, NOON + MINUTE]
    assert "idle" not in runs
    assert (runs["job"][0].state, runs["job"][0].finished_at) == ("succeeded", every[0].finished_at)


@pytest.mark.parametrize("ranges", [1, 2])
async def test_so_many_days_are_looked_at_for_more_runs_of_a_job_that_has_some(
    world: Upkept, monkeypatch: pytest.MonkeyPatch, ranges: int
) -> None:
    monkeypatch.setattr(past, "_FIRST_RANGE", 1)
    monkeypatch.setattr(past, "_RANGE", 1)
    monkeypatch.setattr(recent, "RANGES_FOR_ALL", ranges)
    runs = await recent_of(world, 20)
    assert len(runs["job"]) == 5 * ranges
    assert len(runs["old"]) == 2


async def test_nothing_is_looked_for_beyond_the_bound(
    world: Upkept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past, "_FIRST_RANGE", 1)
    monkeypatch.setattr(past, "_RANGE", 1)
    monkeypatch.setattr(recent, "RANGES_MAX", 3)
    assert (await recent_of(world, 20)).keys() == {"job"}


async def test_each_table_of_a_day_is_entered_by_its_unique_key(world: Upkept) -> None:
    days = around(NOON - DAY, NOON + 3 * DAY)
    query = days.pin(load_queries("recent.sql")["recent_runs"])
    job = await world.job()
    arguments = query.arguments({"job_ids": [job.id], "count": 10})
    async with world.one.session() as session:  # small tables are read whole elsewhere
        text = await session.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {query.sql}", *arguments)
    plan: dict[str, Any] = json.loads(text)[0]["Plan"]
    looks = [node for node in nodes(plan) if "runs" in node.get("Relation Name", "")]
    assert {look["Node Type"] for look in looks} == {"Index Scan"}
    assert all("job_id" in look["Index Cond"] for look in looks)
    assert not any(node["Node Type"] == "Sort" for node in nodes(plan))
    assert sum(look["Actual Rows"] * look["Actual Loops"] for look in looks) < 10 + len(looks)


async def recent_of(world: Upkept, count: int) -> dict[str, list[RecentRun]]:
    """Return the last runs of each job, by its name."""
    jobs = (await world.reads.jobs(TEAM, "", 100)).jobs
    names = {job.id: job.spec.name for job in jobs}
    found = await recent.recent_runs(world.database.fetch, list(names), count)
    return {names[job_id]: runs for job_id, runs in found.items()}
