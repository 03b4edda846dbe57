"""Runs that fail by a plan, while API and scheduler processes are killed at random moments.

    python -m tests.e2e.failures --kills 100 --seed 1

Each failed run must be tried again exactly as its policy says, and each dead letter and each alert
must exist once. The suite runs a shorter form of it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import msgspec
from tests.alerts.receivers import Hooks, webhooks
from tests.e2e.cluster import Cluster, until
from tests.e2e.failure_checks import (
    PLANS,
    Evidence,
    Plan,
    expected_notices,
    faults,
    figures,
    received,
)

from matins.testing.call_recorder import read_calls
from matins.testing.oracle import due_every

SETTINGS = {"MATINS_SECRET_KEYS": "c0" * 32, "MATINS_ALERT_LOOK": "500ms"}
NAMES = "SELECT id, name FROM jobs"
RUNS = "SELECT id, job_id, due_at, state, reason, attempt, finished_at FROM runs ORDER BY due_at"
ATTEMPTS = (
    "SELECT run_id, number, outcome, http_status, started_at, finished_at FROM attempts"
    " ORDER BY run_id, number"
)
LETTERS = "SELECT run_id, dead_at, dismissed_at, error, fingerprint FROM dead_letters"


class Load(msgspec.Struct, frozen=True):
    """So many jobs of each plan, due every so many seconds, until so many kills are over."""

    kills: int
    every_s: float
    """How long it takes from a kill to the next, on average."""
    jobs: int
    step_s: int

    @property
    def rounds(self) -> int:
        """How often each job is due."""
        return max(2, round(self.kills * self.every_s / self.step_s))

    def end(self, first: datetime) -> datetime:
        """Return an instant after which nothing is due."""
        return first + timedelta(seconds=self.rounds * self.step_s - 1)

    def times(self, first: datetime, number: int) -> tuple[datetime, datetime]:
        """Return when a job begins, one after the other in the first half, and is mended."""
        step = timedelta(seconds=self.step_s)
        begin = first + (number * self.rounds // (2 * self.jobs)) * step
        return begin, begin + self.rounds // 2 * step

    def schedule(self, begin: datetime, end: datetime) -> dict[str, Any]:
        """Return the schedule of a job."""
        anchor = {"anchor": begin.isoformat(), "starts_at": begin.isoformat()}
        return {"schedule": {"every": f"{self.step_s}s", **anchor, "ends_at": end.isoformat()}}


async def failures(
    cluster: Cluster, hooks: Hooks, load: Load, seed: int
) -> tuple[list[str], dict[str, int]]:
    """Play it; return what was wrong, and the figures."""
    apis = [await cluster.start("api", **SETTINGS) for _ in range(2)]
    schedulers = [await cluster.start("scheduler") for _ in range(3)]
    await cluster.start("executor")
    for plan in PLANS:
        await _put_channel(cluster, plan.name, hooks)
        await _put_channel(cluster, f"{plan.name}-again", hooks)
    first = await cluster.whole_second(4 + load.jobs // 5)
    mended_at = await _put_jobs(cluster, load, first)
    await until(lambda: _are_watched(cluster, len(mended_at)), 30)
    await cluster.pass_by(first)
    rng = Random(seed)
    for _ in range(load.kills):
        await asyncio.sleep(rng.uniform(0, 2 * load.every_s))
        victim = rng.choice([*apis, *schedulers])
        if victim in apis:  # one that is still starting does nothing that a kill could harm
            await cluster.ready(victim, cluster.urls[apis.index(victim)])
        await victim.kill()
        await victim.start()
    counts = await cluster.check(load.end(first))
    late = await _all_are_told(cluster, hooks, mended_at)
    evidence = await _evidence(cluster, hooks, mended_at)
    return late + faults(evidence), {"kills": load.kills} | counts | figures(evidence)


async def _put_channel(cluster: Cluster, name: str, hooks: Hooks) -> None:
    url = f"{cluster.urls[0]}/v1/teams/e2e/channels/{name}"
    async with cluster.http.put(url, json={"name": name, "webhook": hooks.url}) as answer:
        assert answer.status == 200, await answer.text()


async def _put_jobs(cluster: Cluster, load: Load, first: datetime) -> dict[str, datetime]:
    """Put the jobs of all plans, note when they are due, and return when each is mended."""
    end = load.end(first)
    begins, mended_at, specs = {}, {}, []
    for plan in PLANS:
        for number in range(load.jobs):
            name = f"{plan.name}-{number}"
            begins[name], mended_at[name] = load.times(first, number)
            url = f"{cluster.recorder.url}{plan.path(mended_at[name])}"
            specs.append(_spec(plan, name, url) | load.schedule(begins[name], end))
    url = f"{cluster.urls[0]}/v1/teams/e2e/jobs"
    async with cluster.http.put(url, json={"jobs": specs}) as answer:
        told = await answer.json()
        assert answer.status == 200, told
    for made, (name, begin) in zip(told, begins.items(), strict=True):
        job, since = UUID(made["job"]["id"]), begin - timedelta(seconds=1)
        cluster.due += due_every(job, name, load.step_s, anchor=begin, since=since, until=end)
    return mended_at


def _spec(plan: Plan, name: str, url: str) -> dict[str, Any]:
    """Return a job of a plan. What one rule tells goes to another channel than what others do, for
    a message about several jobs waits for a minute.
    """
    rules: list[dict[str, Any]] = [
        {"on": "dead", "to": [plan.name]},
        {"on": "recovered", "to": [plan.name]},
        {"on": "did_not_run", "off": True},
    ]
    if plan.fails_at_once:
        rules.append({"on": "failed", "times": 2, "to": [f"{plan.name}-again"]})
    target = {"http": {"url": url}}
    return {"name": name, "target": target, "retry": plan.retry, "alerts": rules}


async def _are_watched(cluster: Cluster, count: int) -> bool:
    sql = "SELECT count(*) FROM watches WHERE looked_at IS NOT NULL"
    return bool(await cluster.value(sql) == count)


async def _all_are_told(
    cluster: Cluster, hooks: Hooks, mended_at: dict[str, datetime]
) -> list[str]:
    """Wait until all has been told that is to be, and then for what might come besides."""
    expected = expected_notices(await _evidence(cluster, hooks, mended_at))

    async def told() -> bool:
        sql = "SELECT count(*) FROM deliveries WHERE ended_at IS NULL"
        return received(hooks.received).keys() >= expected.keys() and not await cluster.value(sql)

    try:
        await until(told, 180, 0.25)
    except AssertionError:
        return ["not all is told after three minutes"]
    await asyncio.sleep(2)
    return []


async def _evidence(cluster: Cluster, hooks: Hooks, mended_at: dict[str, datetime]) -> Evidence:
    return Evidence(
        mended_at=mended_at,
        names={row["id"]: row["name"] for row in await cluster.rows(NAMES)},
        calls=read_calls(cluster.folder / "calls"),
        runs=[dict(row) for row in await cluster.rows(RUNS)],
        attempts=[dict(row) for row in await cluster.rows(ATTEMPTS)],
        letters=[dict(row) for row in await cluster.rows(LETTERS)],
        messages=list(hooks.received),
    )


async def main(load: Load, seed: int) -> int:
    """Play it on engines of its own, with a receiver that takes its time; return an exit code."""
    async with webhooks() as hooks, Cluster() as cluster:
        hooks.slow_s = 3.0
        broken, counts = await failures(cluster, hooks, load, seed)
        print(", ".join(f"{number} {what}" for what, number in counts.items()))
        print(*(broken or ["Every promise was kept."]), sep="\n")
        return int(bool(broken))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--every", type=float, default=2.0)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--step", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sys.exit(asyncio.run(main(Load(given.kills, given.every, given.jobs, given.step), given.seed)))
