"""The queues of pools as a whole: how long they are, who serves them, how fast they go on."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from tests.contract.ports.ground import SPEC, START, Ground, claim
from tests.ids import numbered

from matins.domain.executors.protocol import Handout, Heartbeat, Poll
from matins.domain.runs.ranking import GAP_S, Started, rank_at

HOLDER, JOB, FIRST, SECOND = (numbered(number) for number in range(1, 5))
POOL = "default"


async def queue(ground: Ground, count: int) -> None:
    """Put so many runs on the queue, a second apart."""
    await ground.rows.add_job(JOB, SPEC)
    epochs = await ground.all_leases(HOLDER)
    claims = [claim(JOB, START + timedelta(seconds=number)) for number in range(count)]
    await ground.agenda.claim(HOLDER, epochs, claims)


async def register(ground: Ground, executor: UUID, free: int, *pools: str) -> None:
    await ground.dispatch.heartbeat(Heartbeat(executor, "e", [*pools], free, 1))


async def dequeue(ground: Ground, seq: int, free: int) -> Handout:
    poll = Poll(FIRST, seq, [POOL], free)
    return await ground.dispatch.dequeue(poll, POOL) or Handout()


async def test_a_queue_is_counted_up_to_a_limit(ground: Ground) -> None:
    assert await ground.dispatch.queue_depth(POOL, 5) == 0
    await queue(ground, 7)
    assert await ground.dispatch.queue_depth(POOL, 5) == 5
    assert await ground.dispatch.queue_depth(POOL, 9) == 7
    assert await ground.dispatch.queue_depth("another", 9) == 0


async def test_the_free_slots_of_others_are_those_of_their_last_heartbeat(ground: Ground) -> None:
    await register(ground, FIRST, 3, POOL)
    await register(ground, SECOND, 8, POOL, "heavy")
    others = await ground.dispatch.free_elsewhere([POOL, "heavy", "idle"], {FIRST})
    assert {pool: slots for pool, slots in others.items() if slots} == {POOL: [8], "heavy": [8]}
    everybody = await ground.dispatch.free_elsewhere([POOL], set())
    assert sorted(everybody[POOL]) == [3, 8]


async def test_of_a_pool_that_was_never_served_nothing_is_known(ground: Ground) -> None:
    assert (await ground.queues.read()).pools == {}


async def test_a_queue_that_is_not_emptied_says_how_fast_it_goes_on_and_how_far_it_is(
    ground: Ground,
) -> None:
    await queue(ground, 3)
    await register(ground, FIRST, 9, POOL)
    first = await dequeue(ground, 1, 2)
    assert len(first.attempts) == 2
    await ground.dispatch.note_starts([Started(POOL, 2, 1.0, is_emptied=False)])
    seen = (await ground.queues.read()).pools[POOL]
    assert seen.gap_s == 0.5
    assert seen.reached == rank_at(ground.clock.now(), 1)  # when they were claimed
    assert seen.emptied_at is None


async def test_a_queue_that_was_emptied_says_when(ground: Ground) -> None:
    await ground.dispatch.note_starts([Started(POOL, 0, 1.0, is_emptied=True)])
    seen = (await ground.queues.read()).pools[POOL]
    assert (seen.gap_s, seen.reached, seen.emptied_at) == (GAP_S, None, ground.clock.now())
