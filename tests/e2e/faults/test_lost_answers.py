"""What the gateway answers to an executor gets lost, after it was done."""

from __future__ import annotations

import asyncio
import signal

from tests.e2e.cluster import Cluster, Role, until
from tests.e2e.faults.scenes import Load, api_proxy, check_load, load, metric, start_scheduler

from matins.testing.hooks import Predicate
from matins.testing.proxy import Fate, Proxy, ReceivedMessage, answers

POLL = "POST /v1/executors/poll"
REPORT = "POST /v1/executors/report"
LOST_S = 3
PATIENT = {"MATINS_CUT_OFF": "12s", "MATINS_LOST_AFTER": "16s"}
"""So that nobody is lost while the gateway is away."""


def brings_attempts(message: ReceivedMessage) -> bool:
    """Return whether it is the answer to a poll, with attempts in it."""
    return answers(POLL)(message) and b"/ok" in message.payload


async def start_behind(cluster: Cluster, proxy: Proxy, url: str) -> tuple[Role, Load]:
    """Start a scheduler, and an executor behind the proxy, and put them to work."""
    executor, _ = await asyncio.gather(
        cluster.start("executor", MATINS_URL=url, MATINS_HEALTH_PORT="0", **PATIENT),
        start_scheduler(cluster, **PATIENT),
    )
    return executor, await load(cluster, 60)


async def lose(proxy: Proxy, predicate: Predicate) -> int:
    """Cut each connection at such an answer for some seconds; gives how many were lost."""
    lost = proxy.on_message(predicate, Fate.CUT)
    await until(lost.reached.is_set, 5, 0.01)
    await asyncio.sleep(LOST_S)
    lost.remove()
    return lost.matches


async def attempts_used(cluster: Cluster) -> tuple[int, int]:
    """Return the highest number of an attempt, and how many were recorded under a second number."""
    [row] = await cluster.rows("SELECT max(attempt) AS most, max(lost_count) AS lost FROM runs")
    return row["most"], row["lost"]


async def test_lost_answers_to_polls_are_given_again_and_use_up_no_attempt(
    cluster: Cluster,
) -> None:
    """GW-05: what was handed out but never arrived is handed out again under the same number."""
    await cluster.start("api")
    async with api_proxy(cluster) as (proxy, url):
        executor, steady = await start_behind(cluster, proxy, url)
        assert await lose(proxy, brings_attempts) > 1
        counts = await check_load(cluster, steady)
    assert counts["runs succeeded"] >= counts["due"]
    assert await attempts_used(cluster) == (1, 0)
    assert await metric(cluster, executor, "matins_gateway_errors_total") > 1


async def test_lost_answers_to_reports_double_nothing_and_lose_nothing(cluster: Cluster) -> None:
    """GW-09: a report that is repeated is accepted, and changes nothing."""
    api = await cluster.start("api")
    async with api_proxy(cluster) as (proxy, url):
        executor, steady = await start_behind(cluster, proxy, url)
        assert await lose(proxy, answers(REPORT)) > 1
        counts = await check_load(cluster, steady)
    assert counts["attempts succeeded"] == counts["attempts"]
    assert await attempts_used(cluster) == (1, 0)
    assert not api.said("ends.superseded")
    assert not executor.said("ends.superseded")


async def test_an_api_frozen_in_a_burst_hands_nothing_out_twice_when_it_goes_on(
    cluster: Cluster,
) -> None:
    """GW-03: the polls that it had taken are asked again under their numbers.

    A poll waits for half a minute; here it is the network in between that loses its patience.
    """
    api = await cluster.start("api")
    async with api_proxy(cluster) as (proxy, url):
        executor, steady = await start_behind(cluster, proxy, url)

        async def freeze(_message: ReceivedMessage) -> None:
            api.signal(signal.SIGSTOP)

        burst = proxy.on_message(brings_attempts, freeze, nth=2)
        await until(burst.reached.is_set, 5, 0.01)
        for _ in range(3):
            await asyncio.sleep(1)
            proxy.cut_connections()
        api.signal(signal.SIGCONT)
        counts = await check_load(cluster, steady)
    assert counts["runs succeeded"] >= counts["due"]
    assert await attempts_used(cluster) == (1, 0)
    assert await metric(cluster, executor, "matins_gateway_errors_total") > 1
