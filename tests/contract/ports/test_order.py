"""In what order runs are handed out, and what counts of their attempts."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, claim

from matins.domain.executors.protocol import End, Ending, Handout, Heartbeat, Poll
from matins.domain.jobs.spec import JobSpec
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome, RunState

HOLDER, EXECUTOR, OTHER = (UUID(int=number) for number in range(1, 4))
JOBS = {name: UUID(int=10 + number) for number, name in enumerate(("low", "normal", "high"))}


class Queue:
    """Runs that are queued one after the other, and an executor that takes them one by one."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.epochs: dict[int, int] = {}
        self.seq = 0

    async def open(self) -> None:
        """Hold all leases and let the executor heartbeat."""
        self.epochs = await self.ground.all_leases(HOLDER)
        for executor in (EXECUTOR, OTHER):
            await self.ground.dispatch.heartbeat(Heartbeat(executor, "e", ["default"], 9, 1))

    async def put(self, job: UUID, spec: JobSpec, minute: int = 0) -> UUID:
        """Queue a run of a job, which is made if need be."""
        if not minute:
            await self.ground.rows.add_job(job, spec)
        made = claim(job, START + timedelta(minutes=minute))
        await self.ground.agenda.claim(HOLDER, self.epochs, [made])
        self.ground.clock.move(0.001)
        return made.run_id

    async def dequeue(self, executor: UUID = EXECUTOR) -> tuple[UUID, int] | None:
        """Return the run that is handed out next, with its attempt."""
        self.seq += 1
        poll = Poll(executor, self.seq, ["default"], 1)
        found = (await self.ground.dispatch.dequeue(poll, "default") or Handout()).attempts
        return (found[0].run_id, found[0].number) if found else None


@pytest.fixture
async def queue(ground: Ground) -> Queue:
    queue = Queue(ground)
    await queue.open()
    return queue


async def test_what_is_urgent_is_handed_out_first(queue: Queue) -> None:
    runs = {
        name: await queue.put(job, msgspec.structs.replace(SPEC, priority=name, name=name))
        for name, job in JOBS.items()
    }
    taken = [await queue.dequeue() for _ in range(4)]
    assert taken == [(runs["high"], 1), (runs["normal"], 1), (runs["low"], 1), None]


async def test_what_never_arrived_goes_back_before_what_was_queued_later(queue: Queue) -> None:
    job = JOBS["normal"]
    first, second = [await queue.put(job, SPEC, minute) for minute in range(2)]
    assert await queue.dequeue() == (first, 1)
    await queue.ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, queue.seq + 1))
    assert await queue.dequeue() == (first, 1)
    assert await queue.dequeue() == (second, 1)


async def test_what_is_tried_again_comes_after_what_was_queued_meanwhile(queue: Queue) -> None:
    job = JOBS["normal"]
    first, second = [await queue.put(job, SPEC, minute) for minute in range(2)]
    await queue.dequeue()
    await _end(queue, first, Outcome.FAILED)
    await _promote(queue, job)
    assert await queue.dequeue() == (second, 1)
    assert await queue.dequeue() == (first, 2)


@pytest.mark.parametrize(
    ("outcome", "lost"), [(Outcome.LOST, 1), (Outcome.FAILED, 0), (Outcome.TIMED_OUT, 0)]
)
async def test_only_lost_attempts_count_as_lost(queue: Queue, outcome: Outcome, lost: int) -> None:
    run = await queue.put(JOBS["normal"], SPEC)
    await queue.dequeue()
    await _end(queue, run, outcome)
    await _promote(queue, JOBS["normal"])
    assert await queue.dequeue() == (run, 2)
    [running] = await queue.ground.dispatch.running_runs(EXECUTOR, [run])
    assert (running.tried.attempt, running.tried.lost_count) == (2, lost)


