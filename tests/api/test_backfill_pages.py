"""The pages of backfills: told first, then started, paused, resumed and cancelled."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from tests.api.served import CSRF, JOBS, Hands, Owner, signed_in
from tests.api.test_run_pages import text_of

from matins.store.database import Database

pytestmark = pytest.mark.asyncio(loop_scope="module")

NEW = "/backfills/new?job=payments/nightly"
SPAN = {"job": "payments/nightly", "since": "2026-11-01", "until": "2026-11-08", "limit": "3"}


@pytest_asyncio.fixture(loop_scope="module")
async def job(owner: Owner, hands: Hands) -> dict[str, Any]:
    """A job that has been due at two in the night, in Berlin, for a month."""
    hands.at = datetime(2026, 10, 30, 12, tzinfo=UTC)
    job = await owner.job()
    hands.at = datetime(2026, 12, 1, 12, tzinfo=UTC)
    for deed in ("pause", "resume"):  # what was due is recorded as skipped
        await owner.post(f"{JOBS}/nightly/{deed}")
    return job


async def submit(browser: aiohttp.ClientSession, path: str, **fields: str) -> tuple[str, str]:
    """Send a form; return the path of the page that follows, and its text."""
    async with browser.get("/backfills") as answer:
        found = CSRF.search(await answer.text())
        csrf = found[1] if answer.url.path == "/backfills" and found else await signed_in(browser)
    headers = {"Referer": str(browser._build_url("/backfills/new"))}
    async with browser.post(path, data={"csrf": csrf, **fields}, headers=headers) as answer:
        return answer.url.path, await answer.text()


async def backfills(owner: Owner) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await owner.get(f"{JOBS}/nightly/backfills")).json
    return found


async def test_what_a_backfill_comes_to_is_told_first(
    browser: aiohttp.ClientSession, owner: Owner, job: dict[str, Any]
) -> None:
    await signed_in(browser)
    page = await text_of(browser, f"{NEW}&since=2026-11-01&until=2026-11-08")
    assert "Start: 7 runs" in page
    assert 'datetime="2026-11-01T01:00:00+00:00"' in page
    assert "no run of it has succeeded yet" in page
    assert await backfills(owner) == []


async def test_what_does_not_run_is_told_with_its_reason(
    browser: aiohttp.ClientSession, job: dict[str, Any]
) -> None:
    await signed_in(browser)
    page = await text_of(browser, f"{NEW}&since=2026-10-25&until=2026-11-01")
    assert "What does not run" in page


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("job=payments/odd&since=1d", "has no job"),
        ("job=payments/nightly&since=odd", "is no moment"),
        ("job=payments/nightly&since=1d&limit=0", "must be from 1 to 1000"),
        ("job=payments/nightly&since=1d&order=odd", "it may be"),
        ("job=payments/nightly&since=1d&until=tomorrow", "lies ahead"),
    ],
)
async def test_what_can_not_be_read_is_told_beside_the_form(
    browser: aiohttp.ClientSession, job: dict[str, Any], query: str, message: str
) -> None:
    await signed_in(browser)
    page = await text_of(browser, f"/backfills/new?{query}")
    assert message in page
    assert f'value="{query.partition("&")[0].removeprefix("job=")}"' in page


async def test_a_backfill_is_started_paused_resumed_and_cancelled(
    browser: aiohttp.ClientSession, owner: Owner, job: dict[str, Any]
) -> None:
    path, page = await submit(browser, "/backfills/new", **SPAN, reason="orders came late")
    [backfill] = await backfills(owner)
    assert path == f"/backfills/{backfill['id']}"
    assert backfill["limit"] == 3
    assert "orders came late" in page
    for deed, told, state in (
        ("pause", "Paused", "paused"),
        ("resume", "Resumed", "active"),
        ("cancel", "Cancelled", "cancelled"),
    ):
        after, page = await submit(browser, f"{path}/{deed}")
        assert (after, told in page, f"is-{state}" in page) == (path, True, True)
    listed = await text_of(browser, "/backfills?team=payments")
    assert path in listed
    assert path in await text_of(browser, "/backfills")
    assert path not in await text_of(browser, "/backfills?team=search")


async def test_a_second_backfill_of_a_job_is_refused(
    browser: aiohttp.ClientSession, owner: Owner, job: dict[str, Any]
) -> None:
    await submit(browser, "/backfills/new", **SPAN)
    path, page = await submit(browser, "/backfills/new", **SPAN)
    assert (path, "has an unfinished backfill" in page) == ("/backfills/new", True)


async def test_a_backfill_is_followed(
    browser: aiohttp.ClientSession, owner: Owner, job: dict[str, Any], database: Database
) -> None:
    path, _ = await submit(browser, "/backfills/new", **SPAN)
    backfill = path.removeprefix("/backfills/")
    for part in (f"backfill/{backfill}", "backfills/payments", "backfills/"):
        async with browser.get(f"/live/{part}") as stream:
            event = (await stream.content.readuntil(b"\n\n")).decode()
            assert "is-active" in event
            assert "of 7" in event
