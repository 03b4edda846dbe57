"""The list of jobs: found as one types, and changed many at once."""

from __future__ import annotations

import re

from playwright.async_api import Page, expect
from tests.e2e.cluster import Cluster
from tests.web.calling import HELLO, call, put

from matins.web.pages.job_bulk import PART


async def test_jobs_are_found_as_one_types_and_the_address_keeps_it(page: Page) -> None:
    await page.goto("/jobs")
    await page.get_by_label("Part of team/name").press_sequentially("settle")
    await expect(page).to_have_url(re.compile(r"/jobs\?q=settle"))
    await expect(page.get_by_role("link", name="payments/nightly-settlement")).to_be_visible()
    await expect(page.get_by_role("link", name="platform/check-dns")).to_have_count(0)
    await page.reload()
    await expect(page.get_by_label("Part of team/name")).to_have_value("settle")
    await expect(page.get_by_role("link", name="platform/check-dns")).to_have_count(0)


async def test_what_nothing_matches_says_so(page: Page) -> None:
    await page.goto("/jobs?q=no-such-job")
    await expect(page.get_by_text("No job matches")).to_be_visible()


async def test_jobs_of_a_label_are_paused_and_resumed_at_once(page: Page, matins: Cluster) -> None:
    every = {"every": "1h"}
    for name in ("bulk-one", "bulk-two"):
        await put(matins, "bulk", name, labels={"bulk": "yes"}, schedule=every)
    await put(matins, "bulk", "bulk-other", labels={"bulk": "no"}, schedule=every)
    await page.goto("/jobs?label=bulk%3Dyes")
    await page.get_by_label("Pick all on this page").check()
    await expect(page.get_by_text("2 picked")).to_be_visible()
    await page.get_by_role("button", name="Pause").click()
    question = page.get_by_role("dialog", name="Pause 2 jobs?")
    await question.get_by_label("Reason").fill("the vendor moves")
    await question.get_by_role("button", name="Pause").click()
    await expect(page.get_by_role("status").get_by_text("Paused 2 jobs.")).to_be_visible()
    jobs = {name: await _job(matins, name) for name in ("bulk-one", "bulk-two", "bulk-other")}
    assert {name: job["state"] for name, job in jobs.items()} == {
        "bulk-one": "paused",
        "bulk-two": "paused",
        "bulk-other": "active",
    }
    assert jobs["bulk-one"]["reason"] == "the vendor moves"
    await page.get_by_label("Pick bulk/bulk-one").check()
    await page.get_by_role("button", name="Resume").click()
    question = page.get_by_role("dialog", name="Resume 1 job?")
    await expect(question.get_by_text("Nothing was due meanwhile.")).to_be_visible()
    await question.get_by_role("button", name="Resume").click()
    await expect(page.get_by_role("status").get_by_text("Resumed 1 job.")).to_be_visible()
    assert (await _job(matins, "bulk-one"))["state"] == "active"


async def test_very_many_jobs_are_labelled_while_the_page_tells_how_far_it_is(
    page: Page, matins: Cluster
) -> None:
    jobs = [{"name": f"job-{number}", "target": HELLO} for number in range(PART + 5)]
    await call(matins, "PUT", "teams/crowd/jobs", {"jobs": jobs})
    await page.goto("/jobs?team=crowd")
    await page.get_by_label("Pick all on this page").check()
    await page.get_by_label("that match").check()
    await page.get_by_role("button", name="Label").click()
    question = page.get_by_role("dialog", name=f"Label {len(jobs)} jobs")
    await question.get_by_label("Set").fill("tier=gold")
    await question.get_by_role("button", name="Change labels").click()
    bar = page.get_by_role("progressbar")
    await expect(bar).to_have_attribute("max", str(len(jobs)))
    await expect(page.get_by_text("That is all.")).to_be_visible()
    await expect(bar).to_have_attribute("value", str(len(jobs)))
    await page.get_by_role("link", name="Back to the jobs").click()
    await page.get_by_label("Labels, as name=value").fill("tier=gold")
    await page.get_by_label("Labels, as name=value").press("Enter")
    await expect(page.get_by_text(f"{len(jobs)} jobs")).to_be_visible()


async def test_the_list_is_used_by_keys_alone(page: Page) -> None:
    await page.goto("/")
    await page.keyboard.press("g")
    await page.keyboard.press("j")
    await expect(page).to_have_url(re.compile("/jobs$"))
    await page.wait_for_load_state("load")
    await page.keyboard.press("j")
    await page.keyboard.press("x")
    await expect(page.get_by_text("1 picked")).to_be_visible()
    await page.keyboard.press("/")
    await expect(page.get_by_label("Find a job")).to_be_focused()
    await page.keyboard.type("sync-crm")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("link", name="growth/sync-crm")).to_be_visible()


async def _job(matins: Cluster, name: str) -> dict[str, str]:
    job: dict[str, str] = await call(matins, "GET", f"teams/bulk/jobs/{name}")
    return job
