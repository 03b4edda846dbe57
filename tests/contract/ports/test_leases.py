"""Leases: one holder at a time, an epoch that rises, a term by the database's clock."""

from __future__ import annotations

from tests.contract.ports.ground import START, Ground
from tests.ids import numbered

A, B, C = numbered(1), numbered(2), numbered(3)


async def test_a_partition_has_one_holder(ground: Ground) -> None:
    held = await ground.leases.acquire(A, 100, 10)
    rest = await ground.leases.acquire(B, 256, 10)
    assert len(held) == 100
    assert len(rest) == 156
    assert not held.keys() & rest.keys()


async def test_an_expired_lease_is_taken_over_with_a_higher_epoch(ground: Ground) -> None:
    held = await ground.leases.acquire(A, 256, 10)
    ground.clock.move(10)
    taken = await ground.leases.acquire(B, 256, 10)
    assert taken == {partition: epoch + 1 for partition, epoch in held.items()}


async def test_a_lease_in_force_is_not_taken_over(ground: Ground) -> None:
    await ground.leases.acquire(A, 256, 10)
    ground.clock.move(9.999)
    assert await ground.leases.acquire(B, 256, 10) == {}


async def test_renewal_prolongs_what_is_held_and_nothing_else(ground: Ground) -> None:
    held = await ground.leases.acquire(A, 2, 10)
    [kept, lost] = held
    ground.clock.move(9)
    stale = {kept: held[kept], lost: held[lost] - 1}
    assert await ground.leases.renew(A, stale, START, 10) == {kept}
    ground.clock.move(9)
    assert lost in await ground.leases.acquire(B, 256, 10)
    assert kept not in await ground.leases.acquire(B, 256, 10)


async def test_an_expired_lease_is_not_renewed(ground: Ground) -> None:
    held = await ground.leases.acquire(A, 2, 10)
    ground.clock.move(10)
    assert await ground.leases.renew(A, held, None, 10) == set()


async def test_nobody_renews_for_another(ground: Ground) -> None:
    held = await ground.leases.acquire(A, 2, 10)
    assert await ground.leases.renew(B, held, None, 10) == set()


async def test_released_partitions_are_free_at_once(ground: Ground) -> None:
    held = await ground.leases.acquire(A, 256, 10)
    await ground.leases.release(A, held)
    taken = await ground.leases.acquire(B, 256, 10)
    assert taken.keys() == held.keys()
    assert all(taken[partition] > epoch for partition, epoch in held.items())


async def test_a_renewal_prolongs_all_that_a_holder_has_whenever_it_gained_it(
    ground: Ground,
) -> None:
    held = await ground.leases.acquire(A, 100, 10)
    ground.clock.move(6)
    held |= await ground.leases.acquire(A, 156, 10)
    ground.clock.move(9)
    assert await ground.leases.renew(A, held, START, 10) == held.keys()
    ground.clock.move(9)
    assert await ground.leases.acquire(B, 256, 10) == {}


async def test_what_a_holder_does_not_name_in_a_renewal_is_free(ground: Ground) -> None:
    held = await ground.leases.acquire(A, 256, 10)
    unheard = set(sorted(held)[:100])
    known = {partition: epoch for partition, epoch in held.items() if partition not in unheard}
    assert await ground.leases.renew(A, known, None, 10) == known.keys()
    assert (await ground.leases.acquire(B, 256, 10)).keys() == unheard


async def test_a_lease_that_ran_out_takes_nothing_along_when_its_holder_comes_back(
    ground: Ground,
) -> None:
    held = await ground.leases.acquire(A, 256, 10)
    ground.clock.move(10)
    gained = await ground.leases.acquire(A, 100, 10)
    assert gained == {partition: held[partition] + 1 for partition in gained}
    rest = await ground.leases.acquire(B, 256, 10)
    assert rest.keys() == held.keys() - gained.keys()


async def test_a_lease_that_is_asked_for_no_time_is_free_at_once(ground: Ground) -> None:
    held = await ground.leases.acquire(A, 256, 10)
    await ground.leases.renew(A, held, None, 0)
    assert await ground.leases.count_alive(10) == 0
    assert (await ground.leases.acquire(B, 256, 10)).keys() == held.keys()


async def test_what_an_ended_process_held_is_free_at_once(ground: Ground) -> None:
    held = await ground.leases.acquire(A, 100, 10)
    others = await ground.leases.acquire(B, 100, 10)
    await ground.leases.retire(A)
    assert await ground.leases.count_alive(10) == 1
    assert await ground.leases.renew(B, others, None, 10) == others.keys()
    assert held.keys() <= (await ground.leases.acquire(B, 256, 10)).keys()
    await ground.leases.retire(A)


async def test_who_renewed_within_the_term_counts_as_alive(ground: Ground) -> None:
    await ground.leases.renew(A, {}, None, 10)
    ground.clock.move(6)
    await ground.leases.renew(B, {}, None, 10)
    assert await ground.leases.count_alive(10) == 2
    ground.clock.move(5)
    assert await ground.leases.count_alive(10) == 1


async def test_a_lease_from_before_the_clock_went_back_is_taken_over(ground: Ground) -> None:
    await ground.leases.acquire(A, 256, 10)
    ground.clock.move(-300)
    assert len(await ground.leases.acquire(B, 256, 10)) == 256


async def test_a_sign_of_life_from_before_the_clock_went_back_is_none(ground: Ground) -> None:
    await ground.leases.renew(A, {}, None, 10)
    ground.clock.move(-300)
    assert await ground.leases.count_alive(10) == 0
    await ground.leases.renew(A, {}, None, 10)
    assert await ground.leases.count_alive(10) == 1


