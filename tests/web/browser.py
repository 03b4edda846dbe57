"""Headless Chromium, watched for all that must not happen on a page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    StorageState,
    async_playwright,
)

WIDE = (1440, 900)
NARROW = (390, 844)

_QUIET = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    # no name is asked for: what a page would load from elsewhere fails at once
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
_WAIT_MS = 20_000
_AXE = """async (rules) => {
    const only = rules.length ? {runOnly: {type: 'rule', values: rules}} : {};
    return (await axe.run({resultTypes: ['violations'], ...only})).violations;
}"""
_TOO_WIDE = """() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    return [...document.querySelectorAll('body *')]
        .filter(element => element.getBoundingClientRect().right > width + 1)
        .map(element => element.outerHTML.slice(0, 120))
        .slice(0, 8);
}"""


@asynccontextmanager
async def started(program: str) -> AsyncIterator[Browser]:
    """A browser with a profile of its own, in a folder that goes with it."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=_QUIET)
        yield browser
        await browser.close()


class Visit:
    """Pages of one visitor of a site. `faults` has what went wrong in any of them."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.faults: list[str] = []
        self._context = context
        self._expected: list[str] = []
        context.on("console", self._heard)
        context.on("weberror", lambda error: self._note(f"uncaught: {error.error}"))
        context.on("request", self._requested)
        context.set_default_timeout(_WAIT_MS)

    async def page(self) -> Page:
        """Open one more tab."""
        return await self._context.new_page()

    def expect(self, words: str) -> None:
        """Take a fault that has these words as what the test is about."""
        self._expected.append(words)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._note(f"console: {message.text} ({message.location.get('url', '')})")

    def _requested(self, request: Request) -> None:
        there = urlsplit(request.url)
        is_inside = there.scheme in ("data", "about", "blob")
        if not is_inside and f"{there.scheme}://{there.netloc}" != self.url:
            self._note(f"request to another host: {request.url}")

    def _note(self, fault: str) -> None:
        if not any(words in fault for words in self._expected):
            self.faults.append(fault)


@asynccontextmanager
async def visiting(
    browser: Browser,
    url: str,
    *,
    size: tuple[int, int] = WIDE,
    signed_in: StorageState | None = None,
    **options: Any,
) -> AsyncIterator[Visit]:
    """A visitor with cookies of their own, or those of someone who has signed in."""
    width, height = size
    context = await browser.new_context(
        base_url=url,
        viewport={"width": width, "height": height},
        storage_state=signed_in,
        locale="en-GB",
        **options,
    )
    try:
        yield Visit(context, url)
    finally:
        await context.close()


async def unusable(page: Page, *rules: str) -> list[str]:
    """Return what axe-core finds on a page that is serious or critical, one line for each rule.

    It asks the rules that are named, or else all.
    """
    await page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    violations: list[dict[str, Any]] = await page.evaluate(_AXE, rules)
    return [
        f"{found['id']} ({found['impact']}): {found['help']}: "
        + "; ".join(f"{node['target']} {node['html'][:120]}" for node in found["nodes"][:5])
        for found in violations
        if found["impact"] in ("serious", "critical")
    ]


async def too_wide(page: Page) -> list[str]:
    """Return what makes a page wider than its window; nothing where it does not scroll sideways."""
    wide: list[str] = await page.evaluate(_TOO_WIDE)
    return wide
