"""Alerts over real processes: whoever is killed, each alert is there once in effect."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from random import Random

from tests.alerts.receivers import Hooks, webhooks
from tests.e2e.cluster import Cluster, Role, until

KEY = "c0" * 32
JOBS = 12
KILLS = 10


async def test_each_failed_job_is_told_once_whatever_is_killed() -> None:
    """RC-11: of a dead letter its owner hears, at whichever step the process dies that tells it."""
    rng = Random(20261130)
    settings = {"MATINS_SECRET_KEYS": KEY, "MATINS_ALERT_LOOK": "500ms"}
    async with webhooks() as hooks, Cluster(None, **settings) as cluster:
        apis = [await cluster.start("api") for _ in range(2)]
        await cluster.start("scheduler")
        await cluster.start("executor")
        url = f"{cluster.urls[0]}/v1/teams/e2e/channels/oncall"
        async with cluster.http.put(url, json={"name": "oncall", "webhook": hooks.url}) as answer:
            channel = await answer.json()
            assert answer.status == 200, channel
        target = {"command": {"argv": ["false"]}}
        retry = {"attempts": 1}
        ids = [
            await cluster.put_job(f"job-{number}", target=target, retry=retry)
            for number in range(JOBS)
        ]
        await _watched(cluster, JOBS)
        for number in range(JOBS):
            await _trigger(cluster, f"job-{number}")
            if number < KILLS:
                api = rng.choice(apis)
                await asyncio.sleep(rng.uniform(0, 1.5))
                await api.kill()
                await api.start()
        for api, address in zip(apis, cluster.urls, strict=True):
            await cluster.ready(api, address)

        async def all_told() -> bool:
            unsent = await cluster.value("SELECT count(*) FROM deliveries WHERE ended_at IS NULL")
            rows = await cluster.value("SELECT count(*) FROM notices")
            return bool(rows == JOBS and unsent == 0)

        await until(all_told, 100, 0.5)
        notices = Counter(
            notice["job_id"] for event in hooks.events for notice in event["data"]["notices"]
        )
        assert notices == dict.fromkeys(map(str, ids), 1)
        hooks.verify(channel["key"])


async def test_that_a_job_is_late_is_told_while_all_schedulers_are_frozen() -> None:
    settings = {"MATINS_SECRET_KEYS": KEY, "MATINS_ALERT_LOOK": "500ms"}
    async with webhooks() as hooks, Cluster(None, **settings) as cluster:
        await cluster.start("api")
        scheduler = await cluster.start("scheduler")
        await cluster.start("executor")
        url = f"{cluster.urls[0]}/v1/teams/e2e/channels/oncall"
        async with cluster.http.put(url, json={"name": "oncall", "webhook": hooks.url}) as answer:
            assert answer.status == 200
        late = [{"on": "late", "after": "3s"}, {"on": "did_not_run", "within": "4s"}]
        job = {"schedule": {"every": "1s"}, "misfire": {"policy": "last"}, "alerts": late}
        await cluster.put_job("steady", **job)
        await until(lambda: cluster.value("SELECT count(*) > 1 FROM runs"), 30)
        scheduler.signal(signal.SIGSTOP)
        await until(lambda: _turns(hooks, "bad") == {"late 3s", "did_not_run 4s"}, 30)
        scheduler.signal(signal.SIGCONT)
        await until(lambda: _turns(hooks, "well") == {"late 3s", "did_not_run 4s"}, 30)


async def test_who_stands_still_in_the_middle_of_a_look_is_relieved_by_another() -> None:
    """The lock of looks is lost by a process that is frozen: what dies then is told in time."""
    settings = {"MATINS_SECRET_KEYS": KEY, "MATINS_ALERT_LOOK": "300ms"}
    async with webhooks() as hooks, Cluster(None, **settings) as cluster:
        first = await cluster.start("api")
        url = f"{cluster.urls[0]}/v1/teams/e2e/channels/oncall"
        async with cluster.http.put(url, json={"name": "oncall", "webhook": hooks.url}) as answer:
            assert answer.status == 200
        target = {"command": {"argv": ["false"]}}
        await cluster.put_job("doomed", target=target, retry={"attempts": 1})
        await _watched(cluster, 1)
        await _freeze_in_a_look(cluster, first)
        other = await cluster.start("api")
        await cluster.ready(other, cluster.urls[1])
        await cluster.start("scheduler")
        await cluster.start("executor")
        path = f"{cluster.urls[1]}/v1/teams/e2e/jobs/doomed/trigger"
        async with cluster.http.post(path) as answer:
            assert answer.status in (200, 202)
        await until(lambda: cluster.value("SELECT count(*) = 1 FROM dead_letters"), 30)
        await until(lambda: cluster.value("SELECT count(*) = 1 FROM notices"), 20)
        first.signal(signal.SIGCONT)
        await until(lambda: _turns(hooks, "bad") == {"dead"}, 30)


def _turns(hooks: Hooks, turn: str) -> set[str]:
    """Return the rules of which this was told."""
    notices = [notice for event in hooks.events for notice in event["data"]["notices"]]
    return {notice["rule"] for notice in notices if notice["turn"] == turn}


async def _watched(cluster: Cluster, count: int) -> None:
    """Wait until all jobs have been looked at."""

    async def looked() -> bool:
        sql = "SELECT count(*) FROM watches WHERE looked_at IS NOT NULL"
        return bool(await cluster.value(sql) == count)

    await until(looked, 30)


async def _trigger(cluster: Cluster, name: str) -> None:
    """Trigger a job by whichever API is there; a repeat under the same key is no other run."""

    async def triggered() -> bool:
        for url in cluster.urls:
            path = f"{url}/v1/teams/e2e/jobs/{name}/trigger"
            try:
                headers = {"Idempotency-Key": name}
                async with cluster.http.post(path, headers=headers) as answer:
                    if answer.status in (200, 202):
                        return True
            except OSError:
                continue
        return False

    await until(triggered, 30)


async def _freeze_in_a_look(cluster: Cluster, api: Role) -> None:
    """Stop an API at a moment at which it holds the lock."""
    held = "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid::bigint = $1"
    key = await cluster.value("SELECT hashtext('matins.alerts')::bigint & 4294967295")
    async with asyncio.timeout(60):
        while True:
            api.signal(signal.SIGSTOP)
            await asyncio.sleep(0.05)
            if await cluster.value(held, key):
                return
            api.signal(signal.SIGCONT)
            await asyncio.sleep(0.01)
