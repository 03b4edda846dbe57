"""The sweep: a scheduler dies after each message of a firing, from due to dispatched."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from tests.e2e.cluster import Cluster, Role, until
from tests.e2e.faults.scenes import CLAIM, check_load, load, postgres_proxy

from matins.testing.proxy import Fate, Proxy, ReceivedMessage

POINTS_MAX = 15
STEPS = (CLAIM, "pg_notify")
"""Fragments of the statements that make up a firing: the claim, and the hint to the gateways."""


class Killer:
    """Kills a scheduler after the n-th message of its first firing; nothing more of it arrives.

    With `after` at 0 it only counts.
    """

    def __init__(self, proxy: Proxy, role: Role) -> None:
        self._proxy = proxy
        self._role = role
        self._dead_until = 0
        self._after = 0
        self._count = 0
        self.ends: list[int] = []
        """How many messages had come when each statement was done."""
        self.killed = asyncio.Event()
        proxy.on_message(lambda _: True, self._judge)

    async def start(self, after: int = 0) -> None:
        """Start the scheduler, or start it again."""
        self._after, self._count = after, 0
        self.killed.clear()
        await self._role.start()

    async def kill(self) -> None:
        """Kill it, and drop what it has said but the proxy has not yet passed on."""
        self._dead_until = self._proxy.connections
        await self._role.kill()
        self.killed.set()

    async def _judge(self, message: ReceivedMessage) -> Fate:
        if message.connection <= self._dead_until:
            return Fate.CUT
        if any(step in message.text for step in STEPS):
            self._count += 1
            if message.kind == "Z":
                self.ends.append(self._count)
            if self._count == self._after:
                await self.kill()
        return Fate.PASS


async def test_killed_after_any_message_of_a_firing_it_loses_and_doubles_nothing(
    cluster: Cluster,
) -> None:
    """CL-07: two schedulers take turns in dying; jobs are due each second all the while."""
    settings = {"MATINS_LEASE_TERM": "1s"}
    async with postgres_proxy(cluster) as first, postgres_proxy(cluster) as other:
        await asyncio.gather(cluster.start("api"), cluster.start("executor"))
        steady = await load(cluster, 12)
        killers = [
            Killer(proxy, await cluster.start("scheduler", MATINS_POSTGRES=dsn, **settings))
            for proxy, dsn in (first, other)
        ]
        await until(lambda: len(killers[0].ends) >= len(STEPS), 10, 0.01)
        length = killers[0].ends[len(STEPS) - 1]
        points = range(1, length + 1, -(-length // POINTS_MAX))
        for killer in killers:
            await killer.kill()
        turns = iter(points)
        kills = await asyncio.gather(*(sweep(killer, turns) for killer in killers))
        for killer in killers:
            await killer.start()

        counts = await check_load(cluster, steady)
    assert sum(kills) == len(points) > POINTS_MAX / 2
    assert counts["take-overs"]


async def sweep(killer: Killer, turns: Iterator[int]) -> int:
    """Take points off the list and die at each; gives how many it were."""
    kills = 0
    for after in turns:
        await killer.start(after)
        async with asyncio.timeout(15):
            await killer.killed.wait()
        kills += 1
    return kills
