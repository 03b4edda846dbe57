"""What operators look at: the cluster, the calendar, chains, and the playground."""

from __future__ import annotations

import re

from playwright.async_api import Page, expect
from tests.e2e.cluster import Cluster
from tests.web.browser import Visit, unusable
from tests.web.calling import call, put

TEAM = "ops"
SEASONS = "seasons"


async def test_the_cluster_is_shown_live(page: Page, matins: Cluster) -> None:
    await put(matins, TEAM, "hold", target={"command": {"argv": ["sleep", "60"]}})
    await page.goto("/cluster")
    held = page.locator(".figure", has_text="Partitions held")
    await expect(held).to_contain_text("256 of 256")
    scheduler, executor = (
        page.locator("section").filter(has=page.get_by_role("heading", name=name, exact=True))
        for name in ("Schedulers", "Executors")
    )
    await expect(scheduler.locator(".state.is-alive")).to_have_count(1)
    await expect(executor.locator(".state.is-alive")).to_have_count(1)
    busy = page.locator(".figure", has_text="Busy slots").locator("dd")
    before = int((await busy.inner_text()).split()[0])
    run = await call(matins, "POST", f"teams/{TEAM}/jobs/hold/trigger", {})
    await expect(busy).not_to_have_text(re.compile(rf"^{before} of"))  # without being asked
    await call(matins, "POST", f"runs/{run['id']}/cancel")


async def test_the_calendar_tells_when_what_is_due_and_what_holds_it(
    page: Page, matins: Cluster
) -> None:
    for name in ("morning", "evening"):
        await put(matins, SEASONS, name, schedule={"cron": "0 7 * * *"})
    window = {
        "name": "move",
        "starts_at": "2035-01-01T00:00:00Z",
        "ends_at": "2035-01-01T02:00:00Z",
    }
    await call(matins, "PUT", f"teams/{SEASONS}/windows/move", window)
    await page.goto("/calendar")
    await page.get_by_label("Team", exact=True).fill(SEASONS)
    await expect(page.get_by_text("2035-01-01 00:00:00")).to_be_visible()
    rows = page.locator(".gantt tbody tr")
    await expect(rows).to_have_count(2)
    await page.get_by_label("Part of team/name, for the time line").fill("morn")
    await expect(rows).to_have_count(1)
    await expect(page).to_have_url(re.compile(r"q=morn.*team=seasons"))
    await rows.get_by_role("link").first.click()
    await expect(page.get_by_role("heading", name="seasons/morning")).to_be_visible()


async def test_a_chain_is_found_and_leads_to_its_jobs(page: Page, matins: Cluster) -> None:
    await put(matins, TEAM, "extract", schedule={"cron": "0 3 * * *"})
    await put(matins, TEAM, "load", schedule={"after": {"jobs": ["extract"]}})
    await page.goto("/chains")
    await page.get_by_label("Team", exact=True).fill(TEAM)
    chain = page.locator("svg[aria-label='ops/load follows ops/extract']")
    await expect(chain.locator("a")).to_have_count(2)
    await chain.get_by_text("load", exact=True).click()
    await expect(page.get_by_role("heading", name="ops/load")).to_be_visible()
    chain = page.locator("section").filter(has=page.get_by_role("heading", name="Chain"))
    await expect(chain.get_by_role("link", name="ops/extract")).to_be_visible()


async def test_a_schedule_is_tried_and_made_a_job_of(page: Page) -> None:
    await page.goto("/playground")
    await page.get_by_label("Schedule").fill("30 2 * * *")
    await page.get_by_label("Its zone").fill("Europe/Berlin")
    rows = page.locator("#shown tbody tr")
    await expect(rows).to_have_count(20)
    await expect(rows.first).to_contain_text("02:30:00")
    await page.get_by_label("Schedule").fill("61 2 * * *")
    await expect(page.get_by_role("alert")).to_contain_text("61")
    await page.get_by_label("Schedule").fill("45 4 * * *")
    await expect(rows.first).to_contain_text("04:45:00")
    await page.get_by_role("link", name="Make a job of it").click()
    await expect(page.get_by_label("YAML")).to_have_value(
        re.compile("45 4 * * *".replace("*", r"\*"))
    )


async def test_what_is_not_there_leads_back(visit: Visit) -> None:
    visit.expect("404")
    page = await visit.page()
    await page.goto(f"/teams/{TEAM}/jobs/gone-for-good")
    await expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    assert await unusable(page) == []
    await page.get_by_role("main").get_by_role("link", name="Jobs of ops").click()
    await expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