async def test_a_lease_from_before_the_clock_went_back_comes_to_life_no_more(
    ground: Ground,
) -> None:
    await ground.leases.acquire(A, 256, 10)
    ground.clock.move(-300)
    held = await ground.leases.acquire(B, 256, 10)
    ground.clock.move(5)
    assert len(await ground.leases.renew(B, held, None, 300)) == 256
    ground.clock.move(299)
    assert await ground.leases.count_alive(10) == 1


async def test_a_clock_that_went_back_less_than_a_term_takes_nobody_s_lease(ground: Ground) -> None:
    held = await ground.leases.acquire(A, 256, 10)
    ground.clock.move(4)
    await ground.leases.renew(A, held, None, 6)
    ground.clock.move(-4)
    assert await ground.leases.acquire(B, 256, 10) == {}


async def test_who_gave_up_its_last_partition_no_longer_counts(ground: Ground) -> None:
    await ground.leases.renew(A, {}, None, 10)
    held = await ground.leases.acquire(A, 2, 10)
    [first, other] = held
    await ground.leases.release(A, {first: held[first]})
    assert await ground.leases.count_alive(10) == 1
    await ground.leases.release(A, {other: held[other]})
    assert await ground.leases.count_alive(10) == 0


async def test_what_is_offered_is_reserved_for_one_and_taken_when_it_was_released(
    ground: Ground,
) -> None:
    held = await ground.leases.acquire(A, 256, 10)
    await ground.leases.renew(B, {}, None, 10)
    assert await ground.leases.reserve(B, 100, [], 10) == {}
    assert await ground.leases.offer(A, range(100), 10, leaving=False) == (set(), 1)
    assert await ground.leases.reserve(B, 60, [], 10) == {
        partition: held[partition] + 1 for partition in range(60)
    }
    assert await ground.leases.acquire(B, 256, 10) == {}
    await ground.leases.reserve(B, 60, [5, 6, 99], 10)
    assert (await ground.leases.offer(A, range(100), 10, leaving=False)).ready == {5, 6}
    await ground.leases.release(A, {5: held[5], 6: held[6]})
    assert await ground.leases.acquire(C, 256, 10) == {}
    assert await ground.leases.acquire(B, 256, 10) == {5: held[5] + 1, 6: held[6] + 1}
    assert (await ground.leases.reserve(B, 60, [], 10)).keys() == set(range(62)) - {5, 6}


async def test_what_a_successor_wants_no_more_is_free_for_others(ground: Ground) -> None:
    held = await ground.leases.acquire(A, 256, 10)
    await ground.leases.renew(B, {}, None, 10)
    await ground.leases.offer(A, range(100), 10, leaving=False)
    await ground.leases.reserve(B, 100, [], 10)
    await ground.leases.reserve(B, 100, range(100), 10)
    await ground.leases.release(A, {partition: held[partition] for partition in range(50)})
    assert await ground.leases.acquire(C, 256, 10) == {}
    assert (await ground.leases.reserve(B, 10, range(100), 10)).keys() == set(range(10))
    assert (await ground.leases.acquire(C, 256, 10)).keys() == set(range(10, 50))
    assert (await ground.leases.offer(A, range(50, 100), 10, leaving=False)).ready == set()
    assert await ground.leases.reserve(B, 0, range(100), 10) == {}
    assert (await ground.leases.acquire(C, 256, 10)).keys() == set(range(10))
    assert len(await ground.leases.reserve(C, 100, [], 10)) == 50


async def test_what_is_offered_no_more_is_reserved_for_nobody(ground: Ground) -> None:
    await ground.leases.acquire(A, 256, 10)
    await ground.leases.renew(B, {}, None, 10)
    await ground.leases.offer(A, [1, 2], 10, leaving=False)
    await ground.leases.reserve(B, 2, [], 10)
    await ground.leases.offer(A, [2], 10, leaving=False)
    assert (await ground.leases.reserve(B, 2, [1, 2], 10)).keys() == {2}
    assert (await ground.leases.offer(A, [1, 2], 10, leaving=False)).ready == {2}


async def test_what_a_successor_has_reserved_is_anybody_s_once_its_lease_has_run_out(
    ground: Ground,
) -> None:
    held = await ground.leases.acquire(A, 256, 10)
    await ground.leases.renew(B, {}, None, 10)
    await ground.leases.offer(A, range(256), 10, leaving=False)
    await ground.leases.reserve(B, 256, range(256), 10)
    await ground.leases.reserve(B, 256, range(256), 10)
    ground.clock.move(6)
    await ground.leases.renew(A, held, None, 10)
    await ground.leases.renew(C, {}, None, 10)
    ground.clock.move(5)
    assert (await ground.leases.offer(A, range(256), 10, leaving=False)).ready == set()
    assert len(await ground.leases.reserve(C, 100, [], 10)) == 100
    await ground.leases.release(A, held)
    assert len(await ground.leases.acquire(C, 256, 10)) == 256


async def test_who_leaves_is_not_counted_and_gets_nothing_reserved(ground: Ground) -> None:
    held = await ground.leases.acquire(A, 256, 10)
    await ground.leases.renew(B, {}, None, 10)
    assert await ground.leases.count_alive(10) == 2
    await ground.leases.offer(A, held, 10, leaving=True)
    assert await ground.leases.count_alive(10) == 1
    assert await ground.leases.renew(A, held, None, 10) == held.keys()
    assert await ground.leases.offer(B, [], 10, leaving=True) == (set(), 0)
    await ground.leases.release(A, held)
    await ground.leases.renew(A, {}, None, 10)
    assert await ground.leases.count_alive(10) == 1
