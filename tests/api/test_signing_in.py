"""Signing in to the web page, and what a session is good for."""

from __future__ import annotations

import aiohttp
import pytest
from tests.api.served import TOKEN, Owner, signed_in

from matins.web.app import SECURITY_HEADERS

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_token_signs_in_and_leads_to_where_one_wanted_to_go(
    browser: aiohttp.ClientSession,
) -> None:
    await signed_in(browser)
    async with browser.get("/") as answer:
        assert (answer.status, answer.url.path) == (200, "/")


async def test_another_token_is_refused(browser: aiohttp.ClientSession) -> None:
    async with browser.post("/sign-in", data={"token": "guessed"}) as answer:
        assert (answer.status, "No such token" in await answer.text()) == (401, True)
    async with browser.get("/") as answer:
        assert answer.url.path == "/sign-in"


async def test_a_link_signs_in_once(browser: aiohttp.ClientSession, owner: Owner) -> None:
    link = (await owner.post("/v1/sign-in-links")).json["path"]
    async with browser.get(link) as answer:
        assert (answer.status, answer.url.path) == (200, "/")
    browser.cookie_jar.clear()
    async with browser.get(link) as answer:
        assert (answer.status, "This link was used" in await answer.text()) == (401, True)


async def test_a_browser_that_asks_for_an_icon_gets_it(browser: aiohttp.ClientSession) -> None:
    async with browser.get("/favicon.ico") as answer:
        assert (answer.status, answer.content_type) == (200, "image/svg+xml")


async def test_the_cookie_can_be_used_by_no_script(browser: aiohttp.ClientSession) -> None:
    async with browser.post("/sign-in", data={"token": TOKEN}, allow_redirects=False) as answer:
        cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))


@pytest.mark.parametrize("aim", ["//evil.example", "https://evil.example/", "/\\evil.example"])
async def test_nobody_is_led_to_another_site(browser: aiohttp.ClientSession, aim: str) -> None:
    form = {"token": TOKEN, "next_path": aim}
    async with browser.post("/sign-in", data=form, allow_redirects=False) as answer:
        assert answer.headers["location"] == "/"


async def test_a_change_needs_the_secret_of_the_session(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await owner.job()
    csrf = await signed_in(browser)
    form = {"job": "payments/nightly", "deed": "pause"}
    for wrong in ({}, {"csrf": "0" * 32}):
        async with browser.post("/jobs/bulk", data=form | wrong) as answer:
            assert "older session" in await answer.text()
    assert (await owner.get("/v1/teams/payments/jobs/nightly")).json["state"] == "active"
    async with browser.post("/jobs/bulk", data=form | {"csrf": csrf}) as answer:
        assert "Paused 1 job." in await answer.text()
    assert (await owner.get("/v1/teams/payments/jobs/nightly")).json["state"] == "paused"


async def test_a_change_from_another_site_is_refused(
    browser: aiohttp.ClientSession, owner: Owner
) -> None:
    await owner.job()
    csrf = await signed_in(browser)
    form = {"job": "payments/nightly", "deed": "pause", "csrf": csrf}
    headers = {"Origin": "https://evil.example"}
    async with browser.post("/jobs/bulk", data=form, headers=headers) as answer:
        assert "another site" in await answer.text()
    assert (await owner.get("/v1/teams/payments/jobs/nightly")).json["state"] == "active"


async def test_signing_out_forgets_the_session(browser: aiohttp.ClientSession) -> None:
    csrf = await signed_in(browser)
    async with browser.post("/sign-out", data={"csrf": csrf}) as answer:
        assert answer.url.path == "/sign-in"
    async with browser.get("/jobs") as answer:
        assert answer.url.path == "/sign-in"


async def test_each_page_says_what_it_may_not_do(browser: aiohttp.ClientSession) -> None:
    await signed_in(browser)
    for path in ("/", "/jobs", "/nothing-here"):
        async with browser.get(path) as answer:
            for name, value in SECURITY_HEADERS:
                assert answer.headers[name.decode()] == value.decode()


async def test_what_is_not_there_is_told_on_a_page(browser: aiohttp.ClientSession) -> None:
    await signed_in(browser)
    async with browser.get("/nothing-here") as answer:
        text = await answer.text()
    assert (answer.status, text.count("There is no such page</h1>")) == (404, 1)
    assert "Nothing is at /nothing-here." in text
