"""Where nobody claims or executes, whoever looks is told so: by the rows, not by a scheduler."""

from __future__ import annotations

import pytest
from tests.api.scene import JOB, MINUTELY, Scene, minute
from tests.api.served import JOBS, Hands, Owner

from matins.store.database import Database

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOBODY = "no scheduler is alive; none was ever seen"


@pytest.fixture
def scene(owner: Owner, hands: Hands, database: Database) -> Scene:
    return Scene(owner, hands, database)


async def lag_s(owner: Owner, name: str) -> float:
    lines = (await owner.get("/metrics")).text.splitlines()
    return next(
        float(line.split()[1]) for line in lines if line.startswith(f"matins_{name}_lag_seconds")
    )


async def test_an_audit_without_schedulers_says_that_due_times_wait(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(5)
    [job] = (await scene.owner.get("/v1/audit", since="2026-12-01T12:00:00Z")).json["jobs"]
    assert (job["pending"], job["overdue"], job["causes"]) == (4, 3, [NOBODY])


async def test_an_audit_without_executors_says_that_runs_wait(scene: Scene) -> None:
    await scene.make(pool="gpu")
    scene.hands.at = minute(2)
    await scene.claim(minute(1), minute(2))
    await scene.mark(minute(10))
    scene.hands.at = minute(10)
    window = {"since": "2026-12-01T12:00:00Z", "until": "2026-12-01T12:03:00Z"}
    [job] = (await scene.owner.get("/v1/audit", **window)).json["jobs"]
    assert (job["unfinished"], job["stalled"]) == (2, 2)
    assert job["causes"] == ["no executor serves pool gpu"]


async def test_jobs_that_are_due_and_unclaimed_say_why(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(3)
    shown = await scene.owner.get(JOB)
    [listed] = (await scene.owner.get(JOBS)).json["jobs"]
    [among_all] = (await scene.owner.get("/v1/jobs")).json["jobs"]
    assert [job["overdue"] for job in (shown.json, listed, among_all)] == [NOBODY] * 3


async def test_a_queued_run_says_that_nobody_serves_its_pool_wherever_it_is_shown(
    owner: Owner,
) -> None:
    await owner.job(pool="gpu", schedule=None)
    run = (await owner.post(f"{JOB}/trigger")).json
    shown = (await owner.get(f"/v1/runs/{run['id']}")).json
    lists = [
        await owner.get(path) for path in (f"{JOB}/runs", "/v1/runs", "/v1/runs?team=payments")
    ]
    listed = [run for reply in lists for run in reply.json["runs"]]
    assert [row["reason"] for row in (run, shown, *listed)] == ["no executor serves pool gpu"] * 5


async def test_an_executor_that_says_nothing_is_silent(owner: Owner, database: Database) -> None:
    async with database.session() as session:
        await session.execute(
            "INSERT INTO executors"
            " (id, name, pools, slots, partition, first_heartbeat_at, heartbeat_at, first_seq)"
            " SELECT gen_random_uuid(), n, '{gpu}', 1, 0, now(), now() - s::interval, 1"
            " FROM (VALUES ('here', '9 s'), ('gone', '61 s')) AS e (n, s)"
        )
    states = {
        executor["name"]: executor["state"] for executor in (await owner.get("/v1/executors")).json
    }
    assert states == {"here": "alive", "gone": "silent"}
    await owner.job(pool="gpu", schedule=None)
    assert "reason" not in (await owner.post(f"{JOB}/trigger")).json


async def test_readiness_tells_what_stands_still(scene: Scene) -> None:
    await scene.owner.job(pool="gpu", schedule=None)
    await scene.owner.post(f"{JOB}/trigger")
    ready = await scene.owner.get("/ready")
    assert ready.status == 200
    assert ready.text.splitlines() == [
        "ready",
        "no scheduler is alive, so nothing is claimed; none was ever seen",
        "no executor serves pool gpu",
    ]


async def test_the_lags_are_measured_from_the_rows(scene: Scene) -> None:
    await scene.make(schedule=MINUTELY)
    assert (await lag_s(scene.owner, "schedule"), await lag_s(scene.owner, "queue")) == (0, 0)
    scene.hands.at = minute(3)
    assert await lag_s(scene.owner, "schedule") == 120
    await scene.owner.post(f"{JOB}/trigger")
    scene.hands.at = minute(3, 30)
    assert await lag_s(scene.owner, "queue") == 30
    await scene.mark(minute(3, 20))
    assert await lag_s(scene.owner, "schedule") == 10
