"""Dead letters are found by what went wrong, and many are replayed or dismissed at once."""

from __future__ import annotations

from playwright.async_api import Page, expect
from tests.e2e.cluster import Cluster, until
from tests.web.calling import call, put, run_once

TEAM = "mourning"
FAILS = {"command": {"argv": ["sh", "-c", "echo no route to ledger; exit 1"]}}


async def test_letters_of_one_fault_are_replayed_at_once(page: Page, matins: Cluster) -> None:
    await put(matins, TEAM, "post", target=FAILS)
    runs = [await run_once(matins, TEAM, "post") for _ in range(2)]
    await put(matins, TEAM, "post")
    await page.goto(f"/dead?team={TEAM}")
    row = page.get_by_role("row").filter(has_text="no route to ledger")
    await expect(row).to_contain_text("2")
    await row.get_by_role("checkbox").check()
    await page.get_by_role("button", name="Replay", exact=True).click()
    question = page.get_by_role("dialog", name="Replay 2 dead letters?")
    await question.get_by_role("button", name="Replay").click()
    await expect(page.get_by_text("Replaying 2 dead letters.")).to_be_visible()

    async def have_succeeded() -> bool:
        told = [await call(matins, "GET", f"runs/{run['id']}") for run in runs]
        return all(run["state"] == "succeeded" for run in told)

    await until(have_succeeded, 60)
    await page.reload()
    await expect(page.get_by_text("No dead letters")).to_be_visible()


async def test_letters_are_dismissed_with_a_note(page: Page, matins: Cluster) -> None:
    await put(matins, "resting", "post", target=FAILS)
    await run_once(matins, "resting", "post")
    await page.goto("/dead?team=resting")
    await page.get_by_label("Pick all groups").check()
    await page.get_by_role("button", name="Dismiss", exact=True).click()
    question = page.get_by_role("dialog", name="Dismiss 1 dead letter?")
    await question.get_by_label("Note").fill("the ledger was moved")
    await question.get_by_role("button", name="Dismiss").click()
    await expect(page.get_by_text("Dismissed 1 dead letter.")).to_be_visible()
    await page.goto("/dead/letters?team=resting&dismissed=true")
    await expect(page.locator("main")).to_contain_text("the ledger was moved")
