"""Many processes of each role, and faults under load: nothing is lost, doubled or left open."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from random import Random

from tests.e2e.cluster import Cluster

SECONDS = 15
JOBS = 100


async def test_random_kills_of_any_role_lose_and_double_nothing() -> None:
    rng = Random(20261129)
    async with Cluster() as cluster:
        for _ in range(2):
            await cluster.start("api")
        killable = [await cluster.start("scheduler") for _ in range(3)]
        killable += [await cluster.start("executor") for _ in range(2)]
        killable += [role for role in cluster.roles if role.role == "api"]
        first = await cluster.whole_second(4)
        end = first + timedelta(seconds=SECONDS)
        await cluster.put_every_second(JOBS, first, end, retry={"backoff": {"initial": "1s"}})
        await cluster.pass_by(first)
        while await cluster.now() < end:
            victim = rng.choice(killable)
            await victim.kill()
            await victim.start()
            await asyncio.sleep(3)
        counts = await cluster.check(end)
    assert counts["due"] == SECONDS * JOBS
