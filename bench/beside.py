"""What APScheduler's in-memory store shows beside: no database, no queue and no other process.

    python -m bench.beside [--rate 500]

So many interval jobs are due at the start of each second; the lag is from there to their start.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from datetime import UTC, datetime, timedelta
from statistics import quantiles

import uvloop
from apscheduler.schedulers.asyncio import AsyncIOScheduler  # type: ignore[import-untyped]

SECONDS = 10


async def main(rate: int) -> None:
    """Measure and print."""
    starts: list[float] = []

    async def work() -> None:
        starts.append(time.time())

    scheduler = AsyncIOScheduler(timezone=UTC)
    first = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=3)
    last = first + timedelta(seconds=SECONDS - 1)
    for _ in range(rate):
        scheduler.add_job(work, "interval", seconds=1, start_date=first, end_date=last)
    scheduler.start()
    async with asyncio.timeout(120):
        while len(starts) < rate * SECONDS:
            await asyncio.sleep(0.5)
    scheduler.shutdown()
    lags = quantiles([start % 1 * 1000 for start in starts], n=100)
    print(
        f"APScheduler in memory, {rate}/s: due->start p50 {lags[49]:.0f} ms, p99 {lags[98]:.0f} ms"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=500)
    uvloop.run(main(parser.parse_args().rate))
