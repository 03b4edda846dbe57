"""Alerts over real processes: whoever is killed, each alert is there once in effect."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from random import Random

from tests.alerts.receivers import Mails, body_of, mail_server, webhooks
from tests.e2e.cluster import Cluster, until

KEY = "c0" * 32
JOBS = 12
KILLS = 10


async def test_each_failed_job_is_told_once_whatever_is_killed() -> None:
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


async def test_operators_are_told_that_all_schedulers_are_frozen_and_that_they_are_back() -> None:
    async with mail_server() as mails, Cluster(None, MATINS_OPERATORS_URL=mails.url) as cluster:
        await cluster.start("api", MATINS_STATUS_AFTER="3s", MATINS_STATUS_EVERY="1s")
        scheduler = await cluster.start("scheduler")
        await cluster.start("executor")
        await until(lambda: _mails_with(mails, "wrong") <= _mails_with(mails, "well again"), 30)
        before = len(mails.received)
        scheduler.signal(signal.SIGSTOP)
        await until(lambda: _mails_with(mails, "scheduler", before), 30)
        scheduler.signal(signal.SIGCONT)
        await until(lambda: _mails_with(mails, "well again", before), 30)


def _mails_with(mails: Mails, words: str, since: int = 0) -> int:
    """Return in how many mails these words stand."""
    return sum(words in f"{mail['subject']} {body_of(mail)}" for mail in mails.received[since:])


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
