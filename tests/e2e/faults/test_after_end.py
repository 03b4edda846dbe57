"""Chains of runs that follow each other's ends go on whoever dies, and never overlap."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from uuid import UUID

from tests.e2e.cluster import Cluster, until
from tests.e2e.faults.scenes import shared_by, start_all, start_scheduler

from matins.testing.evidence import Due
from matins.testing.oracle import due_after_end

JOBS = 12
SECOND = timedelta(seconds=1)


async def chains(cluster: Cluster, delays: dict[UUID, int], end: datetime) -> list[Due]:
    """Return when each job was due before an instant, as its rows' ends say."""
    rows = await cluster.rows(
        "SELECT j.id, j.name, j.created_at,"
        " array_agg(r.due_at) AS dues, array_agg(r.finished_at) AS ends"
        " FROM jobs j JOIN runs r ON r.job_id = j.id GROUP BY j.id"
    )
    return [
        due
        for row in rows
        for due in due_after_end(
            row["id"],
            row["name"],
            delays[row["id"]],
            made=row["created_at"],
            ends=dict(zip(row["dues"], row["ends"], strict=True)),
            until=end,
        )
    ]


async def test_a_killed_scheduler_leaves_its_chains_to_the_others(cluster: Cluster) -> None:
    first = await start_all(cluster)
    await start_scheduler(cluster)
    delays = {}
    slow = {"target": {"http": {"url": f"{cluster.recorder.url}/slow?s=0.4"}}}
    for number in range(JOBS):
        delay_s = 1 + number % 3
        schedule = {"every": f"{delay_s}s", "after": "end"}
        delays[await cluster.put_job(f"job-{number}", schedule=schedule, **slow)] = delay_s

    async def begun() -> bool:
        counts = await cluster.rows("SELECT count(*) AS runs FROM runs GROUP BY job_id")
        return len(counts) == JOBS and min(row["runs"] for row in counts) >= 2

    await until(begun, 20)
    await first.role.kill()
    await shared_by(cluster, 1)
    end = await cluster.whole_second(6)
    await cluster.pass_by(end)

    async def whole() -> bool:
        """Each chain has come past the end."""
        behind = await cluster.value(
            "SELECT count(*) FROM jobs WHERE coalesce(next_due_at, follows) < $1", end
        )
        return not behind

    await until(whole, 20)
    cluster.due = await chains(cluster, delays, end)
    counts = await cluster.check(end)
    assert counts["runs succeeded"] >= JOBS * 3
    assert counts["take-overs"]
    rows = await cluster.rows("SELECT * FROM runs ORDER BY job_id, due_at")
    for before, run in pairwise(rows):
        if before["job_id"] == run["job_id"]:
            assert before["finished_at"] < run["due_at"] <= run["claimed_at"]
    assert {row["reason"] for row in rows} == {""}
