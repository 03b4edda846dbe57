"""A PostgreSQL whose files are put back from a copy: what may have run is asked about first."""

from __future__ import annotations

import asyncio
import shutil

from tests.e2e.cluster import Cluster, until

from matins.domain.runs.restores import LOST_MIN

WAITING = "SELECT count(*) FROM runs WHERE state = 'skipped' AND reason LIKE 'restore: it may%'"
CLAIMED = "SELECT count(*) FROM runs WHERE job_id = $1 AND due_at > $2 AND state <> 'skipped'"


async def test_what_a_restored_database_forgot_runs_when_an_operator_says_so() -> None:
    async with Cluster() as cluster:
        lease_file = str(cluster.folder / "lease")
        await cluster.start("api")
        await cluster.start("executor")
        scheduler = await cluster.start("scheduler", MATINS_LEASE_FILE=lease_file)
        schedule = {"every": "5s"}
        job = await cluster.put_job(
            "careful", schedule=schedule, misfire={"policy": "all"}, overlap="allow"
        )
        await cluster.put_job("bounded", schedule=schedule, overlap="allow")
        await until(lambda: cluster.value("SELECT count(*) > 3 FROM runs"), 30)
        await until(lambda: cluster.value("SELECT count(watermark) > 0 FROM leases"), 30)
        files, backup = cluster.folder / "postgres", cluster.folder / "backup"

        await scheduler.end()
        await cluster.postgres.stop()
        copying = await asyncio.create_subprocess_exec("cp", "-a", files, backup)  # owners, too
        assert await copying.wait() == 0
        await cluster.postgres.start()
        copied_at = await cluster.now()
        await scheduler.start()
        await asyncio.sleep(LOST_MIN.total_seconds() + 15)
        ran = await cluster.value(CLAIMED, job, copied_at)
        assert ran > 10
        await scheduler.kill()
        await cluster.postgres.stop()
        shutil.rmtree(files)
        backup.rename(files)
        await cluster.postgres.start()
        assert not await cluster.value(CLAIMED, job, copied_at)
        await scheduler.start()

        await until(lambda: scheduler.said("restore.noticed"), 30)
        await until(lambda: cluster.value(f"SELECT ({WAITING}) > 1"), 30)
        restored_at = await cluster.now()
        await until(lambda: cluster.value(CLAIMED, job, restored_at), 30)  # what is on time goes on
        uncertain = await cluster.value(WAITING)
        told = await resume(cluster, dry_run="true")
        assert (told["uncertain"], told["jobs"], told["to_run"]) == (uncertain, 1, uncertain)
        async with cluster.http.get(f"{cluster.urls[0]}/v1/cluster") as answer:
            assert (await answer.json())["restore"] == told["restore"]

        done = await resume(cluster)
        assert done["to_run"] == uncertain
        await until(lambda: cluster.value(f"SELECT ({WAITING}) = 0"), 10)
        await until(lambda: scheduler.said("restore.resolved"), 10)
        await until(lambda: all_ended(cluster, restored_at), 30)


async def all_ended(cluster: Cluster, until_at: object) -> bool:
    """Return whether all that was due by then has ended."""
    unfinished = "SELECT count(*) = 0 FROM runs WHERE due_at < $1 AND finished_at IS NULL"
    return bool(await cluster.value(unfinished, until_at))


async def resume(cluster: Cluster, **query: str) -> dict[str, object]:
    url = f"{cluster.urls[0]}/v1/restores/resume"
    async with cluster.http.post(url, json={"missed": "all"}, params=query) as answer:
        told: dict[str, object] = await answer.json()
        assert answer.status == 200, told
        return told
