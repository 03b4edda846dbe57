"""What ends is recorded once, whoever is killed, refused or slow meanwhile."""

from __future__ import annotations

import asyncio
import json
import signal

from tests.e2e.cluster import Cluster, until
from tests.e2e.faults.scenes import SECOND, AfterExecute, postgres_proxy, start_scheduler

from matins.testing.proxy import Direction, Fate, ReceivedMessage

RECORD = "r.cancel_at IS NOT NULL THEN 'cancelled'"
"""A fragment of the statement that records ends, and of no other."""

PATIENT = {"MATINS_CUT_OFF": "80s", "MATINS_LOST_AFTER": "90s"}
"""So that nobody is lost while the gateway is away."""

KILLS = 6
JOBS = 8
SECONDS = 14


async def test_an_api_killed_between_its_commit_and_its_answer_counts_nothing_twice(
    cluster: Cluster,
) -> None:
    """RC-01, RC-11: runs that fail for good, their attempts, letters and notices, each once."""
    alerting = {"MATINS_SECRET_KEYS": "c0" * 32, "MATINS_ALERT_LOOK": "500ms"}
    async with postgres_proxy(cluster) as (proxy, dsn):
        api = await cluster.start("api", MATINS_POSTGRES=dsn, **alerting)
        await cluster.start("executor", **PATIENT)
        await start_scheduler(cluster, **PATIENT)
        url = f"{cluster.urls[0]}/v1/teams/e2e/channels/oncall"
        channel = {"name": "oncall", "webhook": "http://127.0.0.1:1/nobody-listens"}
        async with cluster.http.put(url, json=channel) as answer:
            assert answer.status == 200
        first = await cluster.whole_second(4)
        last = first + (SECONDS - 1) * SECOND
        schedule = {"every": "1s", "anchor": first.isoformat(), "ends_at": last.isoformat()}
        target = {"http": {"url": f"{cluster.recorder.url}/status/500"}}
        failing = {"target": target, "retry": {"attempts": 1}, "schedule": schedule}
        jobs = await cluster.put_every_second(JOBS, first, last + SECOND, **failing)
        await cluster.pass_by(first)

        async def kill(_message: ReceivedMessage) -> Fate:
            await api.kill()
            killed.set()
            return Fate.CUT

        runs, kills = JOBS * SECONDS, 0

        async def killed_or_over() -> bool:
            ended = f"SELECT count(*) = {runs} FROM runs WHERE finished_at IS NOT NULL"
            return killed.is_set() or bool(await cluster.value(ended))

        for _ in range(KILLS):
            killed = asyncio.Event()
            committed = proxy.on_message(AfterExecute(RECORD, Direction.TO_CLIENT, "C"), kill)
            await until(killed_or_over, 60, 0.05)
            committed.remove()
            if not killed.is_set():  # a slow API has recorded all that was due meanwhile at once
                break
            await api.start()
            kills += 1
        assert kills > 1

        counts = await cluster.check(last + SECOND)
        assert counts["attempts"] == counts["due"] == runs
        assert await cluster.value("SELECT count(*) FROM dead_letters") == runs
        assert await cluster.value("SELECT max(attempt) + max(lost_count) FROM runs") == 1
        await until(lambda: cluster.value(f"SELECT count(*) = {JOBS} FROM notices"), 30)
        notices = await cluster.rows("SELECT job_id, rule, turn FROM notices")
        assert {tuple(row) for row in notices} == {(job, "dead", "bad") for job in jobs}


