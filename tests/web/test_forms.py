"""Jobs are made and changed by the form, whose fields and YAML follow each other."""

from __future__ import annotations

import re

from playwright.async_api import Page, expect
from tests.e2e.cluster import Cluster
from tests.web.calling import call, put

TEAM = "formed"
LONG_MS = 40_000


async def test_a_job_is_made_by_the_form_and_watched_as_it_runs(
    page: Page, matins: Cluster
) -> None:
    await page.goto("/jobs")
    await page.get_by_role("link", name="New job").click()
    await page.wait_for_url("/jobs/new", wait_until="load")
    await page.get_by_label("Team").fill(TEAM)
    await page.get_by_label("Name", exact=True).fill("nightly-export")
    await page.get_by_label("Cron").fill("30 2 * * MON-FRI")
    await page.get_by_label("Zone").fill("Europe/Berlin")
    await page.get_by_label("Command").fill("sh -c 'echo exported; sleep 1; echo all'")
    await expect(page.locator("#ahead")).to_contain_text("At 02:30, on Monday to Friday")
    await expect(page.get_by_label("YAML")).to_have_value(re.compile("cron: 30 2"))
    await page.get_by_role("button", name="Create job").click()
    await expect(page).to_have_url(f"/teams/{TEAM}/jobs/nightly-export")
    job = await call(matins, "GET", f"teams/{TEAM}/jobs/nightly-export")
    assert job["spec"]["schedule"] == {"cron": "30 2 * * MON-FRI", "timezone": "Europe/Berlin"}
    await page.get_by_role("button", name="Run now").click()
    await page.get_by_role("dialog").get_by_role("button", name="Run now").click()
    await expect(page.locator(".state.is-succeeded").first).to_be_visible(timeout=LONG_MS)
    await expect(page.locator("#output-text")).to_contain_text("all", timeout=LONG_MS)


async def test_what_is_wrong_is_said_beside_its_field_before_it_is_saved(page: Page) -> None:
    await page.goto("/jobs/new")
    await page.get_by_label("Cron").fill("61 * * * *")
    await expect(page.locator("#fault-schedule-cron")).to_contain_text("61")
    await page.get_by_label("Cron").fill("1 * * * *")
    await expect(page.locator("#fault-schedule-cron")).to_be_empty()


async def test_a_job_is_edited_as_yaml_and_the_fields_follow(page: Page, matins: Cluster) -> None:
    await put(matins, TEAM, "edited", schedule={"every": "1h"}, timeout="10m")
    await page.goto(f"/teams/{TEAM}/jobs/edited")
    await page.get_by_role("link", name="Edit").click()
    await page.wait_for_url("**/edit", wait_until="load")
    yaml = page.get_by_label("YAML")
    await yaml.fill((await yaml.input_value()).replace("every: 1h", "every: 2h"))
    await expect(page.get_by_label("Every")).to_have_value("2h")
    await expect(page.locator("#ahead .diff-add")).to_contain_text("2h")
    await page.get_by_label("Reason").fill("it is enough")
    await page.get_by_role("button", name="Save").click()
    await expect(page).to_have_url(f"/teams/{TEAM}/jobs/edited")
    job = await call(matins, "GET", f"teams/{TEAM}/jobs/edited")
    assert (job["revision"], job["spec"]["schedule"]["every"]) == (2, "2h")


async def test_a_schedule_is_tried_and_made_a_job_of(page: Page) -> None:
    await page.goto("/playground")
    await page.get_by_label("Schedule").fill("0 6 * * SUN")
    await expect(page.locator("#shown")).to_contain_text("At 06:00, on Sunday")
    await expect(page.locator("#shown tbody tr")).to_have_count(20)
    await page.get_by_role("link", name="Make a job of it").click()
    await expect(page.get_by_label("Cron")).to_have_value("0 6 * * SUN")
