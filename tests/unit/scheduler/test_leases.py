"""How leases are held, trusted, lost, shared and given up."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from uuid import UUID

import pytest
from tests.unit.scheduler.ground import Ground, after

from matins.domain.runs.claims import Claim, Claimed
from matins.domain.runs.cluster import NO_FIGURES, Figures
from matins.domain.values.errors import BlockedError, UnavailableError
from matins.domain.values.ids import PARTITIONS
from matins.kernel import metrics
from matins.scheduler.leases import UNHEARD_TERMS, LeaseHolder
from matins.testing.memory.agenda import MemoryAgenda
from matins.testing.memory.leases import MemoryLeases
from matins.testing.memory.world import World
from matins.testing.virtual import VirtualClock, in_virtual_time

TERM_S = 10.0


class Deaf(MemoryLeases):
    """Leases whose renewals are done while their answers get lost, when `deaf`."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.deaf = False

    async def renew(
        self,
        holder: UUID,
        epochs: Mapping[int, int],
        watermark: datetime | None,
        ttl_s: float,
        figures: Figures = NO_FIGURES,
    ) -> set[int]:
        """See `domain.ports.Leases`."""
        kept = await super().renew(holder, epochs, watermark, ttl_s, figures)
        if self.deaf:
            raise UnavailableError("the answer was lost")
        return kept


class Mute(MemoryLeases):
    """Leases that reserve while the answers get lost, when `mute`."""

    mute = False

    async def reserve(
        self, holder: UUID, count: int, loaded: Collection[int], ttl_s: float
    ) -> dict[int, int]:
        """See `domain.ports.Leases`."""
        reserved = await super().reserve(holder, count, loaded, ttl_s)
        if self.mute:
            raise UnavailableError("the answer was lost")
        return reserved


class LockedLease(MemoryLeases):
    """Leases of which somebody holds one locked."""

    locked: UUID | None = None

    async def renew(
        self,
        holder: UUID,
        epochs: Mapping[int, int],
        watermark: datetime | None,
        ttl_s: float,
        figures: Figures = NO_FIGURES,
    ) -> set[int]:
        """See `domain.ports.Leases`."""
        if holder == self.locked:
            raise BlockedError("canceling statement due to lock timeout")
        return await super().renew(holder, epochs, watermark, ttl_s, figures)


