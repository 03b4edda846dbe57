"""What a page must not do is noticed: else no test of the page would find it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser, Page
from tests.web.browser import NARROW, Visit, too_wide, unusable, visiting

SITE = "http://127.0.0.1:9"


@pytest_asyncio.fixture(loop_scope="session")
async def stranger(browser: Browser) -> AsyncIterator[Visit]:
    """Somebody who visits pages that are not ours."""
    async with visiting(browser, SITE, size=NARROW) as stranger:
        yield stranger


async def test_errors_of_scripts_are_noticed(stranger: Visit) -> None:
    page = await stranger.page()
    await page.set_content("<script>console.error('odd')</script><script>throw 'worse'</script>")
    assert stranger.faults == ["console: odd ()", "uncaught: worse"]


async def test_a_request_to_another_host_is_noticed(stranger: Visit) -> None:
    page = await stranger.page()
    await page.set_content("<img src='http://fonts.example.com/a.png'><img src='data:,'>")
    assert "request to another host: http://fonts.example.com/a.png" in stranger.faults


async def test_an_expected_fault_is_none(stranger: Visit) -> None:
    stranger.expect("odd")
    page = await stranger.page()
    await page.set_content("<script>console.error('odd'); console.error('other')</script>")
    assert stranger.faults == ["console: other ()"]


async def test_what_shuts_people_out_is_found(stranger: Visit) -> None:
    page = await stranger.page()
    await _show(page, "<img src='data:,'><p style='color: #aaa; background: #fff'>pale</p>")
    assert [found.partition(" ")[0] for found in await unusable(page)] == [
        "color-contrast",
        "image-alt",
    ]


async def test_what_is_too_wide_for_a_phone_is_found(stranger: Visit) -> None:
    page = await stranger.page()
    await _show(page, "<div id='wide' style='width: 900px'>x</div>")
    assert [found.partition(" style")[0] for found in await too_wide(page)] == ['<div id="wide"']


async def test_a_table_that_scrolls_by_itself_is_not_too_wide(stranger: Visit) -> None:
    page = await stranger.page()
    await _show(page, "<div style='overflow-x: auto'><p style='width: 900px'>x</p></div>")
    assert await too_wide(page) == []


async def _show(page: Page, body: str) -> None:
    await page.set_content(
        "<!doctype html><html lang='en'><title>A page</title><meta name='viewport'"
        f" content='width=device-width'><main><h1>A page</h1>{body}</main></html>"
    )
