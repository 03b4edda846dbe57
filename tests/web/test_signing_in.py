"""Signing in and out, as people do it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser, expect
from tests.e2e.cluster import TOKEN, Cluster
from tests.web.browser import Visit, unusable, visiting
from tests.web.calling import call
from tests.web.signing_in import sign_in


@pytest_asyncio.fixture(loop_scope="session")
async def stranger(browser: Browser, matins: Cluster) -> AsyncIterator[Visit]:
    """Somebody who has not signed in."""
    async with visiting(browser, matins.urls[0]) as stranger:
        yield stranger
        assert stranger.faults == []


async def test_who_signs_in_comes_to_the_page_that_was_asked_for(stranger: Visit) -> None:
    page = await stranger.page()
    await page.goto("/jobs?team=payments")
    assert await unusable(page) == []
    await page.get_by_label("Token").fill(TOKEN)
    await page.get_by_label("Token").press("Enter")
    await page.wait_for_url("/jobs?team=payments")
    await expect(page.get_by_role("heading", name="Jobs")).to_be_visible()


async def test_a_wrong_token_is_refused_and_says_what_is_right(stranger: Visit) -> None:
    stranger.expect("401")
    page = await stranger.page()
    await page.goto("/")
    await page.get_by_label("Token").fill("guessed")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_text("No such token")).to_be_visible()


async def test_who_signs_out_sees_nothing_any_more(stranger: Visit) -> None:
    page = await stranger.page()
    await sign_in(page, TOKEN)
    await page.get_by_text("admin", exact=True).click()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_label("Token")).to_be_visible()
    await page.goto("/jobs")
    await expect(page.get_by_label("Token")).to_be_visible()


async def test_a_link_signs_in_once(stranger: Visit, matins: Cluster) -> None:
    stranger.expect("401")
    link = await call(matins, "POST", "sign-in-links")
    page = await stranger.page()
    await page.goto(link["path"])
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    await page.context.clear_cookies()
    await page.goto(link["path"])
    await expect(page.get_by_text("This link was used, or is too old")).to_be_visible()
