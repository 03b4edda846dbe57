"""A replay of many dead letters over real processes goes on, whoever dies."""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID

from tests.e2e.cluster import Cluster, until

from matins.testing.call_recorder import read_calls

RUNS = 15
DEAD = "SELECT count(*) FROM dead_letters WHERE dismissed_at IS NULL"


async def ask(cluster: Cluster, method: str, path: str, body: object = None) -> dict[str, Any]:
    async with cluster.http.request(method, f"{cluster.urls[0]}{path}", json=body) as answer:
        told: dict[str, Any] = await answer.json()
        assert answer.status in (200, 201, 202), told
        return told


async def let_die(cluster: Cluster) -> list[UUID]:
    """Return runs that have failed for good, of a job whose target is mended since."""
    spec: dict[str, Any] = {"overlap": "allow", "retry": {"attempts": 1}}
    broken = {"http": {"url": f"{cluster.recorder.url}/status/500"}}
    await cluster.put_job("order", target=broken, **spec)
    path = "/v1/teams/e2e/jobs/order/trigger"
    runs = [UUID((await ask(cluster, "POST", path))["id"]) for _ in range(RUNS)]

    async def all_dead() -> bool:
        return bool(await cluster.value(DEAD) == RUNS)

    await until(all_dead, 60)
    await cluster.put_job("order", **spec)
    return runs


async def test_each_letter_is_replayed_once_though_the_scheduler_is_killed(
    cluster: Cluster,
) -> None:
    await cluster.start("api")
    scheduler = await cluster.start("scheduler")
    await cluster.start("executor")
    runs = await let_die(cluster)
    wanted = {"everything": True, "rate": "3/s"}
    replay = (await ask(cluster, "POST", "/v1/teams/e2e/dead/replay", wanted))["id"]

    async def shown() -> dict[str, Any]:
        return await ask(cluster, "GET", f"/v1/replays/{replay}")

    async def has_begun() -> bool:
        return bool((await shown())["replayed"] >= 3)

    async def is_done() -> bool:
        return bool((await shown())["state"] == "done")

    async def all_succeeded() -> bool:
        done = "SELECT count(*) FROM runs WHERE state = 'succeeded'"
        return bool(await cluster.value(done) == RUNS)

    await until(has_begun, 30)
    await scheduler.kill()
    stopped = await shown()
    assert (stopped["state"], stopped["replayed"] < RUNS) == ("active", True)
    await scheduler.start()
    await until(is_done, 60)
    await until(all_succeeded, 30)
    ended = await shown()
    assert (ended["planned"], ended["replayed"], ended["left_out"]) == (RUNS, RUNS, 0)
    assert await cluster.value("SELECT count(*) FROM dead_letters") == 0
    attempts = await cluster.rows("SELECT run_id, number FROM attempts")
    assert sorted(map(tuple, attempts)) == sorted((run, n) for run in runs for n in (1, 2))
    calls = Counter((call.run_id, call.attempt) for call in read_calls(cluster.folder / "calls"))
    assert calls == Counter((run, n) for run in runs for n in (1, 2))
