"""Limits under load, while random processes are killed; judged by the target that was called.

    python -m tests.e2e.limits --seconds 60 --limit 3 --every 5
    python -m tests.e2e.limits --seconds 20 --limit 3 --every 0     # nobody is killed: throughput

The suite runs a shorter form of it.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable
from datetime import timedelta
from random import Random
from uuid import UUID

from tests.e2e.cluster import BRISK, Cluster

from matins.testing.call_recorder import Call, read_calls

ROLES = ("scheduler", "scheduler", "scheduler", "executor", "executor")
KEY = "vendor-x"
_NS = 1_000_000_000


def most_at_once(calls: Iterable[Call], lost: dict[tuple[UUID, int], int], cut_off_ns: int) -> int:
    """Return how many calls there were at once at most.

    A call whose executor was killed counts until its executor would have ended it, or until the
    target saw the caller leave.
    """
    edges = []
    for call in calls:
        assert call.run_id is not None
        end = call.ended_ns
        if end is None:
            end = min(call.arrived_ns + cut_off_ns, lost.get((call.run_id, call.attempt), 2**63))
        edges += [(call.arrived_ns, 1), (end, -1)]
    count = most = 0
    for _, step in sorted(edges):
        count += step
        most = max(most, count)
    return most


async def limits(
    cluster: Cluster, seconds: int, limit: int, jobs: int, every_s: float, seed: int
) -> dict[str, float]:
    """Offer `jobs` runs a second to a limit, each of which takes 100 ms; return the figures.

    Every `every_s` seconds a process is killed and started again; 0: none is.
    """
    rng = Random(seed)
    killable = [await cluster.start("api") for _ in range(2)]
    killable += [await cluster.start(role) for role in ROLES]
    first = await cluster.whole_second(4 + jobs // 50)
    end = first + timedelta(seconds=seconds)
    await cluster.put_every_second(
        jobs,
        first,
        end,
        target={"http": {"url": f"{cluster.recorder.url}/slow?s=0.1"}},
        concurrency={"key": KEY, "limit": limit},
        retry={"backoff": {"initial": "1s"}},
    )
    await cluster.pass_by(first)
    while await cluster.now() < end:
        if every_s:
            victim = rng.choice(killable)
            await victim.kill()
            await victim.start()
        await asyncio.sleep(every_s or 1.0)
    calls = read_calls(cluster.folder / "calls")
    attempts = await cluster.rows(
        "SELECT run_id, number, finished_at FROM attempts WHERE outcome = 'lost'"
    )
    lost = {
        (row["run_id"], row["number"]): int(row["finished_at"].timestamp() * _NS)
        for row in attempts
    }
    permits = await cluster.value(
        "SELECT count(*) FROM permits p WHERE NOT EXISTS (SELECT FROM runs r"
        " WHERE r.id = p.run_id AND r.state IN ('queued', 'running'))"
    )
    held_s = await cluster.value(
        "SELECT extract(epoch FROM avg(finished_at - started_at))::float8 FROM attempts"
        " WHERE outcome = 'succeeded'"
    )
    cut_off_ns = int(float(BRISK["MATINS_CUT_OFF"].removesuffix("s")) * _NS)
    return {
        "calls": len(calls),
        "most at once": most_at_once(calls, lost, cut_off_ns),
        "calls a second": len(calls) / seconds,
        "ms from hand-out to record": 1000 * held_s,
        "ms from record to hand-out": 1000 * (limit * seconds / len(calls) - held_s),
        "permits of runs that are over": permits,
    }


async def main(given: argparse.Namespace) -> dict[str, float]:
    """Play it on engines of its own."""
    async with Cluster() as cluster:
        return await limits(
            cluster, given.seconds, given.limit, given.jobs, given.every, given.seed
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--limit", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--every", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    figures = asyncio.run(main(given))
    print(", ".join(f"{number:g} {what}" for what, number in figures.items()))
    assert figures["most at once"] <= given.limit
