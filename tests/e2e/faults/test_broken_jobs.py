"""Rows that somebody broke by hand: each stops one job, and no other."""

from __future__ import annotations

from uuid import UUID

from tests.e2e.cluster import Cluster, until
from tests.e2e.faults.scenes import are_alive, check_load, load

NOWHERE = """UPDATE jobs SET schedule = '{"cron": "* * * * *", "timezone": "Mars/Olympus_Mons"}'
    WHERE id = $1 RETURNING id"""
RUBBISH = """UPDATE jobs SET schedule = '["rubbish", {"cron": 7}]' WHERE id = $1 RETURNING id"""
NOTHING = "UPDATE jobs SET schedule = NULL WHERE id = $1 RETURNING id"
NO_POLICY = """UPDATE jobs SET misfire = '{"policy": "pray"}' WHERE id = $1 RETURNING id"""
NO_TARGET = """UPDATE jobs SET spec = jsonb_set(spec, '{target}', '{"carrier_pigeon": 1}')
    WHERE id = $1 RETURNING id"""


async def test_a_job_that_cannot_be_read_is_stopped_with_its_reason_and_no_other(
    cluster: Cluster,
) -> None:
    """CL-13: an unknown zone, no schedule, and rubbish for it, for the misfire policy and for the
    target, among 50 jobs.
    """
    await cluster.start("api")
    await cluster.start("executor")
    steady = await load(cluster, 50)
    nowhere, rubbish, nothing, no_policy, no_target, *sound = steady.jobs
    statements = (NOWHERE, RUBBISH, NOTHING, NO_POLICY, NO_TARGET)
    for sql, job in zip(statements, steady.jobs, strict=False):
        assert await cluster.value(sql, job) == job
    await cluster.start("scheduler")

    assert "Mars/Olympus_Mons" in await quarantined(cluster, nowhere)
    for job in (rubbish, nothing):
        assert "can't be read" in await quarantined(cluster, job)
    assert "pray" in await quarantined(cluster, no_policy)

    async def is_dead() -> bool:
        reason = await cluster.value(
            "SELECT max(reason) FROM dead_letters WHERE job_id = $1", no_target
        )
        return "can't be read" in (reason or "")

    await until(is_dead, 10)
    counts = await check_load(cluster, steady, {nowhere, rubbish, nothing, no_policy})
    assert counts["runs succeeded"] >= len(sound)
    states = await cluster.rows("SELECT DISTINCT state FROM runs WHERE job_id = ANY($1)", sound)
    assert {row["state"] for row in states} <= {"queued", "running", "succeeded"}
    assert are_alive(cluster.roles)


async def quarantined(cluster: Cluster, job: UUID) -> str:
    """Wait until a job is quarantined; gives the reason."""

    async def reason() -> str | None:
        told: str | None = await cluster.value(
            "SELECT reason FROM jobs WHERE id = $1 AND state = 'quarantined'", job
        )
        return told

    await until(reason, 10)
    return await reason() or ""
