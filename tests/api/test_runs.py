"""Runs as owners see them: triggered, listed, polled, cancelled."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.api.served import JOBS, Owner, Reply

from matins.domain.executors.protocol import End, Ending, Handout, Heartbeat, Poll
from matins.domain.jobs.spec import PRIORITIES
from matins.domain.runs.attempts import Result
from matins.domain.runs.ranking import HEAD_STARTS_S
from matins.domain.runs.states import Outcome, RunState
from matins.store.database import Database
from matins.store.dispatch import PostgresDispatch

pytestmark = pytest.mark.asyncio(loop_scope="module")

JOB = f"{JOBS}/nightly"


async def trigger(owner: Owner) -> dict[str, Any]:
    reply = await owner.post(f"{JOB}/trigger")
    assert reply.status == 202, reply.text
    run: dict[str, Any] = reply.json
    return run


class Fleet:
    """An executor, as far as the rows go."""

    def __init__(self, database: Database) -> None:
        self.id = uuid4()
        self._dispatch = PostgresDispatch(database, database, database)
        self._seq = 0

    async def dequeue(self) -> list[UUID]:
        self._seq += 1
        await self._dispatch.heartbeat(Heartbeat(self.id, "worker-7", ["default"], 10, self._seq))
        poll = Poll(self.id, self._seq, ["default"], 10)
        handout = await self._dispatch.dequeue(poll, "default") or Handout()
        return [attempt.run_id for attempt in handout.attempts]

    async def end(
        self,
        run_id: UUID,
        outcome: Outcome,
        state: RunState,
        number: int = 1,
        retry_in_s: float = 0.0,
    ) -> None:
        result = Result(outcome, "exit code 1", output="what it wrote", exit_code=1)
        wait_s = retry_in_s if state is RunState.RETRYING else None
        ending = Ending(End(run_id, number, result), state, "exit code 1", wait_s)
        assert await self._dispatch.record(self.id, [ending])


async def test_a_triggered_run_is_queued_now(owner: Owner, database: Database) -> None:
    await owner.job(priority="high")
    run = await trigger(owner)
    assert (run["kind"], run["state"], run["attempt"]) == ("manual", "queued", 0)
    assert (run["team"], run["job"], run["due_at"]) == ("payments", "nightly", run["fire_at"])
    async with database.session() as session:
        [row] = await session.fetch(
            "SELECT pool, run_id, rank_at(now(), 1::smallint) - rank FROM dispatch"
        )
    assert tuple(row)[:2] == ("default", UUID(run["id"]))
    assert row[2] >= HEAD_STARTS_S[PRIORITIES["high"]] * 1_000_000


async def test_triggering_twice_makes_two_runs(owner: Owner) -> None:
    await owner.job()
    first, second = await trigger(owner), await trigger(owner)
    assert first["id"] != second["id"]


async def test_a_list_of_jobs_has_their_last_runs_if_they_are_asked_for(
    owner: Owner, database: Database
) -> None:
    job = await owner.job()
    await owner.job(name="idle")
    fleet = Fleet(database)
    for _ in range(3):
        run = await trigger(owner)
    await fleet.dequeue()
    await fleet.end(UUID(run["id"]), Outcome.SUCCEEDED, RunState.SUCCEEDED)
    for path in (JOBS, "/v1/jobs"):
        recent = (await owner.get(path, recent=2)).json["recent"]
        assert recent.keys() == {job["id"]}
        last, before = recent[job["id"]]["runs"]
        assert (last["id"], last["state"], before["state"]) == (run["id"], "succeeded", "running")
        assert recent[job["id"]]["p95_s"] >= 0
        assert (await owner.get(path)).json["recent"] == {}
    assert (await owner.get(JOBS, recent=31)).status == 422


async def test_a_paused_job_can_be_triggered(owner: Owner) -> None:
    await owner.job()
    await owner.post(f"{JOB}/pause")
    assert (await trigger(owner))["state"] == "queued"


COMMAND = {"command": {"argv": ["tidy"], "env": {"A": "1"}}}


async def test_a_trigger_changes_its_target_for_its_run(owner: Owner) -> None:
    await owner.job(target=COMMAND)
    given = {"args": ["--all"], "env": {"B": "2"}}
    run = (await owner.post(f"{JOB}/trigger", given)).json
    assert (await owner.get(f"/v1/runs/{run['id']}/input")).json == given
    plain = await trigger(owner)
    assert (await owner.get(f"/v1/runs/{plain['id']}/input")).json == {}
    assert (await owner.get(f"/v1/runs/{UUID(int=7)}/input")).status == 404


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"body": "x"}, "body"),
        ({"headers": {"A": "b"}}, "headers"),
        ({"env": {"1": "b"}}, "env.1"),
        ({"envv": {"A": "b"}}, "envv"),
        ({"args": "--all"}, "args"),
        ([], ""),
    ],
)
async def test_a_wrong_input_is_refused_where_it_is_wrong(
    owner: Owner, body: object, where: str
) -> None:
    await owner.job(target=COMMAND)
    refused = await owner.post(f"{JOB}/trigger", body)
    assert (refused.status, list(refused.places)) == (422, [where])
    assert (await owner.get("/v1/runs")).json["runs"] == []


async def test_a_key_answers_a_repeat_with_the_first_run(owner: Owner) -> None:
    await owner.job(target=COMMAND)

    async def keyed(key: str, body: object = None) -> Reply:
        headers = {"Idempotency-Key": key}
        return await owner.call("POST", f"{JOB}/trigger", headers=headers, json=body)

    first, quoted = await keyed("monday"), await keyed('"monday"')
    assert (first.status, quoted.status, quoted.json) == (202, 202, first.json)
    other = await keyed("monday", {"args": ["--all"]})
    assert (other.status, list(other.places)) == (422, ["Idempotency-Key"])
    assert (await keyed("x" * 256)).status == 422
    assert [run["id"] for run in (await owner.get("/v1/runs")).json["runs"]] == [first.json["id"]]


async def test_a_jobs_runs_are_listed_newest_first_in_pages(owner: Owner) -> None:
    await owner.job()
    made = [(await trigger(owner))["id"] for _ in range(3)]
    first = (await owner.get(f"{JOB}/runs", limit=2)).json
    rest = (await owner.get(f"{JOB}/runs", limit=2, before=first["next"])).json
    assert [run["id"] for run in first["runs"] + rest["runs"]] == made[::-1]
    assert rest["next"] is None


async def test_runs_of_all_teams_are_listed_or_those_of_one(owner: Owner) -> None:
    await owner.job()
    first_id = (await trigger(owner))["id"]
    other = "/v1/teams/search/jobs"
    await owner.post(other, {"name": "index", "target": {"command": {"argv": ["true"]}}})
    theirs = (await owner.post(f"{other}/index/trigger")).json["id"]

    async def listed(**query: object) -> list[str]:
        return [run["id"] for run in (await owner.get("/v1/runs", **query)).json["runs"]]

    assert await listed() == [theirs, first_id]
    assert await listed(team="payments") == [first_id]
    assert await listed(team="search") == [theirs]
    first = (await owner.get("/v1/runs", limit=1)).json
    assert await listed(before=first["next"]) == [first_id]


async def test_dead_runs_can_be_asked_for(owner: Owner, database: Database) -> None:
    await owner.job()
    run, other = await trigger(owner), await trigger(owner)
    fleet = Fleet(database)
    await fleet.dequeue()
    await fleet.end(UUID(run["id"]), Outcome.FAILED, RunState.DEAD)
    for query in ({}, {"team": "payments"}):
        dead = (await owner.get("/v1/runs", state="dead", **query)).json["runs"]
        running = (await owner.get("/v1/runs", state="running", **query)).json["runs"]
        assert [letter["id"] for letter in dead] == [run["id"]]
        assert [attempt["id"] for attempt in running] == [other["id"]]
    assert (dead[0]["reason"], dead[0]["attempt"]) == ("exit code 1", 1)


async def test_attempts_tell_how_each_ended_and_which_one_runs(
    owner: Owner, database: Database
) -> None:
    await owner.job()
    run = await trigger(owner)
    path = f"/v1/runs/{run['id']}/attempts"
    assert (await owner.get(path)).json == []
    fleet = Fleet(database)
    await fleet.dequeue()
    [running] = (await owner.get(path)).json
    assert (running["number"], running["executor"]) == (1, "worker-7")
    assert (running["outcome"], running["finished_at"]) == (None, None)
    await fleet.end(UUID(run["id"]), Outcome.FAILED, RunState.RETRYING)
    [ended] = (await owner.get(path)).json
    assert (ended["outcome"], ended["output"], ended["exit_code"]) == ("failed", "what it wrote", 1)


async def test_a_queued_run_is_cancelled_at_once(owner: Owner, database: Database) -> None:
    await owner.job()
    run = await trigger(owner)
    cancelled = await owner.post(f"/v1/runs/{run['id']}/cancel")
    assert (cancelled.status, cancelled.json["state"]) == (202, "cancelled")
    assert await Fleet(database).dequeue() == []
    async with database.session() as session:
        assert await session.fetchval("SELECT count(*) FROM dispatch") == 0


async def test_a_retrying_run_is_cancelled_at_once(owner: Owner, database: Database) -> None:
    await owner.job()
    run = await trigger(owner)
    fleet = Fleet(database)
    await fleet.dequeue()
    await fleet.end(UUID(run["id"]), Outcome.FAILED, RunState.RETRYING)
    cancelled = await owner.post(f"/v1/runs/{run['id']}/cancel")
    assert cancelled.json["state"] == "cancelled"
    async with database.session() as session:
        assert await session.fetchval("SELECT count(*) FROM waiting") == 0


async def test_the_executor_of_a_running_run_hears_of_its_cancel(
    owner: Owner, database: Database
) -> None:
    await owner.job()
    run = await trigger(owner)
    fleet = Fleet(database)
    [taken] = await fleet.dequeue()
    for _ in range(2):
        cancelled = await owner.post(f"/v1/runs/{run['id']}/cancel")
        assert (cancelled.status, cancelled.json["state"]) == (202, "running")
    dispatch = PostgresDispatch(database, database, database)
    heartbeat = Heartbeat(fleet.id, "worker-7", ["default"], 10, 2, open=[1], held=[(taken, 1)])
    [stop] = (await dispatch.heartbeat(heartbeat)).stop
    assert (stop.run_id, stop.why) == (taken, "cancelled")


async def test_a_run_that_has_ended_cannot_be_cancelled(owner: Owner) -> None:
    await owner.job()
    run = await trigger(owner)
    await owner.post(f"/v1/runs/{run['id']}/cancel")
    again = await owner.post(f"/v1/runs/{run['id']}/cancel")
    assert again.status == 409
    assert "cancelled" in again.json["detail"]


async def test_history_stays_when_a_job_is_deleted(owner: Owner) -> None:
    await owner.job()
    run = await trigger(owner)
    await owner.delete(JOB)
    assert (await owner.get(f"/v1/runs/{run['id']}")).json["job"] == "nightly"
    assert [run["id"] for run in (await owner.get("/v1/runs")).json["runs"]] == [run["id"]]


async def test_the_due_time_of_a_triggered_run_is_the_databases_now(
    owner: Owner, database: Database
) -> None:
    await owner.job()
    async with database.session() as session:
        before = await session.fetchval("SELECT clock_timestamp()")
        run = await trigger(owner)
        after = await session.fetchval("SELECT clock_timestamp()")
    due_at = datetime.fromisoformat(run["due_at"])
    assert before.replace(microsecond=before.microsecond // 1000 * 1000) <= due_at <= after


async def test_a_dead_run_is_replayed_as_the_same_run(owner: Owner, database: Database) -> None:
    await owner.job()
    run = await trigger(owner)
    fleet = Fleet(database)
    [taken] = await fleet.dequeue()
    await fleet.end(taken, Outcome.FAILED, RunState.DEAD)
    replayed = await owner.post(f"/v1/runs/{run['id']}/replay")
    assert (replayed.status, replayed.json["state"]) == (202, "retrying")
    async with database.session() as session:
        assert await session.fetchval("SELECT count(*) FROM dead_letters") == 0
        assert await session.fetchval("SELECT cause FROM waiting") == "retry"
    again = await owner.post(f"/v1/runs/{run['id']}/replay")
    assert (again.status, "it is retrying" in again.json["detail"]) == (409, True)
    missing = await owner.post(f"/v1/runs/{UUID(int=7)}/replay")
    assert missing.status == 404


async def test_a_dead_run_is_replayed_with_another_input_as_a_new_run_that_names_it(
    owner: Owner, database: Database
) -> None:
    await owner.job()
    run = await trigger(owner)
    fleet = Fleet(database)
    [taken] = await fleet.dequeue()
    await fleet.end(taken, Outcome.FAILED, RunState.DEAD)
    path, changes = f"/v1/runs/{run['id']}/replay", {"body": "mended"}
    assert (await owner.post(path, {"body": "mended", "tempo": 1})).status == 422
    replayed = await owner.post(path, changes)
    assert (replayed.status, replayed.json["kind"]) == (202, "manual")
    given = await owner.get(f"/v1/runs/{replayed.json['id']}/input")
    assert given.json == changes | {"replay_of": run["id"], "replayed_by": "admin"}
    async with database.session() as session:
        left = "SELECT count(*) FROM dead_letters WHERE dismissed_at IS NULL"
        assert await session.fetchval(left) == 0
    [letter] = (await owner.get(f"/v1/teams/{run['team']}/dead", dismissed="true")).json["letters"]
    assert letter["replayed_as"] == replayed.json["id"]
    assert letter["note"] == f"replayed as run {replayed.json['id']}"
    again = await owner.post(path, changes)
    assert (again.status, "no dead letter" in again.json["detail"]) == (409, True)
    same = await owner.post(path)
    assert (same.status, "another run stands for it" in same.json["detail"]) == (409, True)
    [dead] = (await owner.get("/v1/runs", state="dead")).json["runs"]
    assert dead["id"] == run["id"]


async def retrying(owner: Owner, fleet: Fleet) -> str:
    run = await trigger(owner)
    [taken] = await fleet.dequeue()
    await fleet.end(taken, Outcome.FAILED, RunState.RETRYING, retry_in_s=600)
    return str(run["id"])


async def test_the_next_attempt_of_a_run_is_made_now(owner: Owner, database: Database) -> None:
    await owner.job()
    run = await retrying(owner, Fleet(database))
    [before] = (await owner.get("/v1/runs", state="retrying")).json["runs"]
    hurried = await owner.post(f"/v1/runs/{run}/retry")
    assert (hurried.status, hurried.json["state"]) == (202, "retrying")
    assert hurried.json["retry_at"] < before["retry_at"]
    [after] = (await owner.get("/v1/runs", state="retrying")).json["runs"]
    assert after["retry_at"] == hurried.json["retry_at"]


async def test_a_run_that_is_not_to_be_tried_again_says_who_wants_that(
    owner: Owner, database: Database
) -> None:
    await owner.job()
    run = await retrying(owner, Fleet(database))
    stopped = await owner.post(f"/v1/runs/{run}/stop-retrying", {"reason": "the file is wrong"})
    assert (stopped.status, stopped.json["state"]) == (202, "dead")
    assert "not to be tried again" in stopped.json["reason"]
    assert ": the file is wrong; at last: " in stopped.json["reason"]
    dead = await owner.get("/v1/runs", state="dead")
    assert [row["id"] for row in dead.json["runs"]] == [run]
    again = await owner.post(f"/v1/runs/{run}/stop-retrying")
    assert (again.status, "replay it" in again.json["detail"]) == (409, True)


async def test_a_run_that_waits_says_what_is_before_it(owner: Owner) -> None:
    await owner.job()
    runs = [await trigger(owner) for _ in range(3)]
    told = [(await owner.get(f"/v1/runs/{run['id']}/outlook")).json for run in runs]
    assert [view["before"] - told[0]["before"] for view in told] == [0, 1, 2]
    assert {(view["state"], view["pool"], view["is_all"]) for view in told} == {
        ("queued", "default", True)
    }
    await owner.post(f"/v1/runs/{runs[0]['id']}/cancel")
    assert (await owner.get(f"/v1/runs/{runs[0]['id']}/outlook")).status == 409
    second = await owner.get(f"/v1/runs/{runs[1]['id']}/outlook")
    assert second.json["before"] == told[0]["before"]


async def test_a_run_that_waits_for_others_of_its_job_names_them(
    owner: Owner, database: Database
) -> None:
    await owner.job(overlap="queue")
    runs = [UUID((await trigger(owner))["id"]) for _ in range(3)]
    async with database.session() as session:
        await session.execute("UPDATE runs SET state = 'queued' WHERE id = $1", runs[0])
        await session.execute("DELETE FROM waiting WHERE run_id = $1", runs[0])
        await session.execute(
            "UPDATE waiting SET cause = 'overlap', blocker = (SELECT job_id FROM runs LIMIT 1)"
        )
    told = (await owner.get(f"/v1/runs/{runs[2]}/outlook")).json
    [holder] = told["holders"]
    assert (holder["run"], holder["state"], told["held_by"]) == (str(runs[0]), "queued", 1)


async def test_a_run_in_a_gates_line_names_who_is_in_and_counts_who_is_before_it(
    owner: Owner, database: Database
) -> None:
    await owner.job(max_running=4)
    runs = [UUID((await trigger(owner))["id"]) for _ in range(6)]
    async with database.session() as session:
        gate_id = await session.fetchval("SELECT id FROM gates WHERE kind = 'job'")
        for run in runs[:4]:
            await session.execute("DELETE FROM waiting WHERE run_id = $1", run)
            await session.execute(
                "INSERT INTO permits (gate_id, run_id, due_at)"
                " SELECT $1, id, due_at FROM runs WHERE id = $2",
                *(gate_id, run),
            )
        for rank, run in enumerate(runs[4:]):
            await session.execute(
                "UPDATE waiting SET cause = 'gate', ready_at = 'infinity', gate_id = $1,"
                " line_rank = $2 WHERE run_id = $3",
                *(gate_id, rank, run),
            )
    views = [(await owner.get(f"/v1/runs/{run}/outlook")).json for run in runs[4:]]
    assert [(view["held_by"], view["in_line"]) for view in views] == [(4, 0), (4, 1)]
    assert [holder["run"] for holder in views[1]["holders"]] == [*map(str, sorted(runs[:4])[:3])]


async def test_beside_an_unfinished_run_a_trigger_is_skipped_and_says_so(
    owner: Owner, database: Database
) -> None:
    await owner.job(overlap="skip")
    first = await trigger(owner)
    second = await trigger(owner)
    assert (first["state"], second["state"]) == ("waiting", "skipped")
    due = f"{first['due_at'][:19]}Z"
    assert second["reason"] == f"overlap: run {first['id']} due {due} is still waiting"
    assert second["finished_at"]
    beside = (await owner.post(f"{JOB}/trigger", {"allow_overlap": True})).json
    assert beside["state"] == "waiting"  # until a scheduler has asked
    async with database.session() as session:
        rows = await session.fetch("SELECT id, allow_overlap FROM runs ORDER BY claimed_at")
    assert [(str(row["id"]), row["allow_overlap"]) for row in rows] == [
        (first["id"], False),
        (second["id"], False),
        (beside["id"], True),
    ]
