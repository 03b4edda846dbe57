"""Takes pictures of the pages: `python -m tests.web.pictures [--only job] [--all --into DIR]`.

They show a company with a month of runs, on a Matins that runs. With `--all` each page is taken
wide and narrow, light and dark; without, only what the documentation shows. Where pngquant is
installed it makes the files a third as large.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple

from playwright.async_api import Browser, Page
from tests.e2e.cluster import TOKEN, Cluster, until
from tests.web import company
from tests.web.browser import NARROW, WIDE, started, too_wide, visiting
from tests.web.calling import call
from tests.web.chromium import find_chromium
from tests.web.company.past import write_tallies
from tests.web.signing_in import sign_in

Theme = Literal["light", "dark"]

_HIGHEST: Final = 1_800
_SETTLED_S: Final = 1.5
"""What is live has come by then."""

_SHOPS: Final = 90


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
SHOWN = {
    **dict.fromkeys(("overview", "job", "run"), LOOKS),
    **dict.fromkeys(("jobs", "calendar", "cluster"), LOOKS[:2]),
    **dict.fromkeys(
        (
            *("job-edit", "job-revisions", "job-why", "runs", "run-failed", "dead", "backfills"),
            *("chains", "teams", "team", "playground"),
        ),
        LOOKS[:1],
    ),
}
"""The looks in which the documentation shows pages."""


async def main(given: argparse.Namespace) -> None:
    """Found the company, and take the pictures."""
    program = find_chromium()
    assert program, "no Chromium was found"
    given.into.mkdir(parents=True, exist_ok=True)
    async with _company() as cluster, started(program) as browser:
        for look in LOOKS:
            await call(cluster, "POST", f"teams/{company.LONG}/trigger", {})
            await asyncio.sleep(3)  # so that it has something to show
            pages = await company.views(cluster)
            chosen = {
                name: path
                for name, path in pages.items()
                if given.only in name and (given.all or look in SHOWN.get(name, ()))
            }
            await _take(browser, cluster.urls[0], chosen, given.into, look)
    _squeeze(given.into)


async def _take(
    browser: Browser, url: str, pages: dict[str, str], folder: Path, look: Look
) -> None:
    pixels = WIDE if look.size == "wide" else NARROW
    async with visiting(browser, url, size=pixels, color_scheme=look.theme) as visit:
        page = await visit.page()
        if "sign-in" in pages:
            await _picture(page, folder / f"sign-in{look.suffix}.png", "/sign-in", pixels)
        await sign_in(page, TOKEN)
        visit.expect("the server responded with a status of 404")
        for name, address in pages.items():
            if name != "sign-in":
                await _picture(page, folder / f"{name}{look.suffix}.png", address, pixels)
        for fault in visit.faults:
            print(f"{look}: {fault}")


async def _picture(page: Page, path: Path, address: str, pixels: tuple[int, int]) -> None:
    await page.goto(address, wait_until="load")
    await page.evaluate("document.fonts.ready")
    await asyncio.sleep(_SETTLED_S)
    height = await page.evaluate("document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": pixels[0], "height": min(height, _HIGHEST)}
    await page.screenshot(path=path, full_page=True, clip=clip)  # type: ignore[arg-type] # it is one
    for wide in await too_wide(page):
        print(f"{path.name} scrolls sideways: {wide}")


def _squeeze(folder: Path) -> None:
    """Let pictures have 256 colours, which nobody sees."""
    program = shutil.which("pngquant")
    if program is None:
        print("pngquant is not installed: the pictures stay three times as large")
        return
    for path in sorted(folder.glob("*.png")):
        subprocess.run([program, "--strip", "--force", "--output", path, "256", path], check=True)


@asynccontextmanager
async def _company() -> AsyncIterator[Cluster]:
    """A company whose jobs run."""
    async with Cluster(MATINS_LOG_LEVEL="warning") as cluster:
        await cluster.start("api")
        since = await cluster.now()
        await company.found(cluster, shops_count=_SHOPS)
        for name in ("scheduler-1", "scheduler-2"):
            await cluster.start("scheduler", MATINS_NAME=name)
        for name in ("fra-1", "fra-2"):
            await cluster.start("executor", MATINS_NAME=name, **company.environment(cluster.folder))

        async def is_busy() -> bool:
            runs = await cluster.value("SELECT count(*) FROM runs WHERE state = 'running'")
            return bool(runs)

        await until(is_busy, 90)
        await asyncio.sleep(15)  # what was due meanwhile has been made up for
        await write_tallies(cluster.dsn, since)
        yield cluster


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=Path("docs/images"), metavar="DIR")
    parser.add_argument("--only", default="", help="pages whose name has this in it")
    parser.add_argument("--all", action="store_true", help="each page in each look")
    asyncio.run(main(parser.parse_args()))
