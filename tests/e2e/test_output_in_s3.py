"""Whole outputs in a bucket, by real processes; and what holds while the bucket is away."""

from __future__ import annotations

import shutil

from tests.e2e.cluster import Cluster, until
from tests.e2e.test_output import Owner
from tests.folders import make_folder
from tests.s3 import BUCKET, SECRET, s3_server

from matins.domain.runs.output import TeamOutput

LINES = 40_000
PRINT = f"seq -f 'line %g' {LINES}"
PRINTED = "".join(f"line {number}\n" for number in range(1, LINES + 1))


async def test_output_is_kept_in_a_bucket_and_no_run_waits_for_one_that_is_away(
    cluster: Cluster,
) -> None:
    folder = make_folder("matins-s3-")
    with s3_server(folder) as server:
        cluster.settings |= server.variables()
        cluster.settings |= {
            "MATINS_OUTPUT_STORE": f"s3://{BUCKET}/outputs",
            "MATINS_STATUS_EVERY": "500ms",
            "MATINS_STATUS_AFTER": "1s",
        }
        api = await cluster.start("api")
        scheduler = await cluster.start("scheduler")
        executor = await cluster.start("executor")
        owner = Owner(cluster)
        async with owner.client:
            await owner.client.put_team_output("e2e", TeamOutput("all"))
            run = await owner.run("much", PRINT)
            await owner.attempt(run)

            async def is_whole() -> bool:
                return await shown(cluster, f"/v1/runs/{run}/output") == PRINTED

            await until(is_whole, 30)
            [chunk] = {path.rpartition("/")[0] for path in server.objects("outputs")} - {""}
            assert chunk.endswith(f"/{run.hex}/1")
    async with owner.client:
        run = await owner.run("much", PRINT)
        attempt = await owner.attempt(run)
        assert attempt.outcome == "succeeded"
        text = await shown(cluster, f"/v1/runs/{run}/output")
        assert text.startswith("line 1\n")
        assert "bytes left out" in text
        assert text.endswith(f"line {LINES}\n")

        async def is_told() -> bool:
            status = await owner.client.get_status()
            return "output" in [finding.kind for finding in status.findings]

        await until(is_told, 30)
    for role in (api, scheduler, executor):
        assert not role.said(SECRET)
        assert not role.said("Traceback")
    shutil.rmtree(folder)


async def shown(cluster: Cluster, path: str) -> str:
    """Return what the API answers."""
    async with cluster.http.get(cluster.urls[0] + path) as answer:
        assert answer.status == 200
        return await answer.text()
