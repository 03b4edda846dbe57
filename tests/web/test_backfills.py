"""What was missed is made up for: told first, then watched, held and ended."""

from __future__ import annotations

from playwright.async_api import Page, expect
from tests.e2e.cluster import Cluster, until
from tests.web.calling import call, put

TEAM = "catching-up"
NAP = {"command": {"argv": ["sleep", "3"]}}


async def test_a_backfill_is_told_started_paused_resumed_and_cancelled(
    page: Page, matins: Cluster
) -> None:
    every = {"every": "1s"}
    await put(matins, TEAM, "load", schedule=every, target=NAP, overlap="skip")

    async def has_skipped_some() -> bool:
        told = await call(matins, "GET", f"teams/{TEAM}/jobs/load/runs")
        return [run["state"] for run in told["runs"]].count("skipped") >= 4

    async def is_at_rest() -> bool:
        told = await call(matins, "GET", f"teams/{TEAM}/jobs/load/runs")
        return {run["state"] for run in told["runs"]} <= {"skipped", "succeeded"}

    await until(has_skipped_some, 40)
    await put(matins, TEAM, "load", schedule={"cron": "0 0 1 1 *"}, target=NAP)
    await until(is_at_rest, 40)  # on-time runs go first, and a backfill looks for their end seldom
    await page.goto("/backfills")
    await page.get_by_role("link", name="New backfill").first.click()
    await page.get_by_label("Job", exact=True).fill(f"{TEAM}/load")
    await page.get_by_label("From").fill("5m")
    await page.get_by_label("Reason").fill("the source was down")
    await page.get_by_role("button", name="Tell what it comes to").click()
    start = page.get_by_role("button", name="Start:")
    planned = int((await start.inner_text()).split()[1])
    assert planned >= 4
    assert (await call(matins, "GET", f"teams/{TEAM}/jobs/load/backfills")) == []
    await start.click()

    bar = page.get_by_role("progressbar")
    await expect(page.get_by_text("the source was down")).to_be_visible()
    await expect(bar).to_have_attribute("max", str(planned))
    await expect(bar).not_to_have_attribute("value", "0")  # it moves without being asked
    await page.get_by_role("button", name="Pause").click()
    await expect(page.locator(".state.is-paused")).to_be_visible()
    await page.get_by_role("button", name="Resume").click()
    await expect(page.locator(".state.is-active").first).to_be_visible()
    await page.get_by_role("button", name="Cancel", exact=True).click()
    question = page.get_by_role("dialog", name="Cancel this backfill?")
    await question.get_by_label("End its unfinished runs, too").check()
    await question.get_by_role("button", name="Cancel the backfill").click()
    await expect(page.get_by_text("Cancelled, with its runs.")).to_be_visible()
    await expect(page.locator(".state.is-cancelled").first).to_be_visible()
    await page.goto(f"/backfills?team={TEAM}")
    await expect(page.get_by_role("row").filter(has_text=f"{TEAM}/load")).to_contain_text(
        "cancelled"
    )
