"""Memory and PostgreSQL are played the same random moves, and must give the same answers.

Without this the simulator would prove things about a toy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from tests.conftest import fresh_database
from tests.contract.ports.ground import (
    SPEC,
    START,
    Ground,
    advance,
    claim,
    on_memory,
    on_postgres,
)

from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll
from matins.domain.jobs.windows import Window
from matins.domain.runs.admission.deciding import decide
from matins.domain.runs.attempts import Result
from matins.domain.runs.claims import BEGINNING, Advance, FollowUp
from matins.domain.runs.states import Outcome, RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.ids import run_id

NAMES = UUID(int=2026)
HOLDERS = [uuid5(NAMES, f"holder {n}") for n in range(2)]
EXECUTORS = [uuid5(NAMES, f"executor {n}") for n in range(2)]
JOBS = [uuid5(NAMES, f"job {n}") for n in range(3)]
FOLLOWERS = JOBS[:2]
FOLLOWING = msgspec.structs.replace(SPEC, schedule=Schedule(every="1m", after="end", max_runs=3))
DUES = [START + timedelta(minutes=n) for n in range(4)]
ENDS = {
    RunState.SUCCEEDED: Outcome.SUCCEEDED,
    RunState.RETRYING: Outcome.LOST,
    RunState.DEAD: Outcome.FAILED,
    RunState.CANCELLED: Outcome.CANCELLED,
}
WINDOWS = {
    case.name: case
    for case in (
        Window("hold", START, START + timedelta(seconds=40)),
        Window("skip", START, START + timedelta(seconds=30), policy="skip"),
        Window("later", START + timedelta(seconds=10), START + timedelta(minutes=2)),
        Window("other", START, START + timedelta(minutes=2), labels={"tier": "gold"}),
    )
}
ALL = dict.fromkeys(range(256), BEGINNING)
holders, executors = st.sampled_from(HOLDERS), st.sampled_from(EXECUTORS)
jobs, dues = st.sampled_from(JOBS), st.sampled_from(DUES)
seqs = st.integers(1, 4)
seq_lists = st.lists(seqs, max_size=3, unique=True)


class BothPorts(RuleBasedStateMachine):
    """Each rule is one call of a port, on both sides."""

    postgres: str

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.epochs: dict[UUID, dict[int, int]] = {holder: {} for holder in HOLDERS}

    @initialize()
    def begin(self) -> None:
        self.runner.run(self._begin())

    async def _begin(self) -> None:
        dsn = await self.stack.enter_async_context(fresh_database(self.postgres))
        ground, database = on_postgres(dsn)
        self.stack.push_async_callback(database.close)
        self.sides = (on_memory(), ground)
        for side in self.sides:
            for job in JOBS:
                await side.rows.add_job(job, FOLLOWING if job in FOLLOWERS else SPEC)

    def teardown(self) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()

    def both(self, call: Callable[[Ground], Coroutine[Any, Any, Any]]) -> Any:
        """Make one call on both sides, and insist on the same answer."""

        async def play() -> list[Any]:
            return [await call(side) for side in self.sides]

        memory, postgres = self.runner.run(play())
        assert memory == postgres
        return memory

    @rule(seconds=st.sampled_from([0.5, 3, 20]))
    def time_passes(self, seconds: float) -> None:
        for side in self.sides:
            side.clock.move(seconds)

    @rule(holder=holders, count=st.sampled_from([100, 256]))
    def acquire(self, holder: UUID, count: int) -> None:
        self.epochs[holder] |= self.both(lambda side: side.leases.acquire(holder, count, 30))

    @rule(holder=holders)
    def renew(self, holder: UUID) -> None:
        epochs = self.epochs[holder]
        self.both(lambda side: side.leases.renew(holder, epochs, START, 30))
        self.both(lambda side: side.leases.count_alive(30))

    @rule(holder=holders)
    def release(self, holder: UUID) -> None:
        epochs = self.epochs[holder]
        self.both(lambda side: side.leases.release(holder, epochs))

    @rule(holder=holders, partitions=st.sets(st.integers(0, 9)), leaving=st.booleans())
    def offer(self, holder: UUID, partitions: set[int], leaving: bool) -> None:
        self.both(lambda side: side.leases.offer(holder, partitions, 30, leaving=leaving))

    @rule(holder=holders, count=st.sampled_from([0, 3, 100]), loaded=st.sets(st.integers(0, 9)))
    def reserve(self, holder: UUID, count: int, loaded: set[int]) -> None:
        self.both(lambda side: side.leases.reserve(holder, count, loaded, 30))

    @rule(holder=holders, wanted=st.lists(st.tuples(jobs, dues), min_size=1, max_size=4))
    def claim(self, holder: UUID, wanted: list[tuple[UUID, Any]]) -> None:
        epochs = self.epochs[holder]
        claims = [claim(job, due) for job, due in dict.fromkeys(wanted)]
        self.both(lambda side: side.agenda.claim(holder, epochs, claims))

    @rule(holder=holders, job=jobs, due=dues)
    def advance(self, holder: UUID, job: UUID, due: Any) -> None:
        self.both(lambda side: side.agenda.advance(holder, [advance(job, due)]))
        self.both(lambda side: _found(side, job))

    @rule(due=st.sampled_from([*DUES, None]))
    def follow(self, due: Any) -> None:
        async def call(side: Ground) -> Any:
            found = await side.agenda.ended_runs(range(256), 9)
            ends = {
                (ended.job.id, ended.due_at, ended.ended_at, ended.run_count) for ended in found
            }
            follow_ups = [FollowUp(ended.job.id, 1, ended.due_at, due, due) for ended in found]
            return ends, await side.agenda.write_follow_ups(follow_ups)

        self.both(call)
        self.both(lambda side: _found(side, *FOLLOWERS))

    @rule(holder=holders, job=st.sampled_from(FOLLOWERS), due=dues)
    def come_to_an_end(self, holder: UUID, job: UUID, due: Any) -> None:
        self.both(lambda side: side.agenda.advance(holder, [Advance(job, 1, None, None, due)]))
        self.both(lambda side: _found(side, job))

    @rule(windows=st.lists(st.sampled_from([*WINDOWS]), max_size=2, unique=True))
    def put_windows(self, windows: list[str]) -> None:
        put = [WINDOWS[name] for name in windows]
        for side in self.sides:
            self.runner.run(side.rows.put_windows(*put))

    @rule(holder=holders, windows=st.none() | st.sampled_from([*WINDOWS, "none"]))
    def admit(self, holder: UUID, windows: str | None) -> None:
        """Windows may change between the decision and what is done about it."""
        epochs = self.epochs[holder]

        async def call(side: Ground) -> Any:
            batch = await side.waiting()
            decisions = decide(batch, await side.facts(batch))
            if windows is not None:
                await side.rows.put_windows(*([WINDOWS[windows]] if windows in WINDOWS else []))
            done = await side.room.carry_out(holder, epochs, decisions)
            decided = [(decision.waiting, decision.verdict) for decision in decisions]
            return batch, decided, done, await _standing(side)

        self.both(call)

    @rule(executor=executors, seq=seqs, free=st.integers(1, 3))
    def dequeue(self, executor: UUID, seq: int, free: int) -> None:
        poll = Poll(executor, seq, ["default"], free)

        async def call(side: Ground) -> Any:
            handout = await side.dispatch.dequeue(poll, "default")
            if handout is None:
                return None
            return handout.unknown, {
                (attempt.run_id, attempt.number, attempt.due_at) for attempt in handout.attempts
            }

        self.both(call)

    @rule(
        executor=executors,
        job=jobs,
        due=dues,
        number=st.integers(1, 2),
        state=st.sampled_from(list(ENDS)),
    )
    def record(self, executor: UUID, job: UUID, due: Any, number: int, state: RunState) -> None:
        run = run_id(job, due, "scheduled")
        wait_s = 5.0 if state is RunState.RETRYING else None
        ending = Ending(End(run, number, Result(ENDS[state], "why")), state, "why", wait_s)

        async def call(side: Ground) -> Any:
            ends = await side.dispatch.record(executor, [ending])
            known = await side.dispatch.which_recorded([(run, number)])
            return [
                (
                    end.status.id,
                    end.status.state,
                    end.status.attempt,
                    end.status.retry_at,
                    end.awaited,
                )
                for end in ends
            ], known

        self.both(call)

    @rule(job=jobs, due=dues)
    def cancel(self, job: UUID, due: Any) -> None:
        run = run_id(job, due, "scheduled")

        async def call(side: Ground) -> None:
            for executor in EXECUTORS:
                if await side.dispatch.running_runs(executor, [run]):
                    await side.rows.cancel(run)

        self.both(call)

    @rule(
        executor=executors,
        next_seq=st.integers(1, 5),
        awaiting=seq_lists,
        open_=seq_lists,
        closed=seq_lists,
        stopped=st.sampled_from([False, False, False, True]),
    )
    def heartbeat(
        self,
        executor: UUID,
        next_seq: int,
        awaiting: list[int],
        open_: list[int],
        closed: list[int],
        stopped: bool,
    ) -> None:
        held = [(run_id(job, DUES[0], "scheduled"), 1) for job in JOBS]
        heartbeat = Heartbeat(
            *(executor, "e", ["default"], 9, next_seq, awaiting, open_, closed, held, stopped)
        )

        async def call(side: Ground) -> Any:
            answer = await side.dispatch.heartbeat(heartbeat)
            return answer.lost, {
                (attempt.run_id, attempt.number, attempt.why) for attempt in answer.stop
            }

        self.both(call)

    @rule(job=jobs, due=dues, executor=st.sampled_from([*EXECUTORS, None]))
    def lose_rows(self, job: UUID, due: Any, executor: UUID | None) -> None:
        run = run_id(job, due, "scheduled")

        async def call(side: Ground) -> Any:
            if executor is not None:
                return await side.rows.lose_handouts(executor)
            return await side.rows.lose_place(run), await side.rows.lose_wait(run)

        self.both(call)

    @rule()
    def heal(self) -> None:
        async def call(side: Ground) -> Any:
            page = await side.repairs.repair(UUID(int=0), 99, 1.0)
            strays = await side.repairs.stray_runs(page.running)
            for stray in strays:
                await side.repairs.hand_out_again(stray.executor, [stray.run_id])
            found = {(stray.run_id, stray.executor, stray.is_executor_alive) for stray in strays}
            return page.count, {*page.enqueued}, {*page.rescheduled}, {*page.running}, found

        self.both(call)

    @rule()
    def lose_and_look(self) -> None:
        async def call(side: Ground) -> Any:
            found = {
                (executor, run.run_id, run.tried)
                for executor, runs in await side.watch.abandoned_runs(99)
                for run in runs
            }
            seen = {
                (executor.id, executor.heartbeat_at) for executor in await side.watch.executors()
            }
            for executor in EXECUTORS:
                await side.watch.drop_handouts(executor)
            return found, seen

        self.both(call)


async def _standing(side: Ground) -> Any:
    """Return all places in the waiting room."""
    return await side.room.load_waiting(ALL, side.clock.now() + timedelta(days=1), 99)


async def _found(side: Ground, *jobs: UUID) -> Any:
    return {
        (found_job.id, found_job.next_due_at, found_job.next_fire_at)
        for found_job in await side.agenda.find_jobs(jobs)
    }


@pytest.mark.timeout(180)
def test_memory_and_postgres_give_the_same_answers(postgres: str) -> None:
    class OnThisServer(BothPorts):
        pass

    OnThisServer.postgres = postgres
    run_state_machine_as_test(
        OnThisServer,
        settings=settings(
            max_examples=25,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