async def test_a_repeated_poll_is_not_given_what_others_run_by_now(queue: Queue) -> None:
    run = await queue.put(JOBS["normal"], SPEC)
    await queue.dequeue()
    poll = Poll(EXECUTOR, queue.seq, ["default"], 1, repeat=True)
    await _end(queue, run, Outcome.LOST)
    await _promote(queue, JOBS["normal"])
    assert await queue.dequeue(OTHER) == (run, 2)
    taken = await queue.ground.dispatch.find_handout(poll)
    assert taken is None or taken.attempts == []


async def test_a_heartbeat_puts_nothing_back_that_others_run_by_now(queue: Queue) -> None:
    run = await queue.put(JOBS["normal"], SPEC)
    await queue.dequeue()
    await _end(queue, run, Outcome.LOST)
    await _promote(queue, JOBS["normal"])
    await queue.dequeue(OTHER)
    await queue.ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, queue.seq + 1))
    assert await queue.dequeue() is None
    [running] = await queue.ground.dispatch.running_runs(OTHER, [run])
    assert running.tried.attempt == 2


async def test_what_others_run_by_now_must_be_stopped(queue: Queue) -> None:
    run = await queue.put(JOBS["normal"], SPEC)
    await queue.dequeue()
    await _end(queue, run, Outcome.LOST)
    await _promote(queue, JOBS["normal"])
    await queue.dequeue(OTHER)
    heartbeat = Heartbeat(EXECUTOR, "e", ["default"], 9, queue.seq + 1, held=[(run, 1), (run, 2)])
    answer = await queue.ground.dispatch.heartbeat(heartbeat)
    assert [(stop.run_id, stop.number, stop.why) for stop in answer.stop] == [
        (run, 1, "superseded"),
        (run, 2, "superseded"),
    ]


async def test_a_cancelled_hand_out_that_never_arrived_is_over(queue: Queue) -> None:
    run = await queue.put(JOBS["normal"], SPEC)
    await queue.dequeue()
    await queue.ground.rows.cancel(run)
    await queue.ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, queue.seq + 1))
    assert await queue.dequeue() is None
    assert await queue.ground.dispatch.running_runs(EXECUTOR, [run]) == []


async def test_an_executor_that_lives_keeps_what_it_runs(queue: Queue) -> None:
    await queue.put(JOBS["normal"], SPEC)
    await queue.dequeue()
    assert await queue.ground.watch.abandoned_runs(9) == []
    await queue.ground.watch.drop_handouts(EXECUTOR)
    await queue.ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, queue.seq + 1))
    assert await queue.dequeue() is not None


async def test_a_heartbeat_that_comes_late_opens_no_poll_that_was_done_with(queue: Queue) -> None:
    await queue.put(JOBS["normal"], SPEC)
    for next_seq in (3, 1):
        await queue.ground.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, next_seq))
    assert [await queue.dequeue() is not None for _ in range(3)] == [False, False, True]


async def test_pools_are_served_apart(queue: Queue) -> None:
    spec = msgspec.structs.replace(SPEC, pool="other")
    await queue.ground.rows.add_job(JOBS["high"], spec)
    made = claim(JOBS["high"], START, pool="other")
    await queue.ground.agenda.claim(HOLDER, queue.epochs, [made])
    assert await queue.dequeue() is None
    poll = Poll(EXECUTOR, 99, ["other"], 1)
    handout = await queue.ground.dispatch.dequeue(poll, "other") or Handout()
    assert [attempt.run_id for attempt in handout.attempts] == [made.run_id]


async def _end(queue: Queue, run: UUID, outcome: Outcome) -> None:
    """Record that the first attempt ended so, and is tried again at once."""
    ending = Ending(End(run, 1, Result(outcome, "why")), RunState.RETRYING, "why", 0.0)
    assert len(await queue.ground.dispatch.record(EXECUTOR, [ending])) == 1


async def _promote(queue: Queue, job: UUID) -> None:
    ground = queue.ground
    ground.clock.move(0.001)
    retries = await ground.waiting(job)
    assert len(retries) == 1
    assert (await ground.admit(HOLDER, queue.epochs, retries)).refused == set()
