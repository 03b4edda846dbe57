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
        "no executor serves pool gpu; runs that wait for one: 1",
    ]


@pytest.mark.parametrize("priority", ["high", "normal", "low"])
async def test_the_lags_are_measured_from_the_rows(scene: Scene, priority: str) -> None:
    await scene.make(schedule=MINUTELY, priority=priority)
    assert (await lag_s(scene.owner, "schedule"), await lag_s(scene.owner, "queue")) == (0, 0)
    scene.hands.at = minute(3)
    assert await lag_s(scene.owner, "schedule") == 120
    await scene.owner.post(f"{JOB}/trigger")
    scene.hands.at = minute(3, 30)
    assert await lag_s(scene.owner, "queue") == 30
    await scene.mark(minute(3, 20))
    assert await lag_s(scene.owner, "schedule") == 10


async def test_the_status_without_schedulers_says_what_is_overdue_and_since_when(
    scene: Scene,
) -> None:
    await scene.make()
    await scene.mark(minute(3))
    scene.hands.at = minute(5)
    status = (await scene.owner.get("/v1/status")).json
    schedulers, executors = status["findings"]
    assert not status["is_well"]
    assert (schedulers["kind"], schedulers["since"]) == ("schedulers", "2026-12-01T12:03:00Z")
    assert (executors["kind"], executors["since"]) == ("executors", None)
    assert (status["partitions_held"], status["unclaimed_since"]) == (0, "2026-12-01T12:03:00Z")
    assert status["overdue"] == 0  # its next due time has a row, which may not be written to it yet
    await scene.mark(minute(0))
    assert (await scene.owner.get("/v1/status")).json["overdue"] == 1


async def test_the_status_counts_what_has_not_ended_and_names_who_serves_what(
    scene: Scene, database: Database
) -> None:
    await scene.make(pool="gpu")
    scene.hands.at = minute(3)
    await scene.claim(minute(1), minute(2))
    async with database.session() as session:
        await session.execute(
            "INSERT INTO executors"
            " (id, name, pools, slots, partition, first_heartbeat_at, heartbeat_at, first_seq)"
            " VALUES (gen_random_uuid(), 'here', '{gpu,cpu}', 1, 0, $1, $1, 1)",
            minute(3),
        )
        await session.execute(
            "INSERT INTO dead_letters (run_id, due_at, job_id, team_id, dead_at, reason)"
            " SELECT id, due_at, job_id, team_id, now(), '' FROM runs LIMIT 1"
        )
        await session.execute(
            "INSERT INTO handouts (executor, seq, handed_at, run_ids)"
            " SELECT gen_random_uuid(), 1, now(), array[id] FROM runs ORDER BY id LIMIT 1"
        )
        await session.execute(
            "UPDATE runs SET state = 'running', executor = gen_random_uuid() WHERE due_at = $1",
            minute(1),
        )
    status = (await scene.owner.get("/v1/status")).json
    assert [finding["kind"] for finding in status["findings"]] == ["schedulers"]
    cpu, gpu = status["pools"]
    heard = "2026-12-01T12:03:00Z"
    assert cpu == {
        "pool": "cpu",
        "executors": 1,
        "heard_at": heard,
        "queued": 0,
        "queued_since": None,
    }
    assert (gpu["executors"], gpu["queued"], gpu["queued_since"]) == (1, 2, heard)
    assert status["runs"] == {"waiting": 0, "queued": 2, "running": 1, "retrying": 0}
    assert status["dead_letters"] == 1
    metrics = (await scene.owner.get("/metrics")).text.splitlines()
    assert 'matins_pool_queued{pool="gpu"} 2.0' in metrics
    assert 'matins_live_runs{state="running"} 1.0' in metrics
    scene.hands.at = minute(4)  # nothing was heard of the executor meanwhile
    _, unserved = (await scene.owner.get("/v1/status")).json["findings"]
    assert (unserved["kind"], unserved["subject"]) == ("unserved", "gpu")
    assert unserved["since"] == heard
