"""How many jobs are in each state: counted anew, unless they are many."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.sql.owned import TEAM, spec
from tests.sql.upkept import Upkept, upkept

from matins.store import kept
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


async def test_a_few_jobs_are_counted_each_time(world: Upkept, search: PostgresJobSearch) -> None:
    assert await search.counts(JobFilter()) == {"active": 3}
    await world.execute("UPDATE jobs SET state = 'paused' WHERE name = 'one'")
    assert await search.counts(JobFilter()) == {"active": 2, "paused": 1}


async def test_a_count_of_many_is_kept_for_a_while(
    world: Upkept, search: PostgresJobSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MANY", 2)
    assert await search.counts(JobFilter()) == {"active": 3}
    await world.execute("UPDATE jobs SET state = 'paused' WHERE name = 'one'")
    assert await search.counts(JobFilter()) == {"active": 3}
    assert await search.counts(JobFilter(text="one")) == {"paused": 1}
    await world.execute("UPDATE jobs SET state = 'active' WHERE name = 'one'")
    assert await search.counts(JobFilter(text="one")) == {"active": 1}


async def test_a_kept_count_grows_too_old(
    world: Upkept, search: PostgresJobSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MANY", 2)
    monkeypatch.setattr(kept, "KEPT_S", 0.0)
    assert await search.counts(JobFilter()) == {"active": 3}
    await world.execute("UPDATE jobs SET state = 'paused' WHERE name = 'one'")
    assert await search.counts(JobFilter()) == {"active": 2, "paused": 1}
