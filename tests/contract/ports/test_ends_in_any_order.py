"""The ends of attempts come in any order, doubled and late: each counts once, the end stays.

Faults that are covered: RC-04, RC-05.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import permutations
from typing import Final
from uuid import UUID

from tests.contract.ports.ground import SPEC, START, Ground, claim
from tests.ids import numbered

from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll, Recorded
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome, RunState

HOLDER, FIRST, SECOND, JOB = (numbered(number) for number in range(1, 5))
FAILED: Final = Result(Outcome.FAILED, "exit code 1", exit_code=1)
LOST: Final = Result(Outcome.LOST, "the executor was lost")
DONE: Final = Result(Outcome.SUCCEEDED)
MESSAGES: Final = {
    "the first failed": (FIRST, 1, FAILED, RunState.RETRYING),
    "the first was lost": (FIRST, 1, LOST, RunState.RETRYING),
    "the second is done": (SECOND, 2, DONE, RunState.SUCCEEDED),
}
"""Who says of which attempt how it ended, and what follows."""

ORDERS: Final = sorted(set(permutations([*MESSAGES, *MESSAGES])))
"""Each message comes twice, in all orders."""


class Delivery:
    """Runs of one job whose ends are reported; what is tried again goes to the second executor."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._epochs: dict[int, int] = {}
        self._seq = 0

    async def prepare(self) -> None:
        """Make the job, and let both executors be heard."""
        await self._ground.rows.add_job(JOB, SPEC)
        self._epochs = await self._ground.all_leases(HOLDER)
        for executor in (FIRST, SECOND):
            await self._ground.dispatch.heartbeat(Heartbeat(executor, "e", ["default"], 9, 1))

    async def begin(self, minute: int) -> UUID:
        """Return a run whose first attempt was handed out to the first executor."""
        made = claim(JOB, START + timedelta(minutes=minute))
        await self._ground.agenda.claim(HOLDER, self._epochs, [made])
        assert await self._hand_out(FIRST) == [(made.run_id, 1)]
        return made.run_id

    async def say(self, run: UUID, message: str) -> list[Recorded]:
        """Let a message come; return what it changed."""
        executor, number, result, state = MESSAGES[message]
        retry_in_s = 0.0 if state is RunState.RETRYING else None
        ending = Ending(End(run, number, result), state, result.reason, retry_in_s)
        return await self._ground.dispatch.record(executor, [ending])

    async def go_on(self) -> list[tuple[UUID, int]]:
        """Admit what is to be tried again, and hand it out."""
        await self._ground.admit(HOLDER, self._epochs, await self._ground.waiting(JOB))
        return await self._hand_out(SECOND)

    async def _hand_out(self, executor: UUID) -> list[tuple[UUID, int]]:
        self._seq += 1
        poll = Poll(executor, self._seq, ["default"], 9)
        handout = await self._ground.dispatch.dequeue(poll, "default")
        attempts = handout.attempts if handout else []
        return [(attempt.run_id, attempt.number) for attempt in attempts]


async def test_rc04_each_order_of_the_messages_comes_to_the_same_end(ground: Ground) -> None:
    delivery = Delivery(ground)
    await delivery.prepare()
    for minute, order in enumerate(ORDERS):
        run = await delivery.begin(minute)
        changes: list[Recorded] = []
        started: list[tuple[UUID, int]] = []
        # who gets no confirmation repeats what he says: in the end each is heard in its turn
        for message in (*order, *MESSAGES):
            changes += await delivery.say(run, message)
            started += await delivery.go_on()
        states = [(change.status.state, change.status.attempt) for change in changes]
        assert states == [(RunState.RETRYING, 1), (RunState.SUCCEEDED, 2)], order
        assert started == [(run, 2)], order
    assert await ground.rows.count("attempts") == 2 * len(ORDERS)
    assert await ground.waiting(JOB) == []


async def test_rc05_a_loss_that_several_find_at_once_counts_once(ground: Ground) -> None:
    delivery = Delivery(ground)
    await delivery.prepare()
    runs = [await delivery.begin(minute) for minute in range(20)]
    endings = [
        Ending(End(run, 1, LOST), RunState.RETRYING, LOST.reason, 0.0, shared=True) for run in runs
    ]
    found = await asyncio.gather(
        ground.watch.record(FIRST, endings),
        ground.watch.record(FIRST, endings[::-1]),
        ground.dispatch.record(FIRST, endings),
    )
    recorded = [change.status.id for changes in found for change in changes]
    assert sorted(recorded) == sorted(runs)
    assert await ground.watch.record(FIRST, endings) == []
    again = await delivery.go_on()
    assert {number for _, number in again} == {2}
    running = await ground.dispatch.running_runs(SECOND, [run for run, _ in again])
    assert {(each.tried.lost_count, each.tried.shared_losses) for each in running} == {(1, 1)}
    assert await ground.rows.count("attempts") == len(endings)
