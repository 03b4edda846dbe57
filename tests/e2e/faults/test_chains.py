"""Jobs that are due with others' runs go on whoever dies, each due time once, and fast."""

from __future__ import annotations

from datetime import timedelta
from statistics import median

from tests.e2e.cluster import Cluster, until
from tests.e2e.faults.scenes import shared_by, start_all, start_scheduler

JOBS = 8
SECOND = timedelta(seconds=1)

LAG = """
SELECT c.claimed_at - a.finished_at AS lag
FROM runs a
JOIN jobs ja ON ja.id = a.job_id
JOIN jobs jc ON jc.name = replace(ja.name, 'extract', 'load')
JOIN runs c ON c.job_id = jc.id AND c.due_at = a.due_at AND c.kind = 'chained'
WHERE ja.name LIKE 'extract%'
"""
UNANSWERED = """
SELECT count(*)
FROM runs a
JOIN jobs ja ON ja.id = a.job_id
JOIN upstreams u ON u.name = ja.name AND u.position = 0
JOIN jobs chain ON chain.id = u.job_id AND chain.created_at < a.due_at
LEFT JOIN runs c ON c.job_id = u.job_id AND c.due_at = a.due_at AND c.kind = 'chained'
WHERE a.due_at < $1 AND (a.finished_at IS NULL OR c.id IS NULL OR c.finished_at IS NULL)
"""


async def test_a_killed_scheduler_leaves_its_chains_to_the_others(cluster: Cluster) -> None:
    first = await start_all(cluster)
    await start_scheduler(cluster)
    for number in range(JOBS):
        names = f"extract-{number}", f"load-{number}", f"report-{number}"
        await cluster.put_job(names[0], schedule={"every": "1s"})
        await cluster.put_job(names[1], schedule={"after": {"jobs": [names[0]]}})
        await cluster.put_job(names[2], schedule={"after": {"jobs": [names[1], names[0]]}})

    async def begun() -> bool:
        rows = await cluster.rows("SELECT FROM runs WHERE kind = 'chained' AND state = 'succeeded'")
        return len(rows) >= JOBS * 4

    await until(begun, 30)
    lags = [row["lag"] / SECOND for row in await cluster.rows(LAG)]
    print("from end to claim, median of", len(lags), "in s:", median(lags))
    await first.role.kill()
    await shared_by(cluster, 1)
    end = await cluster.whole_second(3)
    await cluster.pass_by(end)

    async def answered() -> bool:
        return not await cluster.value(UNANSWERED, end)

    await until(answered, 30)
    assert not await cluster.value(
        "SELECT count(*) FROM runs c JOIN jobs j ON j.id = c.job_id"
        " JOIN upstreams u ON u.job_id = j.id JOIN jobs l ON l.name = u.name"
        " JOIN runs a ON a.job_id = l.id AND a.due_at = c.due_at"
        " WHERE c.kind = 'chained' AND c.state <> 'skipped'"
        " AND (c.started_at < a.finished_at OR a.state <> 'succeeded')"
    )
