"""A scheduler that stands still loses its partitions, and does no harm when it goes on."""

from __future__ import annotations

import asyncio
import signal
from datetime import timedelta
from uuid import UUID

from tests.e2e.cluster import Cluster, Role, until
from tests.e2e.faults.scenes import (
    CLAIM,
    PARTITIONS,
    SECOND,
    AfterExecute,
    are_alive,
    check_load,
    claims_under,
    epochs_of,
    holdings,
    load,
    postgres_proxy,
    shared_by,
    start_all,
    start_scheduler,
    taken_over,
)

from matins.testing.evidence import Due
from matins.testing.proxy import Direction, Hold

TERM_S = 1.5
BRISK = {"MATINS_LEASE_TERM": f"{TERM_S * 1000:g}ms"}


async def test_frozen_for_three_lease_terms_it_is_replaced_and_fires_nothing_twice(
    cluster: Cluster,
) -> None:
    """CL-01: the successor takes over in time; after it nothing is claimed under an old epoch."""
    frozen = await start_all(cluster, **BRISK)
    successor = await start_scheduler(cluster, **BRISK)
    steady = await load(cluster, 60)

    epochs = await epochs_of(cluster, frozen.id)
    await until(lambda: claims_under(cluster, epochs, steady.first - SECOND), 10)
    frozen.role.signal(signal.SIGSTOP)
    frozen_at = await cluster.now()
    await taken_over(cluster, epochs, successor.id, TERM_S + 2)
    taken_over_at = await cluster.now()
    await cluster.pass_by(frozen_at + 3 * TERM_S * SECOND)
    frozen.role.signal(signal.SIGCONT)
    await shared_by(cluster, 2)

    counts = await check_load(cluster, steady)
    assert await claims_under(cluster, epochs, taken_over_at) == 0
    assert counts["take-overs"]


async def test_starved_of_processor_time_it_holds_up_no_other_and_recovers(
    cluster: Cluster,
) -> None:
    """CL-21: it runs for a twentieth of the time, for four lease terms."""
    starved = await start_all(cluster, **BRISK)
    await start_scheduler(cluster, **BRISK)
    steady = await load(cluster, 20)
    epochs = await epochs_of(cluster, starved.id)

    starving = asyncio.create_task(starve(starved.role))
    await cluster.pass_by(steady.first + 4 * TERM_S * SECOND)
    starving.cancel()
    starved.role.signal(signal.SIGCONT)
    await shared_by(cluster, 2)
    recovered_at = await cluster.whole_second(1)

    await check_load(cluster, steady)
    late = "SELECT count(*) FROM runs WHERE claimed_at > due_at + interval '2.5s'"
    assert await cluster.value(f"{late} AND due_at >= $1", recovered_at) == 0
    assert await cluster.value(f"{late} AND partition <> ALL ($1::int[])", list(epochs)) == 0
    assert are_alive(cluster.roles)


async def starve(role: Role) -> None:
    """Let a process run for a twentieth of the time."""
    while True:
        role.signal(signal.SIGSTOP)
        await asyncio.sleep(0.19)
        role.signal(signal.SIGCONT)
        await asyncio.sleep(0.01)


async def test_killed_and_started_again_with_its_lease_file_it_waits_for_no_lease(
    cluster: Cluster,
) -> None:
    lease_file = str(cluster.folder / "lease")
    killed = await start_scheduler(cluster, MATINS_LEASE_TERM="10m", MATINS_LEASE_FILE=lease_file)
    await killed.role.kill()
    await killed.role.start()
    await until(lambda: _is_succeeded(cluster, killed.id), 20, 0.05)


async def _is_succeeded(cluster: Cluster, holder: UUID) -> bool:
    held = await holdings(cluster)
    return holder not in held and {len(partitions) for partitions in held.values()} == {PARTITIONS}


async def test_frozen_in_the_middle_of_its_claim_it_does_not_hold_up_its_successor(
    cluster: Cluster,
) -> None:
    """CL-02: the claim has executed and holds its locks, but what would commit it never comes."""
    async with postgres_proxy(cluster) as (proxy, dsn):
        frozen = await start_all(cluster, **BRISK, MATINS_POSTGRES=dsn)
        successor = await start_scheduler(cluster, **BRISK)
        steady = await load(cluster, 60)

        epochs = await epochs_of(cluster, frozen.id)
        half = Hold()
        held = proxy.on_message(AfterExecute(CLAIM, Direction.TO_SERVER, "S"), half)
        await until(held.reached.is_set, 5, 0.01)
        frozen.role.signal(signal.SIGSTOP)
        await taken_over(cluster, epochs, successor.id, TERM_S + 2)
        half.release()
        frozen.role.signal(signal.SIGCONT)
        await shared_by(cluster, 2)

        await check_load(cluster, steady)


async def test_frozen_around_a_due_time_it_fires_late_and_skips_nothing(cluster: Cluster) -> None:
    """TM-16: three seconds late is late, even to a job that skips its misfires."""
    scheduler = await start_all(cluster, MATINS_LEASE_TERM="10s")
    due = await cluster.whole_second(3)
    for index in range(10):
        name = f"once-{index}"
        spec = {"schedule": {"at": due.isoformat()}, "misfire": {"policy": "skip"}}
        cluster.due.append(Due(await cluster.put_job(name, **spec), name, due))

    await cluster.pass_by(due - 1.5 * SECOND)
    scheduler.role.signal(signal.SIGSTOP)
    await cluster.pass_by(due + 1.5 * SECOND)
    scheduler.role.signal(signal.SIGCONT)

    counts = await cluster.check(due + SECOND)
    assert counts["runs succeeded"] == 10
    lag = await cluster.value("SELECT min(claimed_at - due_at) FROM runs")
    assert lag >= timedelta(seconds=1.5)
