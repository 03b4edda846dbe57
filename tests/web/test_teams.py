"""What an owner does on the pages of a team: quotas, limits, channels, check-ins."""

from __future__ import annotations

import aiohttp
from playwright.async_api import Locator, Page, expect
from tests.alerts.receivers import webhooks
from tests.e2e.cluster import Cluster, until
from tests.web.calling import put

TEAM = "ledger"


async def test_a_quota_is_set_and_holds(page: Page, matins: Cluster) -> None:
    await put(matins, TEAM, "settle")
    await page.goto("/teams")
    await page.get_by_role("link", name=TEAM, exact=True).click()
    row = page.get_by_role("row").filter(has_text="how many jobs the team may have")
    await expect(row).to_contain_text("no limit")
    await page.get_by_role("button", name="Change").first.click()
    await page.get_by_role("dialog", name="Quotas").get_by_label("Jobs").fill("1")
    await page.get_by_role("button", name="Set quotas").click()
    await expect(page.get_by_text("The quotas hold now.")).to_be_visible()
    await expect(row).to_contain_text("1 of 1")
    path = f"{matins.urls[0]}/v1/teams/{TEAM}/jobs/second"
    body = {"name": "second", "target": {"command": {"argv": ["true"]}}}
    async with matins.http.put(path, json=body) as answer:
        assert answer.status == 422
    await page.get_by_role("button", name="Change").first.click()
    await page.get_by_role("dialog", name="Quotas").get_by_label("Jobs").clear()
    await page.get_by_role("button", name="Set quotas").click()
    await expect(row).to_contain_text("no limit")


async def test_a_limit_is_set_changed_and_deleted_after_a_question(
    page: Page, matins: Cluster
) -> None:
    await put(matins, TEAM, "settle", concurrency={"key": "bank", "limit": 3})
    await page.goto(f"/teams/{TEAM}")
    row = page.get_by_role("row").filter(has_text="concurrency key")
    await expect(row).to_contain_text("0 of 3")
    await page.get_by_role("button", name="Set a limit").click()
    dialog = page.get_by_role("dialog", name="Limit of a concurrency key")
    await dialog.get_by_label("Key").fill("bank")
    await dialog.get_by_label("Runs at once").fill("2")
    await dialog.get_by_role("button", name="Set limit").click()
    await expect(row).to_contain_text("0 of 2")
    await row.get_by_role("button", name="Delete").click()
    await _answer(page, "Delete the limit of bank?", "0 runs", "Delete the limit")
    await expect(row).to_contain_text("0 of 3")


async def test_a_channel_is_added_tested_rekeyed_and_deleted(page: Page) -> None:
    async with webhooks() as hooks:
        await page.goto(f"/teams/{TEAM}/alerts")
        await page.get_by_role("button", name="Add a channel").click()
        dialog = page.get_by_role("dialog", name="Channel")
        await dialog.locator("input[name=name]").fill("oncall")
        await dialog.locator("input[name=url]").fill(hooks.url)
        await dialog.get_by_role("button", name="Save channel").click()
        first = await _shown_once(page)
        row = page.get_by_role("row").filter(has=page.get_by_role("button", name="Test"))
        await row.get_by_role("button", name="Test").click()
        await expect(page.get_by_text("A test is on its way to oncall")).to_be_visible()

        async def has_come() -> bool:
            return len(hooks.received) == 1

        await until(has_come, 30)
        hooks.verify(first)

        async def is_told() -> bool:
            await page.reload()
            return await page.get_by_text("delivered", exact=True).count() == 1

        await until(is_told, 30)
        await row.get_by_role("button", name="New key").click()
        await _answer(page, "A new key for oncall?", "shown once", "Make a new key")
        assert await _shown_once(page) != first
        await row.get_by_role("button", name="Delete").click()
        await _answer(page, "Delete the channel oncall?", "0 messages", "Delete the channel")
        await expect(page.get_by_text("The channel oncall is deleted.")).to_be_visible()
        await expect(page.get_by_text("No channels")).to_be_visible()


async def test_a_check_in_gets_an_address_and_loses_it_for_another(
    page: Page, matins: Cluster
) -> None:
    await put(matins, TEAM, "backup", target={"checkin": {}})
    await page.goto(f"/teams/{TEAM}/check-ins")
    await page.get_by_role("button", name="Make its address").click()
    first = await _shown_once(page)
    async with aiohttp.ClientSession() as elsewhere, elsewhere.post(first) as answer:
        assert answer.status < 300
    await page.reload()
    await expect(page.get_by_role("row").filter(has_text="backup")).to_contain_text("succeeded")
    await page.get_by_role("button", name="New address").click()
    await _answer(page, "A new address for backup?", "of no use from now on", "Make a new address")
    assert await _shown_once(page) != first
    async with aiohttp.ClientSession() as elsewhere, elsewhere.post(first) as answer:
        assert answer.status == 404


async def _answer(page: Page, title: str, told: str, deed: str) -> None:
    """See what a question tells, keep it as it is, then do it."""
    question: Locator = page.get_by_role("dialog", name=title)
    await expect(question).to_contain_text(told)
    await question.get_by_role("button", name=deed).click()


async def _shown_once(page: Page) -> str:
    """Return the secret that the page shows, and go on."""
    await expect(page.get_by_text("It is shown this once.")).to_be_visible()
    secret = await page.locator("main code").inner_text()
    await page.get_by_role("link", name="I have it").click()
    return secret
