"""Explanations over HTTP, told from what is stored, on real PostgreSQL."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.api.scene import JOB, MINUTELY, NOON, Scene, minute
from tests.api.served import SPEC, Hands, Owner

from matins.domain.values.ids import run_id
from matins.store.database import Database

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def scene(owner: Owner, hands: Hands, database: Database) -> Scene:
    return Scene(owner, hands, database)


async def explain(scene: Scene, at: datetime | None = None) -> dict[str, Any]:
    query = {} if at is None else {"at": at.isoformat().replace("+00:00", "Z")}
    reply = await scene.owner.get(f"{JOB}/explanation", **query)
    assert reply.status == 200, reply.text
    told: dict[str, Any] = reply.json
    return told


async def explain_run(scene: Scene, due: datetime) -> dict[str, Any]:
    run = run_id(UUID(scene.job["id"]), due, "scheduled")
    reply = await scene.owner.get(f"/v1/runs/{run}/explanation")
    assert reply.status == 200, reply.text
    told: dict[str, Any] = reply.json
    return told


async def record(database: Database, sql: str, *args: object) -> None:
    async with database.session() as session:
        await session.execute(sql, *args)


async def alive(database: Database, pool: str = "default") -> UUID:
    """Let an executor be alive that serves a pool."""
    executor = uuid4()
    await record(
        database,
        "INSERT INTO executors (id, name, pools, slots, partition, first_heartbeat_at,"
        " heartbeat_at, first_seq) VALUES ($1, 'worker-1', ARRAY[$2::text], 4, 0, $3, $3, 1)",
        executor,
        pool,
        minute(1),
    )
    return executor


async def run_of(database: Database, state: str, executor: UUID, *ends: float) -> None:
    """Let the only run be in a state, after attempts that ended so many seconds after its due
    time.
    """
    for number, end in enumerate(ends, 1):
        at = minute(1) + timedelta(seconds=end)
        await record(
            database,
            "INSERT INTO attempts (run_id, due_at, number, executor, started_at, finished_at,"
            " outcome, reason, output, output_cut) SELECT id, due_at, $1, $2, $3, $4,"
            " 'failed', 'exit code 1', '', 0 FROM runs",
            number,
            executor,
            at - timedelta(seconds=1),
            at,
        )
    await record(
        database,
        "UPDATE runs SET state = $1::text, attempt = $2, executor = $3, started_at = $4,"
        " finished_at = CASE WHEN $1 IN ('dead', 'succeeded') THEN $4::timestamptz END,"
        " retry_at = CASE WHEN $1 = 'retrying' THEN $5::timestamptz END,"
        " reason = CASE WHEN $1 IN ('dead', 'retrying') THEN 'exit code 1' ELSE '' END",
        state,
        max(len(ends), 1),
        executor,
        minute(1, 1) + timedelta(seconds=max(ends, default=0)),
        minute(2),
    )


async def claimed(scene: Scene, **given: object) -> None:
    """Make the job and its run due a minute after noon, 10 s after that."""
    await scene.make(**given)
    scene.hands.at = minute(1, 0) + timedelta(milliseconds=20)
    assert await scene.claim(minute(1))
    await scene.mark(minute(1))
    scene.hands.at = minute(1, 10)


async def test_a_run_that_no_executor_takes(scene: Scene) -> None:
    await claimed(scene, pool="gpu")
    told = await explain_run(scene, minute(1))
    assert told["state"] == "queued"
    assert [step["step"] for step in told["steps"]] == ["due", "claimed", "queued"]
    assert told["steps"][1]["text"] == "its run was made 20ms after its fire time"
    assert told["so"] == (
        "no executor serves pool gpu; start one with `MATINS_POOLS=gpu matins executor`"
    )


async def test_a_run_that_waits_for_a_free_slot(scene: Scene, database: Database) -> None:
    await claimed(scene)
    await alive(database)
    told = await explain_run(scene, minute(1))
    assert told["so"].startswith("it is on the queue, and starts when an executor")
    assert ", probably at 2026-12-01T12:01:10Z" in told["so"]


async def test_a_run_that_runs(scene: Scene, database: Database) -> None:
    await claimed(scene)
    await run_of(database, "running", await alive(database))
    told = await explain_run(scene, minute(1))
    assert told["so"] == "it runs: attempt 1 on worker-1, until 2026-12-01T12:11:01Z at the latest"


async def test_a_run_that_is_tried_again(scene: Scene, database: Database) -> None:
    await claimed(scene)
    await run_of(database, "retrying", await alive(database), 2)
    told = await explain_run(scene, minute(1))
    assert [step["step"] for step in told["steps"]] == ["due", "claimed", "attempt", "retry"]
    again = "it is tried again at 2026-12-01T12:02:00Z; now by `matins runs retry"
    assert told["so"] == f"attempt 1 ended with: exit code 1; {again} {told['run']}`"


async def test_a_run_that_is_dead_after_its_attempts(scene: Scene, database: Database) -> None:
    await claimed(scene)
    await run_of(database, "dead", await alive(database), 2, 5, 8)
    told = await explain_run(scene, minute(1))
    attempts = [step["text"] for step in told["steps"] if step["step"] == "attempt"]
    assert attempts[0].startswith("attempt 1 on worker-1, 980ms after its claim: failed after 1s")
    assert len(attempts) == 3
    assert told["so"].endswith(f"then `matins dead replay {told['run']}`")


async def test_a_run_that_a_window_holds(scene: Scene) -> None:
    await scene.make()
    window = {"name": "db", "starts_at": NOON.isoformat(), "ends_at": minute(30).isoformat()}
    await scene.owner.put("/v1/teams/payments/windows/db", window)
    coming = await explain(scene, minute(1))
    assert coming["so"] == (
        "it is still to come, and will wait: held by maintenance db until 2026-12-01T12:30:00Z"
    )
    scene.hands.at = minute(1)
    await scene.claim(minute(1))
    told = await explain(scene, minute(1))
    assert told["state"] == "waiting"
    assert told["so"] == (
        "held by maintenance db until 2026-12-01T12:30:00Z; it goes on by itself; at once by"
        " `matins windows delete payments/db`"
    )


async def test_a_due_time_that_a_window_skips(scene: Scene) -> None:
    await scene.make()
    window = {"name": "db", "starts_at": NOON.isoformat(), "ends_at": minute(30).isoformat()}
    skips = window | {"policy": "skip", "reason": "new disks"}
    await scene.owner.put("/v1/teams/payments/windows/db", skips)
    scene.hands.at = minute(1)
    await scene.claim(minute(1))
    told = await explain(scene, minute(1))
    assert told["state"] == "skipped"
    assert "it fired in a maintenance window that skips: db: new disks; " in told["so"]


async def test_an_instant_that_is_no_due_time(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(5)
    told = await explain(scene, minute(2, 30))
    assert (told["state"], told["due_at"], told["run"]) == ("not_due", None, None)
    near = {step["step"]: step["at"] for step in told["steps"]}
    assert (near["before"], near["next"]) == ("2026-12-01T12:02:00Z", "2026-12-01T12:03:00Z")


async def test_what_no_scheduler_has_claimed(scene: Scene) -> None:
    await scene.make()
    scene.hands.at = minute(4, 30)
    told = await explain(scene, minute(1))
    assert told["state"] == "to_be_claimed"
    assert told["so"] == (
        "it should have been claimed 3m30s ago, and was not: no scheduler is alive; none was ever"
        " seen; start one with `matins scheduler`; then misfire policy `last` decides"
    )


async def test_what_is_in_a_pause_and_what_was_in_one(scene: Scene) -> None:
    await scene.make()
    await scene.owner.post(f"{JOB}/pause")
    scene.hands.at = minute(20, 30)
    told = await explain(scene, minute(5))
    assert told["state"] == "paused"
    assert told["so"] == ("the job is paused; go on with `matins jobs resume payments/nightly`")
    assert (await explain(scene))["so"] == told["so"]
    await scene.owner.post(f"{JOB}/resume")
    over = await explain(scene, minute(5))
    assert over["state"] == "skipped"
    assert over["so"].startswith("it did not run: the job was paused; ")
    assert over["steps"][-1]["text"] == (
        "recorded all from 2026-12-01T12:01:00Z to 2026-12-01T12:20:00Z as skipped"
    )


async def test_what_its_owner_skips(scene: Scene) -> None:
    await scene.make()
    override = {"due_at": minute(3).isoformat(), "reason": "release day"}
    assert (await scene.owner.put(f"{JOB}/overrides", override)).status == 200
    told = await explain(scene, minute(3))
    assert told["so"] == "it will not run: its owner skipped this occurrence: release day"
    scene.hands.at = minute(2, 30)
    assert (await explain(scene))["steps"][-1]["at"] == "2026-12-01T12:04:00Z"


async def test_what_a_calendar_closes(scene: Scene) -> None:
    calendar = {"name": "de", "exclude": [{"dates": ["2026-12-01"], "label": "Founders"}]}
    reply = await scene.owner.put("/v1/teams/payments/calendars/de", calendar)
    assert reply.status == 200, reply.text
    await scene.make(schedule=MINUTELY | {"calendars": ["de"]})
    told = await explain(scene, minute(3))
    assert told["so"] == "it will not run: it is closed by calendar de: Founders"


async def test_a_quarantined_job(scene: Scene, database: Database) -> None:
    await scene.make()
    await record(
        database,
        "UPDATE jobs SET state = 'quarantined', reason = 'no such zone', revision = 2,"
        " next_due_at = NULL, next_fire_at = NULL",
    )
    await record(
        database,
        "INSERT INTO revisions (job_id, revision, partition, effective_at, state, anchor, spec)"
        " SELECT id, 2, partition, $1, 'quarantined', anchor, spec FROM jobs",
        minute(1, 30),
    )
    scene.hands.at = minute(3)
    told = await explain(scene)
    assert told["state"] == "quarantined"
    assert told["so"].startswith("the job is quarantined: no such zone; mend it with")


async def test_a_deleted_job_is_told_of_by_its_name(scene: Scene) -> None:
    await claimed(scene)
    await scene.owner.delete(JOB)
    told = await explain(scene)
    assert told["state"] == "cancelled"
    assert told["so"] == "it was ended: its job was deleted; now the job is deleted"


async def test_of_a_job_it_is_told_what_became_of_the_last_due_time(
    scene: Scene, database: Database
) -> None:
    await scene.make()
    assert (await explain(scene))["so"].startswith("it is still to come: it will be claimed at")
    await claimed(scene)
    await run_of(database, "succeeded", await alive(database), 2)
    told = await explain(scene)
    assert (told["state"], told["due_at"]) == ("succeeded", "2026-12-01T12:01:00Z")
    assert [step["step"] for step in told["steps"]][-2:] == ["ended", "next"]
    assert told["steps"][-1]["at"] == "2026-12-01T12:02:00Z"
    scene.hands.at = minute(2, 30)
    assert (await explain(scene))["state"] == "to_be_claimed"


async def test_each_due_time_is_told_by_its_own_revision(scene: Scene) -> None:
    await claimed(scene)
    await scene.owner.put(JOB, SPEC | {"schedule": {"cron": "*/2 * * * *"}})
    [due, *_] = (await explain(scene, minute(1)))["steps"]
    assert due["text"].startswith("by revision 1, in force since 2026-12-01T12:00:00Z: every min")
    [due, *_] = (await explain(scene, minute(2)))["steps"]
    assert due["text"].startswith("by revision 2, in force since 2026-12-01T12:01:10Z: every 2 ")


async def test_what_was_purged(scene: Scene, database: Database) -> None:
    await scene.make()
    scene.hands.at = minute(10)
    await scene.mark(minute(10))
    await record(
        database,
        "INSERT INTO purges (job_id, succeeded_until, others_until) SELECT id, $1, $1 FROM jobs",
        minute(5),
    )
    try:
        told = await explain(scene, minute(3))
        assert told["state"] == "purged"
        assert (await explain(scene, minute(7)))["state"] == "missing"
    finally:
        await record(database, "DELETE FROM purges")


async def test_a_run_in_the_line_of_a_gate(scene: Scene, database: Database) -> None:
    await claimed(scene, concurrency={"key": "vendor", "limit": 1})
    await run_of(database, "running", await alive(database))
    scene.hands.at = minute(3)
    await scene.claim(minute(2), minute(3))
    told = await explain(scene, minute(3))
    assert told["state"] == "waiting"
    [holder] = [step["text"] for step in told["steps"] if step["step"] == "holder"]
    run = run_id(UUID(scene.job["id"]), minute(1), "scheduled")
    assert holder == f"run {run} of nightly is in, and is running"
    assert told["so"] == (
        "limit of 1 for vendor is taken; 1 run before it in the line; 1 run in; to let more in:"
        " `matins limits put payments/vendor`"
    )


async def test_a_due_time_of_a_chain_tells_what_it_waits_for(
    scene: Scene, database: Database
) -> None:
    scene.hands.at = NOON
    extract = await scene.owner.job(name="extract", schedule=MINUTELY)
    await scene.owner.job(schedule={"after": {"jobs": ["extract"]}})
    scene.job = extract
    scene.hands.at = minute(1)
    await scene.claim(minute(1))
    for told in (await explain(scene, minute(1)), await explain(scene)):
        assert (told["state"], told["so"]) == (
            "to_come",
            "it starts when all that it follows have succeeded; extract is queued",
        )
        assert [step["step"] for step in told["steps"]] == ["due", "upstream"]
    other = await explain(scene, minute(1, 30))
    assert other["so"] == "it is due with the runs of extract, and none of that was due then"
    await run_of(database, "succeeded", await alive(database), 2)
    assert (await explain(scene, minute(1)))["so"] == "it is about to start"


@pytest.mark.parametrize(
    "path",
    [
        f"{JOB}/explanation",
        f"/v1/runs/{run_id(UUID(int=1), NOON, 'scheduled')}/explanation",
        f"/v1/runs/{UUID(int=(1 << 128) - 1)}/explanation",
    ],
)
async def test_what_is_not_there_is_not_found(owner: Owner, path: str) -> None:
    assert (await owner.get(path)).status == 404


async def test_an_instant_needs_its_offset(scene: Scene) -> None:
    await scene.make()
    refused = await scene.owner.get(f"{JOB}/explanation", at="2026-12-01T12:00:00")
    assert refused.status == 422
    assert "at" in refused.places
