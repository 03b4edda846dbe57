"""An executor that dies takes its children along, and its runs are tried again elsewhere."""

from __future__ import annotations

import asyncio
import signal

import pytest
from tests.e2e.cluster import Cluster, until
from tests.e2e.executor.ground import Processes


@pytest.fixture
async def cluster(cluster: Cluster) -> Cluster:
    await cluster.start("api")
    await cluster.start("scheduler")
    return cluster


@pytest.fixture
def naps() -> Processes:
    return Processes()


async def triggered(cluster: Cluster, name: str, **spec: object) -> str:
    """Make a job without a schedule and trigger it; gives the run's id."""
    await cluster.put_job(name, **spec)
    url = f"{cluster.urls[0]}/v1/teams/e2e/jobs/{name}/trigger"
    async with cluster.http.post(url) as answer:
        assert answer.status == 202, await answer.text()
        run_id: str = (await answer.json())["id"]
        return run_id


async def state(cluster: Cluster, run_id: str) -> tuple[str, int]:
    """State and attempt of a run, by its row."""
    [row] = await cluster.rows("SELECT state, attempt FROM runs WHERE id = $1::text::uuid", run_id)
    return row["state"], row["attempt"]


async def test_killed_in_mid_run_it_leaves_no_orphan_and_attempt_2_succeeds(
    cluster: Cluster, naps: Processes
) -> None:
    first = await cluster.start("executor")
    flag = cluster.folder / "second-time"
    script = f"test -e {flag} || {{ touch {flag}; {naps.sleep}; }}"
    run_id = await triggered(
        cluster, "long", target={"command": {"argv": ["/bin/sh", "-c", script]}}
    )
    await until(naps.alive, 20)
    await first.kill()
    await until(lambda: not naps.alive(), 5)

    await cluster.start("executor")

    async def ended() -> bool:
        return (await state(cluster, run_id))[0] == "succeeded"

    await until(ended, 40)
    assert await state(cluster, run_id) == ("succeeded", 2)
    outcomes = await cluster.rows("SELECT number, outcome FROM attempts ORDER BY number")
    assert [tuple(row) for row in outcomes] == [(1, "lost"), (2, "succeeded")]


async def test_a_run_that_kills_its_executor_each_time_becomes_a_dead_letter(
    cluster: Cluster, naps: Processes
) -> None:
    run_id = await triggered(
        cluster,
        "poison",
        target={"command": {"argv": naps.sleep.split()}},
        retry={"lost": 2, "backoff": {"initial": "100ms"}},
    )
    executor = await cluster.start("executor")
    for _ in range(2):
        await until(naps.alive, 30)
        await executor.kill()
        await until(lambda: not naps.alive(), 5)  # or the next kill would meet the same attempt
        await executor.start()

    async def dead() -> bool:
        return (await state(cluster, run_id))[0] == "dead"

    await until(dead, 40)
    assert await cluster.value("SELECT count(*) FROM dead_letters") == 1


async def test_frozen_past_its_bound_its_attempts_are_killed_before_they_are_tried_again(
    cluster: Cluster, naps: Processes
) -> None:
    frozen = await cluster.start("executor")
    run_id = await triggered(
        cluster,
        "frozen",
        target={"command": {"argv": naps.sleep.split()}},
        retry={"backoff": {"initial": "100ms"}},
    )
    await until(naps.alive, 20)
    [before] = naps.alive()
    frozen.signal(signal.SIGSTOP)
    await cluster.start("executor")

    async def tried_again() -> bool:
        return await state(cluster, run_id) == ("running", 2)

    await until(tried_again, 40)
    await until(naps.alive, 10)
    assert before not in naps.alive()
    frozen.signal(signal.SIGCONT)
    await until(lambda: frozen.said("executor.lost"), 15)
    assert await state(cluster, run_id) == ("running", 2)


async def test_stopped_with_sigterm_it_drains_and_gives_back_what_takes_too_long(
    cluster: Cluster, naps: Processes
) -> None:
    executor = await cluster.start("executor", MATINS_DRAIN="3s")
    begun, over = cluster.folder / "begun", cluster.folder / "over"
    script = f"touch {begun}; until test -e {over}; do sleep 0.1; done"
    short = await triggered(
        cluster, "short", target={"command": {"argv": ["/bin/sh", "-c", script]}}
    )
    long = await triggered(
        cluster,
        "long",
        target={"command": {"argv": naps.sleep.split()}},
        retry={"backoff": {"initial": "1h", "max": "1h", "jitter": "none"}},
    )
    await until(lambda: naps.alive() and begun.exists(), 20)
    ending = asyncio.create_task(executor.end())
    await asyncio.sleep(0)  # the signal is sent
    over.touch()
    assert await ending == 0
    assert not naps.alive()
    assert await state(cluster, short) == ("succeeded", 1)
    assert await state(cluster, long) == ("retrying", 1)
    outcome = await cluster.value(
        "SELECT outcome FROM attempts WHERE run_id = $1::text::uuid", long
    )
    assert outcome == "lost"


async def test_a_frozen_scheduler_declares_nobody_lost_when_it_wakes(cluster: Cluster) -> None:
    await cluster.start("executor")
    calm = Processes(9)
    run_id = await triggered(cluster, "calm", target={"command": {"argv": calm.sleep.split()}})
    await until(calm.alive, 20)
    scheduler = next(role for role in cluster.roles if role.role == "scheduler")
    scheduler.signal(signal.SIGSTOP)
    await asyncio.sleep(6)
    scheduler.signal(signal.SIGCONT)

    async def ended() -> bool:
        return (await state(cluster, run_id))[0] == "succeeded"

    await until(ended, 30)
    assert await state(cluster, run_id) == ("succeeded", 1)
