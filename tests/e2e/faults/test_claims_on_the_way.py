"""What a scheduler and the database say to each other comes late, or not at all."""

from __future__ import annotations

from tests.e2e.cluster import Cluster, until
from tests.e2e.faults.scenes import (
    CLAIM,
    RENEWAL,
    SECOND,
    AfterExecute,
    check_load,
    claims_under,
    epochs_of,
    load,
    metric,
    postgres_proxy,
    start_all,
    start_scheduler,
    taken_over,
)

from matins.domain.values.ids import run_id
from matins.testing.proxy import Direction, Fate, Hold, ReceivedMessage, executes


async def test_a_claim_that_arrives_after_the_take_over_is_refused_by_the_fence(
    cluster: Cluster,
) -> None:
    """CL-03: sent under a lease that could be trusted, it is counted, logged, and has no effect.

    The term leaves room for a claim that is sent at the end of the trust, arrives after the end of
    the lease, and is still waited for (half a term).
    """
    term_s = 6
    settings = {"MATINS_LEASE_TERM": f"{term_s}s", "MATINS_HEALTH_PORT": "0"}
    async with postgres_proxy(cluster) as (proxy, dsn):
        late = await start_all(cluster, **settings, MATINS_POSTGRES=dsn)
        successor = await start_scheduler(cluster, **settings)
        steady = await load(cluster, 60)

        renewed = proxy.on_message(executes(RENEWAL), Fate.PASS)
        await until(renewed.reached.is_set, term_s, 0.01)
        renewed_at = await cluster.now()
        proxy.on_message(executes(RENEWAL), silence := Hold())
        epochs = await epochs_of(cluster, late.id)
        await cluster.pass_by(renewed_at + 0.7 * term_s * SECOND)
        claimed = proxy.on_message(executes(CLAIM), hold := Hold())
        await until(claimed.reached.is_set, 2, 0.01)
        await taken_over(cluster, epochs, successor.id, term_s)
        taken_over_at = await cluster.now()
        hold.release()
        silence.release()
        await until(lambda: late.role.said("claim.refused"), 5)

        await check_load(cluster, steady)
        assert await claims_under(cluster, epochs, taken_over_at) == 0
        assert await metric(cluster, late.role, "matins_claim_refused_total") > 0
        assert await metric(cluster, successor.role, "matins_claim_refused_total") == 0


async def test_a_scheduler_that_hears_nothing_of_its_renewals_stops_claiming(
    cluster: Cluster,
) -> None:
    """CL-05: unknown means lost, though each renewal was done; in touch again it catches up."""
    term_s = 1.5
    settings = {"MATINS_LEASE_TERM": f"{term_s * 1000:g}ms"}
    async with postgres_proxy(cluster) as (proxy, dsn):
        deaf = await start_all(cluster, **settings, MATINS_POSTGRES=dsn)
        await start_scheduler(cluster, **settings)
        steady = await load(cluster, 60)

        epochs = await epochs_of(cluster, deaf.id)
        answered = AfterExecute(RENEWAL, Direction.TO_CLIENT, "2DCZ")
        dropped = proxy.on_message(answered, Fate.DROP)
        await until(dropped.reached.is_set, term_s, 0.01)
        silent_at = await cluster.now() + term_s * SECOND
        await cluster.pass_by(silent_at + 3 * term_s * SECOND)
        claims = await claims_under(cluster, epochs, silent_at)
        others = await cluster.value("SELECT count(*) FROM runs WHERE claimed_at > $1", silent_at)
        dropped.remove()

        await check_load(cluster, steady)
        assert claims == 0
        assert others > 0


async def test_a_claim_whose_answer_is_lost_is_repeated_under_the_same_ids(
    cluster: Cluster,
) -> None:
    """CL-08: committed, but the connection is cut before the answer: nothing is claimed twice."""
    lost_max = 3

    async def cut(_message: ReceivedMessage) -> Fate:
        return Fate.CUT if lost.matches <= lost_max else Fate.PASS

    async with postgres_proxy(cluster) as (proxy, dsn):
        scheduler = await start_all(cluster, MATINS_POSTGRES=dsn, MATINS_HEALTH_PORT="0")
        lost = proxy.on_message(AfterExecute(CLAIM, Direction.TO_CLIENT, "Cs"), cut)
        steady = await load(cluster, 60)
        await until(lambda: lost.matches > lost_max, 10)

        await check_load(cluster, steady)
        assert scheduler.role.said("claim.unknown") == lost_max
        assert await metric(cluster, scheduler.role, "matins_claim_repeated_total") >= 60
        for row in await cluster.rows("SELECT id, job_id, due_at, kind FROM runs"):
            assert row["id"] == run_id(row["job_id"], row["due_at"], row["kind"])
