"""Polls that wait, and what they are given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import UUID, uuid4

import msgspec
import pytest
from prometheus_client import REGISTRY
from tests.unit.gateway.rows import DUE, Rows, Words, until

from matins.domain.executors.protocol import Handout, Heartbeat, Poll
from matins.domain.runs.states import RunState
from matins.domain.values.errors import UnavailableError
from matins.gateway.handout import DEEP, Dispatcher
from matins.gateway.starts import BUSY, StartsCounter
from matins.kernel.clock import HostClock


class Gate:
    """A dispatcher over rows in memory, with executors that have sent a heartbeat."""

    def __init__(self, poll_s: float = 60.0) -> None:
        self.rows = Rows()
        self.words = Words()
        clock = HostClock()
        self.starts = StartsCounter(self.rows, clock)
        self.dispatcher = Dispatcher(self.rows, self.starts, self.words, clock, poll_s)

    def executor(self) -> UUID:
        """Return a new executor that has sent one heartbeat."""
        name = uuid4()
        self.rows.executors[name] = Heartbeat(name, "e", ["default"], 100, 1)
        return name

    async def ask(self, poll: Poll) -> Handout:
        return await self.dispatcher.poll(poll)

    def asking(
        self, free: int = 10, pools: tuple[str, ...] = ("default",)
    ) -> asyncio.Task[Handout]:
        """Return a poll of a new executor, under way."""
        return asyncio.create_task(self.ask(Poll(self.executor(), 1, list(pools), free)))


@asynccontextmanager
async def opened(poll_s: float = 60.0) -> AsyncIterator[Gate]:
    gate = Gate(poll_s)
    running = asyncio.create_task(gate.dispatcher.run())
    yield gate
    await gate.dispatcher.stop()
    await running


def polls_of(executor: UUID, count: int) -> list[Poll]:
    """Return polls of one executor, for ten runs each."""
    return [Poll(executor, seq, ["default"], 10) for seq in range(1, count + 1)]


async def first_of(polls: Sequence[asyncio.Task[Handout]]) -> Handout:
    """Return the first answer."""
    await asyncio.wait(polls, return_when=asyncio.FIRST_COMPLETED)
    return next(poll.result() for poll in polls if poll.done())


async def asleep(gate: Gate, count: int) -> None:
    """Wait until so many polls have found nothing and the pools are cold."""
    await until(lambda: len(gate.dispatcher._polls) == count and not gate.dispatcher._dequeues)


async def test_a_poll_takes_at_once_what_is_queued() -> None:
    async with opened() as gate:
        runs = gate.rows.enqueue(3)
        handout = await gate.asking()
        assert [attempt.run_id for attempt in handout.attempts] == runs
        assert {attempt.number for attempt in handout.attempts} == {1}


@pytest.mark.parametrize(("started_s", "lag_s"), [(1.5, 1.5), (-5.0, 0.0)])
async def test_the_start_lag_is_that_of_the_rows_and_never_negative(
    started_s: float, lag_s: float
) -> None:
    async with opened() as gate:
        before = REGISTRY.get_sample_value("matins_start_lag_seconds_sum") or 0.0
        gate.rows.started_at = DUE + timedelta(seconds=started_s)
        gate.rows.enqueue(2)
        await gate.asking()
        after = REGISTRY.get_sample_value("matins_start_lag_seconds_sum") or 0.0
        assert after - before == pytest.approx(2 * lag_s)


async def test_a_retry_has_no_start_lag() -> None:
    async with opened() as gate:
        before = REGISTRY.get_sample_value("matins_start_lag_seconds_count")
        [run] = gate.rows.enqueue()
        gate.rows.runs[run].attempt = 1
        assert [attempt.number for attempt in (await gate.asking()).attempts] == [2]
        assert REGISTRY.get_sample_value("matins_start_lag_seconds_count") == before


async def test_a_poll_that_waits_is_woken_by_a_hint() -> None:
    async with opened() as gate:
        poll = gate.asking()
        await asleep(gate, 1)
        gate.rows.enqueue()
        await gate.words.send("dispatch", ["default"])
        assert len((await poll).attempts) == 1


async def test_work_is_found_without_any_hint() -> None:
    async with opened(poll_s=0.01) as gate:
        poll = gate.asking()
        await asleep(gate, 1)
        gate.rows.enqueue()
        assert len((await poll).attempts) == 1


async def test_a_gap_in_the_hints_makes_every_pool_be_looked_at() -> None:
    async with opened() as gate:
        poll = gate.asking()
        await asleep(gate, 1)
        gate.rows.enqueue()
        await gate.words.send("dispatch", [""])
        assert len((await poll).attempts) == 1


async def test_a_poll_that_gets_nothing_is_answered_empty_after_its_wait() -> None:
    async with opened() as gate:
        answer = await gate.ask(Poll(gate.executor(), 1, ["default"], 5, wait_s=0.01))
        assert answer == Handout()


async def test_a_burst_is_spread_over_all_that_ask_and_wakes_none_in_vain() -> None:
    async with opened() as gate:
        polls = [gate.asking(free=10) for _ in range(20)]
        await asleep(gate, 20)
        before = gate.rows.calls["dequeue"]
        gate.rows.enqueue(25)
        await gate.words.send("dispatch", ["default"])
        await until(lambda: sum(len(poll.result().attempts) for poll in polls if poll.done()) == 25)
        given = [len(poll.result().attempts) for poll in polls if poll.done()]
        assert max(given) <= 2
        # The last of them empties the queue, and one more may have begun beside it.
        await asleep(gate, 20 - len(given))
        assert gate.rows.calls["dequeue"] - before <= len(given) + 1
        for poll in polls:
            poll.cancel()


async def test_polls_of_a_cold_pool_ask_nothing_until_it_is_hinted() -> None:
    async with opened() as gate:
        first = gate.asking()
        await asleep(gate, 1)
        before = gate.rows.calls["dequeue"]
        second = gate.asking()
        await asleep(gate, 2)
        assert gate.rows.calls["dequeue"] == before
        first.cancel()
        second.cancel()


async def test_a_hint_that_comes_during_a_take_is_not_forgotten() -> None:
    async with opened() as gate:
        gate.rows.open.clear()
        poll = gate.asking()
        await until(lambda: gate.rows.calls["dequeue"] == 1)
        await gate.words.send("dispatch", ["default"])
        await until(gate.words._words.empty)
        gate.rows.open.set()
        await asleep(gate, 1)
        assert gate.rows.calls["dequeue"] == 2
        poll.cancel()


async def test_the_first_pool_that_holds_something_serves_a_poll() -> None:
    async with opened() as gate:
        gate.rows.enqueue(2, pool="b")
        handout = await gate.asking(pools=("a", "b", "c"))
        assert len(handout.attempts) == 2


async def test_pools_take_turns() -> None:
    async with opened() as gate:
        in_a, in_b = set(gate.rows.enqueue(40, pool="a")), set(gate.rows.enqueue(40, pool="b"))
        served = {"a": 0, "b": 0}
        for _ in range(8):
            handout = await gate.asking(free=5, pools=("a", "b"))
            served["a"] += len(in_a & {attempt.run_id for attempt in handout.attempts})
            served["b"] += len(in_b & {attempt.run_id for attempt in handout.attempts})
        assert served == {"a": 20, "b": 20}


async def test_no_more_than_two_takes_run_at_once() -> None:
    async with opened() as gate:
        gate.rows.open.clear()
        gate.rows.enqueue(100)
        polls = [gate.asking(free=10) for _ in range(6)]
        await until(lambda: gate.rows.calls["dequeue"] == 1)
        for _ in range(3):
            await gate.words.send("dispatch", ["default"])
            await until(gate.words._words.empty)
        await asyncio.sleep(0.01)
        assert gate.rows.calls["dequeue"] == 2
        gate.rows.open.set()
        assert sum([len((await poll).attempts) for poll in polls]) == 60


async def test_one_take_for_one_hint_is_enough() -> None:
    async with opened() as gate:
        polls = [asyncio.create_task(gate.ask(poll)) for poll in polls_of(gate.executor(), 3)]
        await asleep(gate, 3)
        before = gate.rows.calls["dequeue"]
        gate.rows.enqueue(9)
        await gate.words.send("dispatch", ["default"])
        assert len((await first_of(polls)).attempts) == 9
        await asleep(gate, 2)
        assert gate.rows.calls["dequeue"] == before + 1
        for poll in polls:
            poll.cancel()


async def test_two_takes_run_side_by_side_where_much_is_queued() -> None:
    async with opened() as gate:
        gate.rows.enqueue(100)
        for _ in range(DEEP):
            await gate.asking(free=10)
        gate.rows.open.clear()
        before = gate.rows.calls["dequeue"]
        polls = [gate.asking(free=10) for _ in range(3)]
        await until(lambda: gate.rows.calls["dequeue"] == before + 2)
        gate.rows.open.set()
        assert [len((await poll).attempts) for poll in polls] == [10, 10, 10]


async def test_the_polls_of_one_executor_share_nothing_with_each_other() -> None:
    async with opened() as gate:
        polls = [asyncio.create_task(gate.ask(poll)) for poll in polls_of(gate.executor(), 3)]
        await asleep(gate, 3)
        gate.rows.enqueue(10)
        await gate.words.send("dispatch", ["default"])
        assert len((await first_of(polls)).attempts) == 10
        assert not gate.rows.calls["queue_depth"]
        for poll in polls:
            poll.cancel()


async def test_executors_share_by_the_free_slots_of_all_their_polls() -> None:
    async with opened() as gate:
        many, few = gate.executor(), gate.executor()
        asked = [*polls_of(many, 3), *polls_of(few, 1)]
        polls = [asyncio.create_task(gate.ask(poll)) for poll in asked]
        await asleep(gate, 4)
        gate.rows.enqueue(20)
        await gate.words.send("dispatch", ["default"])
        await until(lambda: not gate.rows.queue["default"])
        await asleep(gate, sum(not poll.done() for poll in polls))
        assert [len(poll.result().attempts) for poll in polls if poll.done()] == [10, 10]
        assert not polls[3].done()
        for poll in polls:
            poll.cancel()


async def test_an_abandoned_poll_leaves_the_queue_and_swallows_nothing() -> None:
    async with opened() as gate:
        gone = gate.asking()
        await asleep(gate, 1)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        assert not gate.dispatcher._polls
        gate.rows.enqueue()
        await gate.words.send("dispatch", ["default"])
        assert len((await gate.asking()).attempts) == 1
        assert gate.rows.calls["dequeue"] == 2


async def test_a_poll_whose_wait_ends_during_a_take_gets_what_was_taken() -> None:
    async with opened() as gate:
        gate.rows.open.clear()
        gate.rows.enqueue()
        poll = asyncio.create_task(gate.ask(Poll(gate.executor(), 1, ["default"], 5, wait_s=0.01)))
        await asyncio.sleep(0.05)
        assert not poll.done()
        gate.rows.open.set()
        assert len((await poll).attempts) == 1


async def test_gw03_a_repeated_poll_gets_the_same_attempts() -> None:
    async with opened() as gate:
        gate.rows.enqueue(2)
        poll = Poll(gate.executor(), 7, ["default"], 2)
        gate.rows.lost_answers["dequeue"] = 1
        with pytest.raises(UnavailableError):
            await gate.ask(poll)
        again = await gate.ask(msgspec.structs.replace(poll, repeat=True))
        assert [(attempt.run_id, attempt.number) for attempt in again.attempts] == [
            (name, 1) for name in gate.rows.runs
        ]


async def test_a_repeat_of_a_poll_that_still_waits_shares_its_answer() -> None:
    async with opened() as gate:
        poll = Poll(gate.executor(), 1, ["default"], 5)
        first = asyncio.create_task(gate.ask(poll))
        await asleep(gate, 1)
        second = asyncio.create_task(gate.ask(msgspec.structs.replace(poll, repeat=True)))
        await until(lambda: gate.rows.calls["find_handout"] == 1)
        first.cancel()
        gate.rows.enqueue()
        await gate.words.send("dispatch", ["default"])
        assert len((await second).attempts) == 1


async def test_polls_that_their_executor_is_done_with_hold_up_no_others() -> None:
    async with opened() as gate:
        restarted = uuid4()  # it kept its id, and counts from 1 again
        gate.rows.executors[restarted] = Heartbeat(restarted, "e", ["default"], 100, 100)
        stale = [
            asyncio.create_task(gate.ask(Poll(restarted, seq, ["default"], 10))) for seq in (1, 2)
        ]
        good = gate.asking()
        await asleep(gate, 1)
        assert [(await poll).unknown for poll in stale] == [True, True]
        gate.rows.enqueue()
        await gate.words.send("dispatch", ["default"])
        assert len((await good).attempts) == 1


async def test_polls_for_which_there_is_nothing_hold_up_no_others() -> None:
    async with opened(poll_s=0.01) as gate:
        unfit = [gate.executor() for _ in range(3)]
        gate.rows.unfit |= set(unfit)
        asking = [asyncio.create_task(gate.ask(Poll(name, 1, ["default"], 10))) for name in unfit]
        await asleep(gate, 3)
        good = gate.asking()
        gate.rows.enqueue()
        async with asyncio.timeout(5):
            assert len((await good).attempts) == 1
        for task in asking:
            task.cancel()


async def test_a_poll_whose_attempts_have_ended_is_answered_and_holds_up_no_others() -> None:
    async with opened() as gate:
        [run] = gate.rows.enqueue()
        poll = Poll(gate.executor(), 1, ["default"], 5)
        await gate.ask(poll)
        gate.rows.runs[run].state = RunState.SUCCEEDED
        assert await gate.ask(msgspec.structs.replace(poll, repeat=True)) == Handout()


async def test_an_unknown_executor_is_told_so() -> None:
    async with opened() as gate:
        gate.rows.enqueue()
        answer = await gate.ask(Poll(uuid4(), 1, ["default"], 5))
        assert answer.unknown
        assert len(gate.rows.queue["default"]) == 1


async def test_stopping_sends_waiting_polls_away_and_takes_no_new_ones() -> None:
    async with opened() as gate:
        poll = gate.asking()
        await asleep(gate, 1)
        await gate.dispatcher.stop()
        assert await poll == Handout()
        with pytest.raises(UnavailableError):
            await gate.asking()


async def test_what_goes_on_and_on_is_not_cut_into_shares() -> None:
    async with opened() as gate:
        gate.starts.count("default", BUSY, is_emptied=False)
        polls = [gate.asking(free=10) for _ in range(2)]
        await asleep(gate, 2)
        gate.rows.enqueue(10)
        await gate.words.send("dispatch", ["default"])
        await until(lambda: any(poll.done() for poll in polls))
        assert [len(poll.result().attempts) for poll in polls if poll.done()] == [10]
        for poll in polls:
            poll.cancel()
