"""Takes pictures of every page: `python -m tests.web.pictures FOLDER [--only jobs]`.

They show a company with a month of runs, on a Matins that runs: wide and narrow, light and dark.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Literal

from playwright.async_api import Browser, Page
from tests.e2e.cluster import TOKEN, Cluster, until
from tests.web import company
from tests.web.addresses import addresses
from tests.web.browser import NARROW, WIDE, started, visiting
from tests.web.chromium import find_chromium
from tests.web.signing_in import sign_in

Theme = Literal["light", "dark"]

SIZES = {"wide": WIDE, "narrow": NARROW}
THEMES: tuple[Theme, ...] = ("light", "dark")
_HIGHEST = 1_800
_SETTLED_S = 1.5
"""What is live has come by then."""


async def main(given: argparse.Namespace) -> None:
    """Found the company, and take the pictures."""
    program = find_chromium()
    assert program, "no Chromium was found"
    given.folder.mkdir(parents=True, exist_ok=True)
    async with _company() as cluster, started(program) as browser:
        pages = addresses(await company.examples(cluster)) | company.VIEWS
        chosen = {path: at for path, at in pages.items() if given.only in path}
        for (size, pixels), theme in product(SIZES.items(), THEMES):
            await _take(browser, cluster.urls[0], chosen, given.folder, (size, pixels, theme))


async def _take(
    browser: Browser,
    url: str,
    pages: dict[str, str],
    folder: Path,
    look: tuple[str, tuple[int, int], Theme],
) -> None:
    size, pixels, theme = look
    async with visiting(browser, url, size=pixels, color_scheme=theme) as visit:
        page = await visit.page()
        await sign_in(page, TOKEN)
        for template, address in pages.items():
            name = re.sub(r"\W+", "-", template).strip("-") or "overview"
            await _show(page, address)
            height = await page.evaluate("document.documentElement.scrollHeight")
            path = folder / f"{name}-{size}-{theme}.png"
            seen = min(height, _HIGHEST)
            await page.screenshot(
                path=path,
                full_page=True,
                clip={"x": 0, "y": 0, "width": pixels[0], "height": seen},
            )
        for fault in visit.faults:
            print(f"{size}, {theme}: {fault}")


async def _show(page: Page, address: str) -> None:
    await page.goto(address, wait_until="load")
    await page.evaluate("document.fonts.ready")
    await asyncio.sleep(_SETTLED_S)


@asynccontextmanager
async def _company() -> AsyncIterator[Cluster]:
    """A company whose jobs run."""
    async with Cluster(MATINS_LOG_LEVEL="warning") as cluster:
        await cluster.start("api")
        await company.found(cluster)
        for name in ("scheduler-1", "scheduler-2"):
            await cluster.start("scheduler", MATINS_NAME=name)
        for name in ("fra-1", "fra-2"):
            await cluster.start("executor", MATINS_NAME=name, **company.environment(cluster.folder))

        async def is_busy() -> bool:
            running = await cluster.value("SELECT count(*) FROM runs WHERE state = 'running'")
            return bool(running)

        await until(is_busy, 90)
        yield cluster


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, default=Path("docs/images"), nargs="?")
    parser.add_argument("--only", default="", help="pages whose path has this in it")
    asyncio.run(main(parser.parse_args()))