async def test_one_end_that_the_database_refuses_holds_up_no_other(cluster: Cluster) -> None:
    """RC-03: its run ends all the same. RC-07: so does one whose policy is beyond all bounds."""
    api = await cluster.start("api")
    await cluster.start("scheduler")
    await cluster.value(
        "ALTER TABLE attempts ADD CONSTRAINT no_poison CHECK (output NOT LIKE '%poison%') NOT VALID"
    )
    for number in range(20):
        word = "poison" if number == 7 else "good"
        target = {"command": {"argv": ["echo", word]}}
        await cluster.put_job(f"job-{number}", target=target)
    await cluster.put_job("wild", target={"command": {"argv": ["false"]}})
    wild = {
        "attempts": 5_000,
        "backoff": {"initial": "-1h", "factor": 1e300, "max": "99999999d", "jitter": "full"},
    }
    await cluster.value(
        "UPDATE jobs SET spec = jsonb_set(spec, '{retry}', $1::jsonb) WHERE name = 'wild'",
        json.dumps(wild),
    )
    for name in [*(f"job-{number}" for number in range(20)), "wild"]:
        url = f"{cluster.urls[0]}/v1/teams/e2e/jobs/{name}/trigger"
        async with cluster.http.post(url) as answer:
            assert answer.status == 202
    await cluster.start("executor")

    async def ended() -> bool:
        count = await cluster.value("SELECT count(*) FROM runs WHERE finished_at IS NOT NULL")
        return bool(count == 21)

    await until(ended, 30)
    rows = await cluster.rows(
        "SELECT j.name, r.state, a.output FROM runs r JOIN jobs j ON j.id = r.job_id"
        " JOIN attempts a ON a.run_id = r.id"
    )
    states = {row["name"]: row["state"] for row in rows}
    assert states.pop("wild") == "dead"
    assert set(states.values()) == {"succeeded"}
    [output] = [row["output"] for row in rows if row["name"] == "job-7"]
    assert "could not be recorded" in output
    assert api.said("end.unrecordable") == 1


async def test_an_executor_that_is_lost_while_leases_change_hands_is_lost_once(
    cluster: Cluster,
) -> None:
    """RC-05: three schedulers stop and go on by turns, so that each of them may find it."""
    await cluster.start("api")
    lost = await cluster.start("executor")
    for number in range(12):
        target = {"http": {"url": f"{cluster.recorder.url}/slow?s={1 if number % 2 else 30}"}}
        await cluster.put_job(f"job-{number}", target=target, retry={"backoff": {"initial": "0s"}})
        url = f"{cluster.urls[0]}/v1/teams/e2e/jobs/job-{number}/trigger"
        async with cluster.http.post(url) as answer:
            assert answer.status == 202
    schedulers = [await cluster.start("scheduler") for _ in range(3)]
    running = "SELECT count(*) FROM runs WHERE state = 'running'"

    async def is_running() -> bool:
        return bool(await cluster.value(running) >= 6)

    await until(is_running, 20)
    await lost.kill()
    await cluster.start("executor")

    async def tried_again() -> bool:
        sql = "SELECT count(*) FROM runs WHERE state = 'running' AND attempt = 2"
        return bool(await cluster.value(sql) >= 6)

    async def take_turns() -> None:
        """Each is frozen for longer than its lease, with pauses in which others take over."""
        while True:
            for scheduler in schedulers:
                scheduler.signal(signal.SIGSTOP)
                await asyncio.sleep(2.5)
                scheduler.signal(signal.SIGCONT)

    turns = asyncio.create_task(take_turns())
    await until(tried_again, 60)
    turns.cancel()
    rows = await cluster.rows(
        "SELECT r.lost_count, count(a.run_id) AS attempts FROM runs r"
        " JOIN attempts a ON a.run_id = r.id AND a.outcome = 'lost' GROUP BY r.id, r.lost_count"
    )
    assert len(rows) >= 6
    assert {(row["lost_count"], row["attempts"]) for row in rows} == {(1, 1)}


async def test_a_run_may_take_many_times_as_long_as_any_bound_of_the_engine(
    cluster: Cluster,
) -> None:
    """RC-09: it is watched by heartbeats only, so it is handed out once.

    Twenty lease terms, and ten times as long as an executor may be silent.
    """
    brisk = {"MATINS_LEASE_TERM": "1s", "MATINS_CUT_OFF": "1500ms", "MATINS_LOST_AFTER": "2s"}
    await cluster.start("api", **brisk)
    await cluster.start("scheduler", **brisk)
    await cluster.start("executor", **brisk)
    sleep = {"command": {"argv": ["sleep", "20"]}}
    await cluster.put_job("long", target=sleep, retry={"attempts": 3})
    url = f"{cluster.urls[0]}/v1/teams/e2e/jobs/long/trigger"
    async with cluster.http.post(url) as answer:
        assert answer.status == 202

    async def ended() -> bool:
        return bool(await cluster.value("SELECT count(*) FROM runs WHERE finished_at IS NOT NULL"))

    await until(ended, 60, 0.5)
    [row] = await cluster.rows("SELECT state, attempt, lost_count FROM runs")
    assert tuple(row) == ("succeeded", 1, 0)
