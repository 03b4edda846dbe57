"""How long each page takes: on the server, and in a browser until it can be used.

    python -m bench.web [--jobs 100000] [--runs 5000000] [--only large] [--folder /tmp/...]

Three databases: an empty one, a small one and a large one, which stay in the folder: the large one
takes minutes to fill, and is as good the next time.
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
from bench.processes import roles
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


class Figures(NamedTuple):
    """Milliseconds: of the server (median and 95 %), to the first paint, and to the load."""

    p50: float
    p95: float
    paint: float
    load: float
    kib: float


async def main(given: argparse.Namespace) -> None:
    """Fill what is missing, measure and print."""
    program = find_chromium()
    assert program, "no Chromium was found"
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
                print(f"{size}: {told}")
                await _measure(browser, r.urls[0], examples)


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


async def _measure(browser: Browser, url: str, examples: Mapping[str, object]) -> None:
    known = {name: str(value) for name, value in examples.items() if value is not None}
    print(f"{'ms':44}{'p50':>8}{'p95':>8}{'paint':>8}{'load':>8}{'KiB':>8}")
    async with visiting(browser, url) as visit:
        page = await visit.page()
        await sign_in(page, TOKEN)
        cookies = {c["name"]: c["value"] for c in await page.context.cookies()}
        async with aiohttp.ClientSession(url, cookies=cookies) as client:
            for template, address in addresses(known).items():
                figures = await _page(client, page, address)
                cells = "".join(f"{figure:8,.0f}" for figure in figures)
                print(f"{template:44}{cells}")
        for fault in visit.faults:
            print(f"  {fault}")


async def _page(client: aiohttp.ClientSession, page: Page, address: str) -> Figures:
    spent, size = [], 0
    for _ in range(_TIMES):
        begun = elapsed_s()
        async with client.get(address, headers={"Accept": "text/html"}) as answer:
            size = len(await answer.read())
            assert answer.status == 200, (address, answer.status)
        spent.append(1000 * (elapsed_s() - begun))
    painted, loaded = [], []
    for _ in range(_VISITS):
        await page.goto(address, wait_until="load")
        await page.wait_for_function("performance.timing.loadEventEnd > 0")
        paint, load = await page.evaluate(_PAINTED)
        painted.append(paint)
        loaded.append(load)
    p95 = quantiles(spent, n=20)[-1]
    return Figures(median(spent), p95, median(painted), median(loaded), size / 1024)


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
