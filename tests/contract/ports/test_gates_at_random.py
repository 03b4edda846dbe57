"""Memory and PostgreSQL play the same random moves at gates; neither ever goes over a limit.

Each rule is one statement, so whoever does them may have ended between any two: what was
decided may be carried out late, or never, or by a scheduler that has lost its lease.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from tests.conftest import fresh_database
from tests.contract.ports.ground import SPEC, START, Ground, claim, on_memory, on_postgres

from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll
from matins.domain.jobs.limits import Concurrency, Limit, Quotas
from matins.domain.jobs.spec import JobSpec
from matins.domain.runs.admission.deciding import decide
from matins.domain.runs.admission.waiting import Decision, Waiting
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import FINAL, Outcome, RunState
from matins.domain.values.ids import partition_of, run_id

NAMES = UUID(int=2027)
HOLDERS = [uuid5(NAMES, f"holder {n}") for n in range(2)]
EXECUTOR = uuid5(NAMES, "executor")
SPECS: dict[UUID, dict[str, Any]] = {
    uuid5(NAMES, "keyed"): {"concurrency": Concurrency("k", limit=2)},
    uuid5(NAMES, "narrow"): {"concurrency": Concurrency("k", limit=3), "max_running": 1},
    uuid5(NAMES, "rated"): {"concurrency": Concurrency("r", rate="30/m"), "max_running": 2},
    uuid5(NAMES, "plain"): {},
}
JOBS = [*SPECS]
DUES = [START + timedelta(seconds=n) for n in range(6)]
PARTS = {job: partition_of(job) for job in JOBS}
BEGUN = ("queued", "running")
ENDS = {
    RunState.SUCCEEDED: Outcome.SUCCEEDED,
    RunState.RETRYING: Outcome.LOST,
    RunState.DEAD: Outcome.FAILED,
}
holders, jobs, dues = st.sampled_from(HOLDERS), st.sampled_from(JOBS), st.sampled_from(DUES)


def spec_of(job: UUID) -> JobSpec:
    """Return a job with its limits."""
    return msgspec.structs.replace(SPEC, name=f"job-{job.hex[:6]}", **SPECS[job])


class Gated(RuleBasedStateMachine):
    """Each rule is one statement, on both sides."""

    postgres: str

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.epochs: dict[UUID, dict[int, int]] = {holder: {} for holder in HOLDERS}
        self.decided: list[tuple[UUID, list[Sequence[Decision]]]] = []
        self.limits: Counter[str] = Counter()
        self.before: Counter[str] = Counter()
        self.seq = 1

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
                await side.rows.add_job(job, spec_of(job))
            await side.dispatch.heartbeat(Heartbeat(EXECUTOR, "e", ["default"], 9, 1))
        await self._acquire(HOLDERS[0], 128)
        await self._acquire(HOLDERS[1], 128)

    async def _acquire(self, holder: UUID, count: int) -> None:
        found = [await side.leases.acquire(holder, count, 600) for side in self.sides]
        assert found[0] == found[1]
        self.epochs[holder] |= found[0]

    def teardown(self) -> None:
        try:
            self.runner.run(self._come_to_rest())
        finally:
            self.runner.run(self.stack.aclose())
            self.runner.close()

    def both(self, call: Callable[[Ground], Coroutine[Any, Any, Any]]) -> Any:
        """Make one call on both sides, and insist on the same answer."""

        async def play() -> list[Any]:
            return [await call(side) for side in self.sides]

        memory, postgres = self.runner.run(play())
        assert memory == postgres
        return memory

    @rule(seconds=st.sampled_from([0.5, 2, 20]))
    def time_passes(self, seconds: float) -> None:
        for side in self.sides:
            side.clock.move(seconds)

    @rule(holder=holders)
    def take_over(self, holder: UUID) -> None:
        """One scheduler ends, and the other takes all; its epochs are older from now on."""
        other = HOLDERS[1 - HOLDERS.index(holder)]
        self.both(lambda side: side.leases.retire(other))
        self.runner.run(self._acquire(holder, 256))

    @rule(job=jobs, due=dues)
    def claim(self, job: UUID, due: Any) -> None:
        async def call(side: Ground) -> Any:
            return [
                await side.agenda.claim(holder, self.epochs[holder], [claim(job, due)])
                for holder in HOLDERS
            ]

        self.both(call)

    @rule(holder=holders)
    def decide_what_waits(self, holder: UUID) -> None:
        self._decide(holder, lambda side: side.waiting(*JOBS))

    @rule(holder=holders)
    def look_at_lines(self, holder: UUID) -> None:
        async def first(side: Ground) -> list[Waiting]:
            lines = await side.room.gate_lines(None, 100)
            return lines.first(self.epochs[holder])

        self._decide(holder, first)

    def _decide(
        self, holder: UUID, found: Callable[[Ground], Coroutine[Any, Any, list[Waiting]]]
    ) -> None:
        decisions: list[Sequence[Decision]] = []

        async def call(side: Ground) -> Any:
            batch = sorted(await found(side), key=lambda waiting: waiting.run_id)
            batch = [waiting for waiting in batch if waiting.partition in self.epochs[holder]]
            decisions.append(decide(batch, await side.room.admission_facts(batch)))
            return batch

        if self.both(call):
            self.decided.append((holder, decisions))

    @rule(data=st.data())
    def carry_out(self, data: st.DataObject) -> None:
        """Perhaps late, and perhaps more than once."""
        if not self.decided:
            return
        number = data.draw(st.integers(0, len(self.decided) - 1))
        holder, decisions = self.decided[number]
        if data.draw(st.booleans()):
            del self.decided[number]
        waiting = iter(decisions)
        epochs = self.epochs[holder]

        async def call(side: Ground) -> Any:
            done = await side.room.carry_out(holder, epochs, next(waiting))
            gates = await side.rows.gate_names()
            named = {
                field: {gates[number] for number in getattr(done, field)}
                for field in ("contended", "gates")
            }
            return msgspec.structs.replace(done, **named)

        self.both(call)

    @rule(free=st.integers(1, 4))
    def dequeue(self, free: int) -> None:
        self.seq += 1
        poll = Poll(EXECUTOR, self.seq, ["default"], free)

        async def call(side: Ground) -> Any:
            handout = await side.dispatch.dequeue(poll, "default")
            return handout and {(attempt.run_id, attempt.number) for attempt in handout.attempts}

        self.both(call)

    @rule(job=jobs, due=dues, number=st.integers(1, 2), state=st.sampled_from([*ENDS]))
    def record(self, job: UUID, due: Any, number: int, state: RunState) -> None:
        self.both(lambda side: _record(side, run_id(job, due, "scheduled"), number, state))

    @rule(known=st.booleans())
    def heartbeat(self, known: bool) -> None:
        """What it does not know of was lost on the way, and is put back."""
        self.seq += 1
        open_ = [*range(1, self.seq)] if known else []
        heartbeat = Heartbeat(EXECUTOR, "e", ["default"], 9, self.seq, open=open_)
        self.both(lambda side: side.dispatch.heartbeat(heartbeat))

    @rule(job=jobs, due=dues)
    def cancel(self, job: UUID, due: Any) -> None:
        run = run_id(job, due, "scheduled")

        async def call(side: Ground) -> Any:
            rows = [row for row in await side.rows.runs(job) if row.due_s == (due - START).seconds]
            if rows and RunState(rows[0].state) not in FINAL:
                return (await side.owners.runs.cancel(run)).state
            return None

        self.both(call)

    @rule(limit=st.integers(0, 4) | st.none())
    def limit_the_key(self, limit: int | None) -> None:
        if limit is not None:
            put = Limit("k", limit=limit)
            self.both(lambda side: side.owners.limits.put("default", put))
        elif any(self.runner.run(_is_set(side)) for side in self.sides):
            self.both(lambda side: side.owners.limits.delete("default", "k"))

    @rule(limit=st.integers(1, 4) | st.none())
    def set_a_quota(self, limit: int | None) -> None:
        quotas = Quotas(max_running=limit)
        self.both(lambda side: side.owners.limits.put_quotas("default", quotas))

    @rule(job=jobs, limit=st.integers(1, 3) | st.none())
    def limit_the_job(self, job: UUID, limit: int | None) -> None:
        spec = msgspec.structs.replace(spec_of(job), max_running=limit)
        self.both(lambda side: side.rows.respec(job, spec))

    @rule(job=jobs, due=dues)
    def lose_permits(self, job: UUID, due: Any) -> None:
        """Whoever runs without its permit gets none; nothing else changes."""
        run = run_id(job, due, "scheduled")
        rows = self.both(lambda side: side.rows.runs(job))
        if any(row.due_s == (due - START).seconds and row.state in BEGUN for row in rows):
            return
        self.both(lambda side: side.rows.lose_permits(run))

    @rule()
    def heal(self) -> None:
        async def call(side: Ground) -> Any:
            return sorted(await side.repairs.free_permits())

        assert self.both(call) == []

    @invariant()
    def no_gate_is_over_its_limit(self) -> None:
        if not hasattr(self, "sides"):
            return
        gates = self.both(lambda side: side.rows.gates())
        taken = Counter({gate.key: gate.taken for gate in gates})
        for gate in gates:
            if gate.limit is not None and gate.taken > self.before[gate.key]:
                begun = self.before.get(gate.key)
                assert gate.taken <= gate.limit or begun is None or self._was_entered(gate.key)
        self.before = taken
        self.both(_states)
        self._each_permit_is_of_a_run_that_has_begun()

    def _was_entered(self, key: str) -> bool:
        """Return whether a job was given this limit, whose runs had begun before."""
        return key.startswith("job ")

    def _each_permit_is_of_a_run_that_has_begun(self) -> None:
        permits = self.both(lambda side: side.rows.permits())
        states = self.both(_states)
        assert all(states[run] in BEGUN for _, run in permits)

    async def _come_to_rest(self) -> None:
        """Whatever happened: once all is asked and ends, no run waits and no permit is left."""
        for side in self.sides:
            await side.owners.limits.put("default", Limit("k", limit=1))
            await side.owners.limits.put_quotas("default", Quotas(max_running=1))
        holder = HOLDERS[0]
        for side in self.sides:
            await side.leases.retire(HOLDERS[1])
        await self._acquire(holder, 256)
        for _ in range(200):
            states = [await self._go_on(side, holder) for side in self.sides]
            if all(state in FINAL for found in states for state in found.values()):
                break
        for side in self.sides:
            assert {
                state for state in (await _states(side)).values() if state not in FINAL
            } == set()
            assert await side.rows.permits() == set()

    async def _go_on(self, side: Ground, holder: UUID) -> dict[UUID, str]:
        self.seq += 1
        side.clock.move(2)
        epochs = self.epochs[holder]
        await side.repairs.repair(UUID(int=0), 99, 1.0)
        lines = await side.room.gate_lines(None, 100)
        batch = [*await side.waiting(*JOBS), *lines.first(epochs)]
        await side.room.carry_out(
            holder, epochs, decide(batch, await side.room.admission_facts(batch))
        )
        await side.dispatch.dequeue(Poll(EXECUTOR, self.seq, ["default"], 9), "default")
        for run in [run for run, state in (await _states(side)).items() if state == "running"]:
            for number in range(1, 9):
                await _record(side, run, number, RunState.SUCCEEDED)
        return await _states(side)


async def _record(side: Ground, run: UUID, number: int, state: RunState) -> list[tuple[Any, ...]]:
    retry_in_s = 1.0 if state is RunState.RETRYING else None
    ending = Ending(End(run, number, Result(ENDS[state])), state, retry_in_s=retry_in_s)
    recorded = await side.dispatch.record(EXECUTOR, [ending])
    return [(end.status.id, end.status.state) for end in recorded]


async def _is_set(side: Ground) -> bool:
    return any(gate.key == "key k" and gate.is_set for gate in await side.rows.gates())


async def _states(side: Ground) -> dict[UUID, str]:
    """Return the states of all runs."""
    return {
        run_id(job, START + timedelta(seconds=row.due_s), "scheduled"): row.state
        for job in JOBS
        for row in await side.rows.runs(job)
    }


@pytest.mark.timeout(300)
def test_no_limit_is_exceeded_whatever_comes_between(postgres: str) -> None:
    class OnThisServer(Gated):
        pass

    OnThisServer.postgres = postgres
    run_state_machine_as_test(
        OnThisServer,
        settings=settings(
            max_examples=12,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
