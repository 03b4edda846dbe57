"""One Matins, one browser and one sign-in for all tests of the page.

They run in one process, one after the other (`tests/spread.py`): so nothing of it is made twice.
Where no Chromium is found they are skipped, and the last lines of the run say so; with
`MATINS_WEB_TESTS=required`, which `make test-web` sets, they fail instead.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from functools import partial

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, StorageState, expect
from tests.conftest import fresh_database
from tests.e2e.cluster import TOKEN, Cluster
from tests.web import company
from tests.web.browser import Visit, started, visiting
from tests.web.chromium import CHROMIUM, find_chromium
from tests.web.signing_in import sign_in

REQUIRED = "MATINS_WEB_TESTS"

SETTINGS = {"MATINS_LOG_LEVEL": "warning", "MATINS_SECRET_KEYS": "c0" * 32}

expect.set_options(timeout=20_000)  # a busy machine is no reason to fail

shared = partial(pytest_asyncio.fixture, scope="package", loop_scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let all of these tests share one event loop, and skip them where there is no browser."""
    ours = [item for item in items if item.nodeid.startswith("tests/web/")]
    reason = f"no Chromium: `make test-web` installs it, or {CHROMIUM} names one"
    is_missing = find_chromium() is None and os.environ.get(REQUIRED) != "required"
    for item in ours:
        item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
        if is_missing:
            item.add_marker(pytest.mark.skip(reason=reason))


@shared()
async def browser() -> AsyncIterator[Browser]:
    """A headless Chromium."""
    program = find_chromium()
    assert program, f"no Chromium is in the PATH, and {CHROMIUM} names none"
    async with started(program) as browser:
        yield browser


@shared()
async def matins(postgres: str, valkey: str) -> AsyncIterator[Cluster]:
    """A whole Matins, on which a company has jobs that run."""
    async with (
        fresh_database(postgres) as dsn,
        Cluster((dsn, valkey), **SETTINGS) as cluster,
    ):
        await cluster.start("api")
        await company.found(cluster, days=2)
        await cluster.start("scheduler")
        await cluster.start("executor", **company.environment(cluster.folder))
        yield cluster


@shared()
async def signed_in(browser: Browser, matins: Cluster) -> StorageState:
    """The cookies of somebody who has signed in with the administrator's token."""
    async with visiting(browser, matins.urls[0]) as visit:
        page = await visit.page()
        await sign_in(page, TOKEN)
        assert visit.faults == []
        return await page.context.storage_state()


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser: Browser, matins: Cluster, signed_in: StorageState) -> AsyncIterator[Visit]:
    """Somebody who has signed in. Fails the test if anything goes wrong in a page of theirs."""
    async with visiting(browser, matins.urls[0], signed_in=signed_in) as visit:
        yield visit
        assert visit.faults == []


@pytest_asyncio.fixture(loop_scope="session")
async def page(visit: Visit) -> Page:
    """The first tab of somebody who has signed in."""
    return await visit.page()
