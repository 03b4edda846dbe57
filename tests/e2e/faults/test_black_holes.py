"""PostgreSQL can't be reached any more, and nobody says so."""

from __future__ import annotations

import asyncio

from tests.e2e.cluster import Cluster, until
from tests.e2e.faults.scenes import (
    are_alive,
    check_load,
    load,
    postgres_proxy,
    start_all,
)

HOLE_S = 10
HEALED_S = 10


async def test_a_black_hole_before_postgres_is_over_soon_after_it_has_healed(
    cluster: Cluster,
) -> None:
    """PG-05: scheduler and API wait for nothing without an end, and nobody has to restart them."""
    async with postgres_proxy(cluster) as (proxy, dsn):
        cluster.settings["MATINS_POSTGRES"] = dsn
        await start_all(cluster)
        steady = await load(cluster, 40)

        proxy.hole()
        await asyncio.sleep(HOLE_S)
        await proxy.heal()
        healed_at = await cluster.now()

        async def is_normal() -> bool:
            return bool(
                await cluster.value(
                    "SELECT count(*) FROM runs WHERE due_at > $1 AND state = 'succeeded'"
                    " AND claimed_at < due_at + interval '1s'"
                    " AND finished_at < due_at + interval '2s'",
                    healed_at,
                )
            )

        await until(is_normal, HEALED_S)
        async with cluster.http.get(f"{cluster.urls[0]}/v1/teams/e2e/jobs/job-0") as answer:
            assert answer.status == 200
        await check_load(cluster, steady)
        assert are_alive(cluster.roles)
