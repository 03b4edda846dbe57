"""What is true of every page, whatever it shows: it can be used by everybody, and on a phone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page
from tests.conftest import fresh_database
from tests.e2e.cluster import TOKEN, Cluster
from tests.web import company
from tests.web.addresses import addresses, parameters, templates
from tests.web.browser import NARROW, Visit, too_wide, unusable, visiting
from tests.web.conftest import SETTINGS, shared
from tests.web.signing_in import sign_in


@shared()
async def pages(matins: Cluster) -> dict[str, str]:
    """The address of each page, of things that show something."""
    return addresses(await company.examples(matins))


@shared()
async def newcomer(postgres: str, valkey: str, browser: Browser) -> AsyncIterator[Visit]:
    """Somebody on a phone who has signed in where nothing is stored yet."""
    async with fresh_database(postgres) as dsn, Cluster((dsn, valkey), **SETTINGS) as cluster:
        await cluster.start("api")
        async with visiting(browser, cluster.urls[0], size=NARROW) as visit:
            await sign_in(await visit.page(), TOKEN)
            yield visit


@pytest.mark.parametrize("template", templates())
async def test_a_page_can_be_used_by_everybody(
    template: str, pages: dict[str, str], page: Page
) -> None:
    assert template in pages, f"company.examples lacks one of {parameters(template)}"
    if not await _is_page(page, pages[template]):
        return
    await page.goto(pages[template])
    assert await page.locator("h1").count() == 1
    assert await unusable(page) == []
    await page.emulate_media(color_scheme="dark")
    assert await unusable(page, "color-contrast") == []
    await page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    assert await too_wide(page) == []


@pytest.mark.parametrize("template", [path for path in templates() if not parameters(path)])
async def test_a_page_without_anything_to_show_says_so(template: str, newcomer: Visit) -> None:
    page = await newcomer.page()
    if await _is_page(page, template):
        await page.goto(template)
        assert await unusable(page) == []
        assert await too_wide(page) == []
    await page.close()
    assert newcomer.faults == []


async def _is_page(page: Page, address: str) -> bool:
    """Return whether it is a page of its own, and no part, file or stream."""
    answer = await page.context.request.get(address, headers={"Accept": "text/html"})
    assert answer.status == 200, (address, answer.status)
    return "<html" in await answer.text()
