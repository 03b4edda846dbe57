"""Deliveries: each try under a deadline, as many at once as there is room."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from matins.alerts.channels import Outgoing
from matins.alerts.delivering import AT_ONCE, DEADLINE_S, DeliveryService
from matins.domain.alerts.channels import Channel, Secrets
from matins.domain.ports.alerts import Content
from matins.domain.values.errors import UnavailableError
from matins.kernel.sealing import Sealer
from matins.owners.channels import Channels
from matins.testing.memory.channels import MemoryChannels
from matins.testing.memory.outbox import MemoryOutbox
from matins.testing.memory.world import World
from matins.testing.virtual import VirtualClock, VirtualTime, in_virtual_time

TEAM = "payments"


async def _no_fault(_url: str) -> str:
    return ""


class Post:
    """A team's channels, in virtual time. `began` are the channels that a try was made for."""

    def __init__(self, outbox: type[MemoryOutbox] = MemoryOutbox, keys: str = "ab") -> None:
        time = VirtualTime()
        self.world = World(time.now)
        self.took_s = 0.0
        self.began: list[str] = []
        store, sealer = MemoryChannels(self.world), Sealer(["ab" * 32])
        self.channels = Channels(store, sealer, Random(3), _no_fault)
        senders: Any = {"webhook": self._send}
        sealer, clock = Sealer([keys * 32]), VirtualClock(time)
        self.delivery = DeliveryService(outbox(self.world), sealer, senders, clock, 1.0)

    async def test(self, *names: str) -> None:
        """Put a message on its way to each of these channels."""
        for name in names:
            await self.channels.put(TEAM, Channel(name, webhook="https://hooks.example.com/"))
            await self.channels.test(TEAM, name)

    @property
    def errors(self) -> list[str]:
        """Why the last try of each message was in vain."""
        rows = self.world.alerts.deliveries.values()
        return [row.tries[-1].error for row in rows if row.tries]

    async def _send(self, secrets: Secrets, _outgoing: Outgoing) -> None:
        self.began.append(secrets.name)
        await asyncio.sleep(self.took_s)


@in_virtual_time
async def test_a_receiver_that_does_not_answer_is_given_up_at_the_deadline() -> None:
    post = Post()
    post.took_s = 1000.0
    await post.test("slow")
    await post.delivery.take()
    await asyncio.sleep(DEADLINE_S + 0.1)
    assert post.errors == ["no answer within 20 s"]


@in_virtual_time
async def test_no_more_is_sent_at_once_than_there_is_room() -> None:
    post = Post()
    post.took_s = 5.0
    await post.test(*(f"channel-{number}" for number in range(AT_ONCE + 5)))
    for _ in range(3):
        await post.delivery.take()
        await asyncio.sleep(0.1)
    assert len(post.began) == AT_ONCE
    await post.delivery.settle()
    await post.delivery.take()
    await post.delivery.settle()
    assert len(post.began) == AT_ONCE + 5
    assert post.errors == [""] * (AT_ONCE + 5)


@in_virtual_time
async def test_without_the_key_of_a_channel_the_try_says_so() -> None:
    post = Post(keys="cd")
    await post.test("oncall")
    await post.delivery.take()
    await post.delivery.settle()
    [error] = post.errors
    assert "none of the keys" in error
    assert post.began == []


class Away(MemoryOutbox):
    """Can't be asked what a message is about."""

    async def content(self, delivery: object) -> Content:
        """See `domain.ports.alerts.Outbox`."""
        raise UnavailableError("the database is away")


@in_virtual_time
async def test_what_could_not_be_read_is_no_try() -> None:
    post = Post(Away)
    await post.test("oncall")
    await post.delivery.take()
    await post.delivery.settle()
    assert (post.began, post.errors) == ([], [])


@in_virtual_time
async def test_who_is_stopped_finishes_what_is_being_sent() -> None:
    post = Post()
    post.took_s = 3.0
    await post.test("oncall")
    running = asyncio.create_task(post.delivery.run())
    await asyncio.sleep(0.5)
    await post.delivery.stop()
    await running
    assert (post.began, post.errors) == (["oncall"], [""])
