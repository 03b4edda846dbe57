"""Schedulers are restarted one after the other under load: nothing is lost, nothing comes twice."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from tests.e2e.cluster import Cluster, until
from tests.e2e.commands import type_command

JOBS = 60
SECONDS = 20
HELD = (
    "SELECT count(DISTINCT holder) FROM leases WHERE expires_at > now() HAVING count(holder) = 256"
)


async def test_a_rolling_restart_of_all_schedulers_loses_and_doubles_nothing(
    cluster: Cluster,
) -> None:
    await cluster.start("api")
    schedulers = [await cluster.start("scheduler") for _ in range(3)]
    await cluster.start("executor")
    first = await cluster.whole_second(5)
    end = first + timedelta(seconds=SECONDS)
    await cluster.put_every_second(JOBS, first, end)
    await cluster.pass_by(first + timedelta(seconds=2))
    for scheduler in schedulers:
        assert await scheduler.end() == 0
        assert scheduler.said("leases.offered")
        await scheduler.start()
        await until(lambda: _all_hold(cluster, 3), 20)
    await cluster.pass_by(end)
    counts = await cluster.check(end)
    assert counts["runs succeeded"] >= JOBS * SECONDS


async def test_the_cluster_is_shown_and_a_partition_without_holder_is_told(
    cluster: Cluster,
) -> None:
    """CL-22."""
    await cluster.start("api")
    assert (await _shown(cluster))[0] == 1
    scheduler = await cluster.start("scheduler", MATINS_NAME="bell")
    await until(lambda: _all_hold(cluster, 1), 20)
    code, told = await _shown(cluster)
    assert code == 0
    [shown] = told["schedulers"]
    assert (shown["state"], len(shown["partitions"])) == ("alive", 256)
    assert shown["name"] in ("", "bell")  # told with the first renewal that follows
    await scheduler.end()
    code, told = await _shown(cluster)
    assert (code, told["schedulers"]) == (1, [])
    assert told["without_holder"] == list(range(256))


async def _all_hold(cluster: Cluster, count: int) -> bool:
    return bool(await cluster.value(HELD) == count)


async def _shown(cluster: Cluster) -> tuple[int | None, dict[str, Any]]:
    code, output = await type_command(cluster, "matins", "cluster", "--json")
    return code, json.loads(output)
