"""Load, and a random process killed every few seconds; judged by the history checker.

    python -m tests.e2e.chaos --seconds 60 --jobs 500 --every 5

The suite runs a shorter form of it.
"""

from __future__ import annotations

import argparse
import asyncio
from datetime import timedelta
from random import Random

from tests.e2e.cluster import Cluster

ROLES = ("scheduler", "scheduler", "scheduler", "executor", "executor")


async def chaos(seconds: int, jobs: int, every_s: float, seed: int) -> dict[str, int]:
    """Three schedulers, two APIs, two executors, and jobs due each second; gives the counts.

    Every `every_s` seconds one process, drawn from the seed, is killed and started again. Raises
    AssertionError with the checker's report if anything was lost, doubled or left open.
    """
    rng = Random(seed)
    async with Cluster() as cluster:
        killable = [await cluster.start("api") for _ in range(2)]
        killable += [await cluster.start(role) for role in ROLES]
        first = await cluster.whole_second(4 + jobs // 50)
        end = first + timedelta(seconds=seconds)
        await cluster.put_every_second(jobs, first, end, retry={"backoff": {"initial": "1s"}})
        await cluster.pass_by(first)
        while await cluster.now() < end:
            victim = rng.choice(killable)
            await victim.kill()
            await victim.start()
            await asyncio.sleep(every_s)
        return await cluster.check(end)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--every", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    counts = asyncio.run(chaos(given.seconds, given.jobs, given.every, given.seed))
    print(", ".join(f"{number} {what}" for what, number in counts.items()))
    print("Every promise was kept.")
