"""What owners do on the page of a job, and what becomes of it."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Locator, Page, expect
from tests.e2e.cluster import Cluster, until
from tests.web.calling import call, put

TEAM = "owned"
DAILY = {"cron": "0 2 * * *"}
GREET = {"command": {"argv": ["sh", "-c", "echo hello $WHOM"], "env": {"WHOM": "world"}}}


async def test_a_job_is_paused_with_a_reason_and_resumed_with_a_question(
    page: Page, matins: Cluster
) -> None:
    await put(matins, TEAM, "tick", schedule={"every": "1s"}, overlap="allow")
    await page.goto(f"/teams/{TEAM}/jobs/tick")
    await page.get_by_role("button", name="Pause").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Reason").fill("the source is down")
    await dialog.get_by_role("button", name="Pause").click()
    await expect(page.get_by_text("Paused owned/tick.")).to_be_visible()
    await expect(page.get_by_text("the source is down").first).to_be_visible()

    async def has_missed_some() -> bool:
        path = f"teams/{TEAM}/jobs/tick/resume?dry_run=true"
        told = await call(matins, "POST", path, {"missed": "skip"})
        return bool(told["skipped"] >= 2)

    await until(has_missed_some, 30)
    await page.get_by_role("button", name="Resume").click()
    await expect(dialog.get_by_text("passed while it did not run")).to_be_visible()
    await dialog.get_by_label("Run the last one now").check()
    await dialog.get_by_role("button", name="Resume").click()
    await expect(page.get_by_text("1 run queued")).to_be_visible()
    assert (await _job(matins, "tick"))["state"] == "active"
    await call(matins, "DELETE", f"teams/{TEAM}/jobs/tick")


async def test_an_occurrence_is_skipped_moved_and_restored(page: Page, matins: Cluster) -> None:
    job = await put(matins, TEAM, "nightly", schedule=DAILY)
    due = job["next_due_at"]
    await page.goto(f"/teams/{TEAM}/jobs/nightly")
    coming = page.locator("#coming tbody tr")
    await coming.first.get_by_role("button", name="Skip this one").click()
    await page.get_by_role("dialog").get_by_label("Reason").fill("bank holiday")
    await page.get_by_role("dialog").get_by_role("button", name="Skip it").click()
    await expect(page.get_by_text("will be skipped.")).to_be_visible()
    [override] = (await _job(matins, "nightly"))["overrides"]
    assert (override["due_at"], override["reason"]) == (due, "bank holiday")
    await _row(page, "bank holiday").get_by_role("button", name="Restore").click()
    await expect(page.get_by_text("runs as scheduled.")).to_be_visible()
    assert (await _job(matins, "nightly"))["overrides"] == []
    await coming.first.get_by_role("button", name="Move").click()
    await page.get_by_role("dialog").get_by_label("To in UTC").fill("90m")
    await page.get_by_role("dialog").get_by_role("button", name="Move it").click()
    await expect(page.get_by_text("is moved to")).to_be_visible()
    [override] = (await _job(matins, "nightly"))["overrides"]
    assert override["due_at"] == due
    assert override["move_to"] is not None


async def test_a_job_goes_back_to_an_earlier_revision(page: Page, matins: Cluster) -> None:
    await put(matins, TEAM, "edited", schedule=DAILY, timeout="10m")
    await put(matins, TEAM, "edited", schedule=DAILY, timeout="20m")
    await page.goto(f"/teams/{TEAM}/jobs/edited/revisions")
    difference = page.locator("#difference")
    await expect(difference.locator(".diff-add")).to_contain_text("20m")
    await page.get_by_role("row").last.get_by_role("button", name="Roll back").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Reason").fill("20 minutes hide what hangs")
    await dialog.get_by_role("button", name="Roll back").click()
    await expect(page.get_by_text("20 minutes hide what hangs")).to_be_visible()
    job = await _job(matins, "edited")
    assert (job["revision"], job["spec"]["timeout"]) == (3, "10m")


async def test_a_job_runs_with_another_input_and_its_run_is_shown(
    page: Page, matins: Cluster
) -> None:
    await put(matins, TEAM, "greet", target=GREET)
    await page.goto(f"/teams/{TEAM}/jobs/greet")
    await page.get_by_role("button", name="Run now").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_text("With other input").click()
    await dialog.get_by_label("Variables").fill("WHOM=moon")
    await dialog.get_by_role("button", name="Run now").click()
    await expect(page.get_by_text("Triggered owned/greet.")).to_be_visible()
    await expect(page.locator("main")).to_contain_text("hello moon", timeout=30_000)


async def test_a_run_that_ends_is_seen_on_the_page_of_its_job(page: Page, matins: Cluster) -> None:
    await put(matins, TEAM, "watched")
    await page.goto(f"/teams/{TEAM}/jobs/watched")
    await expect(page.get_by_text("No runs yet")).to_be_visible()
    await call(matins, "POST", f"teams/{TEAM}/jobs/watched/trigger", {})
    await expect(page.locator(".state.is-succeeded").first).to_be_visible(timeout=30_000)


def _row(page: Page, text: str) -> Locator:
    return page.get_by_role("row").filter(has_text=text)


async def _job(matins: Cluster, name: str) -> dict[str, Any]:
    job: dict[str, Any] = await call(matins, "GET", f"teams/{TEAM}/jobs/{name}")
    return job
