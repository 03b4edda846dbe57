"""Takes pictures of the pages: `python -m tests.web.pictures [FOLDER] [--only job] [--all]`.

They show a company with a month of runs, on a Matins that runs. With `--all` each page is taken
wide and narrow, light and dark; without, only what the documentation shows.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from playwright.async_api import Browser, Page
from tests.e2e.cluster import TOKEN, Cluster, until
from tests.web import company
from tests.web.browser import NARROW, WIDE, started, visiting
from tests.web.calling import call
from tests.web.chromium import find_chromium
from tests.web.signing_in import sign_in

Theme = Literal["light", "dark"]

_HIGHEST = 1_800
_SETTLED_S = 1.5
"""What is live has come by then."""


class Look(NamedTuple):
    """How a page is taken."""

    size: Literal["wide", "narrow"] = "wide"
    theme: Theme = "light"

    @property
    def suffix(self) -> str:
        """What the name of the picture ends with."""
        parts = [self.size] * (self.size != "wide") + [self.theme] * (self.theme != "light")
        return "".join(f"-{part}" for part in parts)


LOOKS = [Look(), Look(theme="dark"), Look("narrow"), Look("narrow", "dark")]
SHOWN = {"overview": LOOKS, "job": LOOKS, "run": LOOKS}
"""The pages that the documentation shows in each look; of all others, it is the first."""


async def main(given: argparse.Namespace) -> None:
    """Found the company, and take the pictures."""
    program = find_chromium()
    assert program, "no Chromium was found"
    given.folder.mkdir(parents=True, exist_ok=True)
    async with _company() as cluster, started(program) as browser:
        for look in LOOKS:
            await call(cluster, "POST", f"teams/{company.LONG}/trigger", {})
            await asyncio.sleep(3)  # so that it has something to show
            pages = await company.views(cluster)
            chosen = {
                name: path
                for name, path in pages.items()
                if given.only in name and (given.all or look in SHOWN.get(name, LOOKS[:1]))
            }
            await _take(browser, cluster.urls[0], chosen, given.folder, look)


async def _take(
    browser: Browser, url: str, pages: dict[str, str], folder: Path, look: Look
) -> None:
    pixels = WIDE if look.size == "wide" else NARROW
    async with visiting(browser, url, size=pixels, color_scheme=look.theme) as visit:
        page = await visit.page()
        await sign_in(page, TOKEN)
        for name, address in pages.items():
            await _show(page, address)
            height = await page.evaluate("document.documentElement.scrollHeight")
            await page.screenshot(
                path=folder / f"{name}{look.suffix}.png",
                full_page=True,
                clip={"x": 0, "y": 0, "width": pixels[0], "height": min(height, _HIGHEST)},
            )
        for fault in visit.faults:
            print(f"{look}: {fault}")


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
            runs = await cluster.value("SELECT count(*) FROM runs WHERE state = 'running'")
            return bool(runs)

        await until(is_busy, 90)
        yield cluster


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, default=Path("docs/images"), nargs="?")
    parser.add_argument("--only", default="", help="pages whose name has this in it")
    parser.add_argument("--all", action="store_true", help="each page in each look")
    asyncio.run(main(parser.parse_args()))