class Away(MemoryAgenda):
    """An agenda whose claims can't be reached while `away`."""

    away = False

    async def claim(
        self, holder: UUID, epochs: Mapping[int, int], claims: Sequence[Claim]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        if self.away:
            raise UnavailableError("the database is away")
        return await super().claim(holder, epochs, claims)


class FrozenInClaim(MemoryAgenda):
    """An agenda whose claims arrive `late_s` seconds after they were sent."""

    late_s = 0.0

    async def claim(
        self, holder: UUID, epochs: Mapping[int, int], claims: Sequence[Claim]
    ) -> Claimed:
        """See `domain.ports.Agenda`."""
        await asyncio.sleep(self.late_s)
        return await super().claim(holder, epochs, claims)


def lease_holder(ground: Ground, leases: MemoryLeases, clock: VirtualClock) -> LeaseHolder:
    """Return a holder without anything around it."""

    async def nothing(_: object) -> None:
        pass

    return LeaseHolder(
        ground.uuid(),
        leases,
        clock,
        TERM_S,
        hints=ground.hints,
        watermark=lambda: None,
        figures=Figures,
        before_release=nothing,
        renewed=lambda *_: None,
    )


@in_virtual_time
async def test_one_scheduler_holds_every_partition() -> None:
    ground = Ground()
    async with ground.running() as scheduler:
        await asyncio.sleep(1)
        assert len(scheduler.epochs()) == PARTITIONS
        assert scheduler.is_ready()
    assert all(row.holder is None for row in ground.world.partitions.values())
    assert ground.world.leases == {}


@in_virtual_time
async def test_schedulers_come_to_fair_shares_within_a_term() -> None:
    ground = Ground()
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(ground.running())
        await asyncio.sleep(20)
        second = await stack.enter_async_context(ground.running())
        third = await stack.enter_async_context(ground.running())
        await asyncio.sleep(TERM_S)
        shares = [scheduler.epochs().keys() for scheduler in (first, second, third)]
        assert max(map(len, shares)) <= 86
        assert sorted(partition for share in shares for partition in share) == list(
            range(PARTITIONS)
        )


@in_virtual_time
async def test_a_lease_is_trusted_from_before_it_was_asked_for_and_less_long_than_granted() -> None:
    ground = Ground()
    leases, clock = Deaf(ground.world), ground.clock()
    holder = lease_holder(ground, leases, clock)
    await holder.balance()
    asked_at = ground.time.now()
    await asyncio.sleep(8.99)
    assert len(holder.epochs()) == PARTITIONS
    await asyncio.sleep(0.02)
    assert holder.epochs() == {}
    expires_at = ground.world.leases[holder.holder]
    assert (expires_at - asked_at).total_seconds() == TERM_S


@in_virtual_time
async def test_renewals_without_an_answer_prolong_nothing() -> None:
    ground = Ground()
    leases = Deaf(ground.world)
    holder = lease_holder(ground, leases, ground.clock())
    running = asyncio.create_task(holder.run())
    await asyncio.sleep(12)
    assert len(holder.epochs()) == PARTITIONS
    leases.deaf = True
    await asyncio.sleep(TERM_S)
    assert holder.epochs() == {}
    leases.deaf = False
    await asyncio.sleep(2)
    assert len(holder.epochs()) == PARTITIONS
    await holder.stop()
    await running


@in_virtual_time
async def test_who_hears_no_answer_to_its_renewals_keeps_others_out_for_a_bounded_time() -> None:
    ground = Ground()
    leases = ground.leases = Deaf(ground.world)
    job = ground.job(every="1s")
    async with ground.running() as deaf:
        await asyncio.sleep(20)
        leases.deaf = True
        ground.leases = MemoryLeases(ground.world)
        async with ground.running() as other:
            await asyncio.sleep(UNHEARD_TERMS * TERM_S + 2)
            assert deaf.epochs() == {}
            assert len(other.epochs()) == PARTITIONS
            await asyncio.sleep(5 * TERM_S)
            assert len(other.epochs()) == PARTITIONS
            leases.deaf = False
            await asyncio.sleep(TERM_S)
            assert len(deaf.epochs()) == len(other.epochs()) == PARTITIONS / 2
    assert ground.dues(job) == [float(second) for second in range(1, len(ground.runs(job)) + 1)]


@in_virtual_time
async def test_a_scheduler_whose_lease_is_locked_by_somebody_goes_on_under_another_name() -> None:
    ground = Ground()
    leases = ground.leases = LockedLease(ground.world)
    job = ground.job(every="1s")
    async with ground.running() as scheduler:
        await asyncio.sleep(20)
        [leases.locked] = ground.world.leases
        await asyncio.sleep(TERM_S + 3)
        assert len(scheduler.epochs()) == PARTITIONS
        await asyncio.sleep(20)
        assert leases.locked not in {row.holder for row in ground.world.partitions.values()}
    assert ground.dues(job) == [float(second) for second in range(1, len(ground.runs(job)) + 1)]


@in_virtual_time
async def test_what_a_frozen_scheduler_had_in_its_wheel_is_claimed_by_its_successor() -> None:
    ground = Ground()
    clock = ground.clock()
    jobs = [ground.job(every="1s") for _ in range(20)]
    async with ground.running(clock) as frozen:
        await asyncio.sleep(20)
        async with ground.running():
            await asyncio.sleep(10)
            clock.freeze(3 * TERM_S)
            await asyncio.sleep(3 * TERM_S - 1)
            assert frozen.epochs() == {}
            await asyncio.sleep(20.5)
    for job in jobs:
        assert ground.dues(job) == [float(second) for second in range(1, 80)]
        epochs = [run.epoch for run in sorted(ground.runs(job), key=lambda run: run.claimed_at)]
        assert epochs == sorted(epochs)


@in_virtual_time
async def test_a_claim_that_arrives_after_the_lease_went_to_another_is_refused() -> None:
    ground = Ground()
    agenda = FrozenInClaim(ground.world)
    clock = ground.clock()
    job = ground.job()
    refused = metrics.CLAIM_REFUSED._value.get()
    async with ground.running(clock, agenda):
        await asyncio.sleep(59)
        agenda.late_s = 30
        await asyncio.sleep(1.5)
        clock.freeze(25)
        async with ground.running():
            await asyncio.sleep(40)
            agenda.late_s = 0
            [run] = ground.runs(job)
            assert (run.claimed_at - after(60)).total_seconds() < TERM_S + 2
            assert metrics.CLAIM_REFUSED._value.get() == refused + 1
            await asyncio.sleep(60)
    assert ground.dues(job) == [60.0, 120.0]


@in_virtual_time
async def test_a_scheduler_that_stops_leaves_no_gap() -> None:
    ground = Ground()
    job = ground.job(every="1s")
    async with ground.running():
        async with ground.running():
            await asyncio.sleep(30)
        await asyncio.sleep(10)
    assert all((run.claimed_at - run.due_at).total_seconds() < 3 for run in ground.runs(job))
    assert len(ground.runs(job)) >= 39


@in_virtual_time
async def test_claims_given_up_with_a_lease_are_made_when_the_same_lease_is_confirmed_again() -> (
    None
):
    ground = Ground()
    leases, agenda = Deaf(ground.world), Away(ground.world)
    ground.leases = leases
    job = ground.job()
    async with ground.running(agenda=agenda) as scheduler:
        await asyncio.sleep(55)
        leases.deaf = agenda.away = True
        await asyncio.sleep(20)
        assert scheduler.epochs() == {}
        leases.deaf = agenda.away = False
        await asyncio.sleep(5)
        assert [(run.due_at, run.epoch) for run in ground.runs(job)] == [(after(60), 1)]


@in_virtual_time
async def test_what_was_reserved_with_a_lost_answer_is_given_up_when_it_is_not_taken() -> None:
    ground = Ground()
    leases = Mute(ground.world)
    holder, other = lease_holder(ground, leases, ground.clock()), ground.uuid()
    held = await leases.acquire(other, PARTITIONS, TERM_S)
    await leases.offer(other, range(128, 256), TERM_S, leaving=False)
    await holder.renew()
    leases.mute = True
    with pytest.raises(UnavailableError):
        await holder.balance()
    assert sum(row.successor == holder.holder for row in ground.world.partitions.values()) == 128
    leases.mute = False
    for _ in range(2):
        await leases.renew(ground.uuid(), {}, None, TERM_S)
    await leases.release(other, {partition: held[partition] for partition in range(64)})
    await holder.balance()
    assert holder.epochs().keys() == set(range(64))
    assert not any(row.successor for row in ground.world.partitions.values())
