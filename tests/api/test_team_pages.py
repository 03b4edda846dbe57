"""The pages of teams: what they show, and what is done on them."""

from __future__ import annotations

import re

import aiohttp
import pytest
import pytest_asyncio
from tests.api.served import Owner, Served, signed_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEAM = "/teams/payments"


class Page:
    """A browser that is signed in, and sends forms."""

    def __init__(self, browser: aiohttp.ClientSession, url: str, csrf: str) -> None:
        self._browser = browser
        self._url = url
        self._csrf = csrf

    async def text(self, path: str) -> str:
        async with self._browser.get(path) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.text()

    async def send(self, path: str, status: int = 200, **fields: str) -> str:
        form = fields | {"csrf": self._csrf}
        headers = {"Referer": f"{self._url}{TEAM}"}
        async with self._browser.post(path, data=form, headers=headers) as answer:
            assert answer.status == status, await answer.text()
            return await answer.text()


@pytest_asyncio.fixture(loop_scope="module")
async def page(browser: aiohttp.ClientSession, served: Served, owner: Owner) -> Page:
    await owner.job(labels={"tier": "gold"}, concurrency={"key": "settlement", "limit": 2})
    return Page(browser, served.url, await signed_in(browser))


def plain(html: str) -> str:
    """Return the text of a page."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


async def test_teams_are_listed_with_what_they_have(page: Page, owner: Owner) -> None:
    await owner.job(name="other")
    text = await page.text("/teams")
    assert '<a class="job-name" href="/teams/payments">payments</a>' in text
    assert "payments 1 2 0" in plain(text)
    assert "No team matches" in await page.text("/teams?q=growth")
    assert "/teams/payments" in await page.text("/teams?q=PAY")


async def test_a_team_is_made_with_a_weight(page: Page) -> None:
    text = await page.send("/teams", name="growth", weight="3")
    assert "The team growth is there." in text
    assert "3 starts to its one" in plain(text)


async def test_a_team_that_is_not_there_is_not_found(
    page: Page, browser: aiohttp.ClientSession
) -> None:
    del page
    for path in ("", "/windows", "/alerts", "/check-ins"):
        async with browser.get(f"/teams/nobody{path}") as answer:
            assert answer.status == 404


async def test_quotas_are_set_and_shown_beside_their_use(page: Page) -> None:
    text = await page.send(f"{TEAM}/quotas", max_jobs="5", max_running="7")
    assert "The quotas hold now." in text
    assert "1 of 5" in plain(text)
    assert "0 of 7" in plain(text)
    text = await page.send(f"{TEAM}/quotas", max_jobs="many")
    assert "max_jobs: is &#39;many&#39;; write a whole number" in text


async def test_the_weight_and_what_is_kept_are_set(page: Page) -> None:
    assert "4 starts to its one" in plain(await page.send(f"{TEAM}/share", weight="4"))
    text = plain(await page.send(f"{TEAM}/keep", days="14", others_days="60"))
    assert "14 days" in text
    assert "Those that did not succeed: 60 days" in text


async def test_a_limit_is_set_and_taken_away(page: Page) -> None:
    assert "settlement concurrency key 0 of 2" in plain(await page.text(TEAM))
    text = await page.send(f"{TEAM}/limits", key="settlement", limit="1", rate="10/m")
    assert "The limit of settlement: created." in text
    assert "settlement concurrency key 0 of 1" in plain(text)
    text = await page.send(f"{TEAM}/limits/delete", name="settlement")
    assert "settlement concurrency key 0 of 2" in plain(text)


async def test_a_window_is_made_and_ended(page: Page) -> None:
    text = await page.send(
        f"{TEAM}/windows",
        name="move",
        ends_at="2h",
        policy="hold",
        labels="tier=gold",
        reason="<b>db</b>",
    )
    assert "The window move is created; it is for 1 job." in text
    assert "&lt;b&gt;db&lt;/b&gt;" in text
    assert "in force" in text
    text = await page.send(f"{TEAM}/windows/delete", name="move")
    assert "The window move is over; it held 0 runs." in text
    assert "No windows" in text


async def test_a_calendar_is_written_as_yaml(page: Page) -> None:
    bad = "name: feasts\nexclude: [{dates: noon}]"
    text = await page.send(f"{TEAM}/calendars/edit", 400, text=bad)
    assert "exclude[0].dates" in text
    assert "[{dates: noon}]" in text
    good = "name: feasts\nexclude: [{dates: 2030-01-06, label: Epiphany}]"
    text = await page.send(f"{TEAM}/calendars/edit", text=good)
    assert "The calendar feasts is created; 0 jobs follow it." in text
    assert "2030-01-06" in await page.text(f"{TEAM}/calendars/edit?name=feasts")
    text = await page.send(f"{TEAM}/calendars/delete", name="feasts")
    assert "No calendars" in text


async def test_the_key_of_a_webhook_is_shown_once_and_its_url_never(page: Page) -> None:
    url = "https://hooks.example.com/very-secret"
    text = await page.send(f"{TEAM}/channels", name="oncall", kind="webhook", url=url)
    assert "whsec_" in text
    shown = await page.text(f"{TEAM}/alerts")
    assert "oncall" in shown
    assert "whsec_" not in shown
    assert "very-secret" not in text + shown
    assert "whsec_" in await page.send(f"{TEAM}/channels/rotate", name="oncall")
    text = await page.send(f"{TEAM}/channels/test", name="oncall")
    assert "A test is on its way to oncall" in text
    assert "oncall test waiting" in plain(text)
    assert "No channels" in await page.send(f"{TEAM}/channels/delete", name="oncall")


async def test_a_channel_without_a_url_is_refused_and_repeats_nothing(page: Page) -> None:
    text = await page.send(f"{TEAM}/channels", name="oncall", kind="webhook", url="ftp://secret")
    assert "is no URL of HTTP" in text
    assert "ftp://secret" not in text


async def test_alert_rules_are_written_as_yaml(page: Page) -> None:
    text = await page.send(f"{TEAM}/alert-rules/edit", 400, text="name: gold\nrules: [{on: late}]")
    assert "rules[0].after" in text
    good = "name: gold\nlabels: {tier: gold}\nrules: [{on: late, after: 10m}]"
    text = await page.send(f"{TEAM}/alert-rules/edit", text=good)
    assert "The rules gold are created." in text
    assert "late 10m" in text
    assert "after: 10m" in await page.text(f"{TEAM}/alert-rules/edit?name=gold")
    text = await page.send(f"{TEAM}/alert-rules/delete", name="gold")
    assert "No rules of the team" in text


async def test_a_check_in_gets_its_address_once(page: Page, owner: Owner) -> None:
    await owner.job(name="backup", target={"checkin": {}}, schedule=None)
    assert "Make its address" in await page.text(f"{TEAM}/check-ins")
    text = await page.send(f"{TEAM}/check-ins/rotate", name="backup")
    assert re.search(r"http://127\.0\.0\.1:\d+/ping/[\w-]{32}<", text)
    assert "/ping/" not in await page.text(f"{TEAM}/check-ins")
