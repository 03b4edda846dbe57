"""A backfill over real processes: each due time is called once, as it was then, whoever dies."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from tests.e2e.cluster import Cluster, until

from matins.testing.call_recorder import read_calls
from matins.testing.evidence import Due

JOBS = 3
SECOND = timedelta(seconds=1)
UNFINISHED = "SELECT count(*) FROM runs WHERE kind = 'backfill' AND finished_at IS NULL"
SUCCEEDED = "SELECT count(*) FROM runs WHERE kind = 'backfill' AND state = 'succeeded'"


async def ask(cluster: Cluster, method: str, path: str, body: object = None) -> dict[str, Any]:
    url = f"{cluster.urls[0]}{path}"
    async with cluster.http.request(method, url, json=body) as answer:
        told: dict[str, Any] = await answer.json()
        assert answer.status in (200, 201), told
        return told


async def backfill(cluster: Cluster, index: int, since: datetime, end: datetime) -> dict[str, Any]:
    body = {"since": since.isoformat(), "until": end.isoformat(), "limit": 2, "again": True}
    path = f"/v1/teams/e2e/jobs/job-{index}/backfills"
    plan = (await ask(cluster, "POST", f"{path}?dry_run=true", body))["plan"]
    told = await ask(cluster, "POST", path, body)
    assert told["plan"] == plan
    found: dict[str, Any] = told["backfill"]
    assert found["counts"]["planned"] == plan["to_run"] == plan["due"]
    return found


async def test_each_due_time_is_made_up_for_once_though_schedulers_and_executors_die(
    cluster: Cluster,
) -> None:
    await cluster.start("api")
    doomed = await cluster.start("scheduler")
    await cluster.start("scheduler")
    await cluster.start("executor")
    first = await cluster.whole_second(5)
    changed = first + 5 * SECOND
    end = first + 10 * SECOND
    ids = await cluster.put_every_second(JOBS, first, end)
    await cluster.pass_by(changed)
    schedule = {"every": "1s", "anchor": first.isoformat()}
    later = {"http": {"url": f"{cluster.recorder.url}/ok?later"}}
    for index in range(JOBS):
        await cluster.put_job(f"job-{index}", schedule=schedule, target=later)
    await cluster.pass_by(end)
    for index in range(JOBS):
        await ask(cluster, "POST", f"/v1/teams/e2e/jobs/job-{index}/pause")
    made = [await backfill(cluster, index, first, end) for index in range(JOBS)]
    await until(lambda: cluster.value(SUCCEEDED), 20)
    await doomed.kill()
    assert await cluster.value(UNFINISHED) <= 2 * JOBS
    ids_made = [found["id"] for found in made]
    [paused, *_] = ids_made
    told = await ask(cluster, "POST", f"/v1/backfills/{paused}/pause")
    assert told["state"] in ("paused", "done")
    await doomed.start()
    if told["state"] == "paused":
        await ask(cluster, "POST", f"/v1/backfills/{paused}/resume")

    async def all_done() -> bool:
        shown = [await ask(cluster, "GET", f"/v1/backfills/{found}") for found in ids_made]
        assert all(sum(view["unfinished"].values()) <= 2 for view in shown)
        return all(view["state"] == "done" and view["finished_at"] for view in shown)

    await until(all_done, 60)
    cluster.due += [
        Due(job, f"job-{index}", first + number * SECOND, "backfill")
        for index, job in enumerate(ids)
        for number in range(10)
    ]
    await cluster.check(end)
    calls = read_calls(cluster.folder / "calls")
    again = [call for call in calls if call.kind == "backfill"]
    counts = Counter((call.job, call.due_at) for call in again)
    assert len(counts) == 10 * JOBS
    ended = await ask(cluster, "GET", f"/v1/backfills/{ids_made[1]}")
    assert ended["counts"]["succeeded"] == ended["counts"]["made"] == 10
    revisions = await cluster.rows(
        "SELECT DISTINCT r.revision, r.due_at <= v.effective_at AS is_first FROM runs r"
        " JOIN revisions v ON v.job_id = r.job_id AND v.revision = 2 WHERE r.kind = 'backfill'"
    )
    assert {(row["revision"], row["is_first"]) for row in revisions} == {(1, True), (2, False)}
    audit = await ask(cluster, "GET", "/v1/audit?team=e2e")
    for found in audit["jobs"]:
        assert (found["missing_count"], found["unexpected_count"]) == (0, 0), found
