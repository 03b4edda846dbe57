"""How many jobs are in each state: counted anew, unless counting takes long."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.sql.owned import TEAM, spec
from tests.sql.upkept import Upkept, upkept

from matins.store import job_search
from matins.store.database import Database
from matins.store.job_search import JobFilter, PostgresJobSearch


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[Upkept]:
    async with upkept(dsn) as world:
        for name in ("one", "two", "other"):
            await world.owners.create(TEAM, spec(None, name=name))
        yield world


@pytest.fixture
async def search(dsn: str) -> AsyncIterator[PostgresJobSearch]:
    database = Database(dsn, name="search", size=2)
    yield PostgresJobSearch(database)
    await database.close()


async def test_a_few_jobs_are_counted_each_time(
    world: Upkept, search: PostgresJobSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_search, "_QUICK_S", 60.0)  # on a busy machine, too
    assert await search.counts(JobFilter()) == {"active": 3}
    await world.execute("UPDATE jobs SET state = 'paused' WHERE name = 'one'")
    assert await search.counts(JobFilter()) == {"active": 2, "paused": 1}


async def test_what_takes_long_to_count_is_kept_for_a_while(
    world: Upkept, search: PostgresJobSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_search, "_QUICK_S", 0.0)
    monkeypatch.setattr(job_search, "_KEPT", 1_000_000)
    assert await search.counts(JobFilter()) == {"active": 3}
    await world.execute("UPDATE jobs SET state = 'paused' WHERE name = 'one'")
    assert await search.counts(JobFilter()) == {"active": 3}
    assert await search.counts(JobFilter(text="o")) == {"active": 2, "paused": 1}
    monkeypatch.setattr(job_search, "_KEPT", 0)
    assert await search.counts(JobFilter(text="two")) == {"active": 1}
    await world.execute("UPDATE jobs SET state = 'paused' WHERE name = 'two'")
    assert await search.counts(JobFilter(text="two")) == {"paused": 1}
