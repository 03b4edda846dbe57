"""What a visitor chooses once stays: light or dark, UTC or their own zone. And what is live is."""

from __future__ import annotations

from playwright.async_api import Page, expect
from tests.e2e.cluster import Cluster
from tests.web.calling import call, put

NAP = {"command": {"argv": ["sleep", "30"]}}


async def test_dark_stays_dark(page: Page) -> None:
    await page.goto("/jobs")
    light = await _background(page)
    await page.get_by_role("button", name="Light or dark").click()
    assert await _background(page) != light
    await page.goto("/")
    assert await _background(page) != light


async def test_times_are_shown_in_utc_or_in_the_zone_of_the_reader(page: Page) -> None:
    await page.goto("/jobs")
    clock = page.locator("[data-clock]")
    await expect(clock).to_contain_text("UTC")
    await page.get_by_role("button", name="UTC").click()
    await expect(clock).not_to_contain_text("UTC")
    await page.reload()
    await expect(page.get_by_role("button", name="Local")).to_be_visible()


async def test_the_overview_tells_what_happens_without_being_asked(
    page: Page, matins: Cluster
) -> None:
    await put(matins, "live", "nap", target=NAP)
    await page.goto("/")
    running = page.locator(".figure", has_text="Running").first
    before = int(await running.locator("dd").inner_text())
    await call(matins, "POST", "teams/live/jobs/nap/trigger", {})
    await expect(running.locator("dd")).not_to_have_text(str(before))


async def _background(page: Page) -> str:
    colour: str = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    return colour
