"""How long each page takes: on the server, and in a browser until it can be used.

    python -m bench.web [--jobs 100000] [--runs 5000000] [--only large] [--folder /tmp/...]

Three databases: an empty one, a small one and a large one, which stay in the folder: the large one
takes minutes to fill, and is as good the next time. Of each page the server's median and 95 % of
times are told, the processor time that a view of it costs the API, and how long a browser takes
until it shows something and until all of it can be used.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

import aiohttp
import asyncpg
import uvloop
from playwright.async_api import Browser, Page
from tests.web.addresses import addresses
from tests.web.browser import started, visiting
from tests.web.chromium import find_chromium
from tests.web.signing_in import sign_in

from bench import crowd
from bench.ground import postgres
from bench.processes import Roles, roles
from matins.kernel.clock import elapsed_s

FOLDER = Path("/tmp/matins-bench-web")
SIZES = ("empty", "small", "large")
SMALL = (40, 4_000)
TOKEN = "bench"
_TIMES = 20
_VISITS = 5
_PAINTED = """() => {
    const [visit] = performance.getEntriesByType('navigation');
    const paint = performance.getEntriesByName('first-contentful-paint')[0];
    return [paint ? paint.startTime : 0, visit.loadEventEnd];
}"""


LIMIT_MS = 200
USABLE_MS = 1_000

_HEAD = ("p50", "p95", "CPU", "paint", "usable", "KiB")


class Figures(NamedTuple):
    """Milliseconds: of the server (the first time, then median and 95 %), its processor time,
    to the first paint, and until the page can be used.
    """

    first: float
    p50: float
    p95: float
    cpu: float
    paint: float
    usable: float
    kib: float


async def main(given: argparse.Namespace) -> None:
    """Fill what is missing, measure and print."""
    program = find_chromium()
    assert program, "no Chromium was found"
    begun = elapsed_s()
    slow: list[str] = []
    async with started(program) as browser:
        for size in [given.only] if given.only else SIZES:
            jobs, runs = {"empty": (0, 0), "small": SMALL, "large": (given.jobs, given.runs)}[size]
            folder = given.folder / f"{size}-{jobs}-{runs}"
            await _fill(folder, jobs, runs)
            async with postgres(folder) as dsn, roles(folder, dsn, schedulers=0, executors=0) as r:
                session = await asyncpg.connect(dsn)
                await session.execute(_ALIVE)
                examples = dict(await session.fetchrow(_EXAMPLES) or {})
                counts = await session.fetchrow(crowd.COUNTS)
                await session.close()
                assert counts is not None
                told = ", ".join(f"{count:,} {name}" for name, count in counts.items())
                print(f"\n{size}: {told}", flush=True)
                slow += [f"{size} {page}" for page in await _measure(browser, r, examples)]
    print(f"\n{elapsed_s() - begun:.0f} s; beyond {LIMIT_MS} ms or usable in over 1 s: {slow or 0}")


async def _fill(folder: Path, jobs: int, runs: int) -> None:
    mark = folder / "filled"
    if mark.exists():
        return
    await asyncio.to_thread(folder.mkdir, 0o755, parents=True)
    begun = elapsed_s()
    async with postgres(folder, crowd.FAST) as dsn:
        if jobs:
            await crowd.fill(dsn, jobs, runs)
    mark.touch()
    print(f"{folder} was filled in {elapsed_s() - begun:.0f} s")


async def _measure(browser: Browser, served: Roles, examples: Mapping[str, object]) -> list[str]:
    """Print a line for each page; return those that are too slow."""
    url, slow = served.urls[0], []
    known = {name: str(value) for name, value in examples.items() if value is not None}
    print(f"{'ms':44}{'first':>8}" + "".join(f"{name:>8}" for name in _HEAD), flush=True)
    async with visiting(browser, url) as visit:
        page = await visit.page()
        await sign_in(page, TOKEN)
        cookies = {c["name"]: c["value"] for c in await page.context.cookies()}
        async with aiohttp.ClientSession(url, cookies=cookies) as client:
            for template, address in _pages(known).items():
                figures = await _page(client, page, address, served)
                cells = "".join(f"{figure:8,.0f}" for figure in figures)
                print(f"{template:44}{cells}", flush=True)
                if figures.p95 > LIMIT_MS or figures.usable > USABLE_MS:
                    slow.append(template)
        for fault in visit.faults:
            print(f"  {fault}")
    return slow


def _pages(known: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses of all pages, and of those that one finds by asking for something."""
    asked = {
        "/jobs?q=sync (finds some)": "/jobs?q=sync",
        "/jobs?q=zzz (finds none)": "/jobs?q=zzz",
        "/runs?state=dead": "/runs?state=dead",
        "/sign-in": "/sign-in",
    }
    return addresses(known) | asked


async def _page(client: aiohttp.ClientSession, page: Page, address: str, served: Roles) -> Figures:
    spent, size = [], 0
    used_s = served.cpu()["api"]
    for _ in range(_TIMES):
        begun = elapsed_s()
        async with client.get(address, headers={"Accept": "text/html"}) as answer:
            size = len(await answer.read())
            assert answer.status == 200, (address, answer.status)
        spent.append(1000 * (elapsed_s() - begun))
    used_s = served.cpu()["api"] - used_s
    painted, loaded = [], []
    for _ in range(_VISITS):
        await page.goto(address, wait_until="load")
        await page.wait_for_function("performance.timing.loadEventEnd > 0")
        paint, load = await page.evaluate(_PAINTED)
        painted.append(paint)
        loaded.append(load)
    first, *spent = spent
    server = (first, median(spent), quantiles(spent, n=20)[-1], 1000 * used_s / _TIMES)
    return Figures(*server, median(painted), median(loaded), size / 1024)


_ALIVE = """
WITH schedulers AS (
    INSERT INTO schedulers (
        id, renewed_at, expires_at, watermark, settled, name, version, since, wheel_size,
        clock_offset_s, lag_s
    )
    SELECT md5('scheduler ' || n)::uuid, now(), now() + interval '1 hour', now(), '{}',
           'scheduler-' || n, '0.1.0', now() - interval '2 days', 300, 0.0002, 0.02
    FROM generate_series(1, 3) AS n
    ON CONFLICT (id) DO UPDATE SET renewed_at = now(), expires_at = now() + interval '1 hour'
),
executors AS (
    INSERT INTO executors (
        id, name, pools, slots, partition, first_heartbeat_at, heartbeat_at, first_seq
    )
    SELECT md5('executor ' || n)::uuid, 'executor-' || n, '{default,batch,gpu}', 64, n, now(),
           now() + interval '1 hour', 1
    FROM generate_series(0, 39) AS n
    ON CONFLICT (id) DO UPDATE SET heartbeat_at = now() + interval '1 hour'
)
UPDATE partitions
SET epoch = 3, holder = md5('scheduler ' || 1 + partition % 3)::uuid, expires_at = 'infinity',
    watermark = now()
"""

_EXAMPLES = """
SELECT t.name AS team, j.name, r.id AS run_id, b.id AS backfill_id
FROM runs r
JOIN jobs j ON j.id = r.job_id
JOIN teams t ON t.id = j.team_id
LEFT JOIN LATERAL (SELECT id FROM backfills LIMIT 1) AS b ON true
WHERE r.state = 'dead'
LIMIT 1
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5_000_000)
    parser.add_argument("--only", choices=SIZES)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    uvloop.run(main(parser.parse_args()))
