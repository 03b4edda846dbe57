"""Memory and PostgreSQL are played the same random deeds of owners and schedulers, and must give
the same answers and have the same rows.

Without this the simulator would prove things about a toy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from tests.conftest import fresh_database
from tests.contract.ports.ground import SPEC, Ground, claim, on_memory, on_postgres

from matins.domain.calendars.calendar import Calendar, Item
from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll
from matins.domain.jobs.misfire import Missed
from matins.domain.jobs.pausing import Pause
from matins.domain.runs.attempts import Result
from matins.domain.runs.claims import Advance, FollowUp
from matins.domain.runs.states import Outcome, RunState
from matins.domain.schedules.schedule import Override, Schedule
from matins.domain.values.errors import MatinsError
from matins.domain.views import Changed

TEAM = "default"
NAMES = UUID(int=2027)
HOLDER, EXECUTOR = uuid5(NAMES, "holder"), uuid5(NAMES, "executor")
CLOSED = [["2026-11-29T12:02/2026-11-29T12:04"], ["2026-11-29T12:00/2026-11-29T12:20"]]
SCHEDULES = [
    Schedule(every="1m"),
    Schedule(every="1m", jitter="20s"),
    Schedule(every="30s", calendars=["closing"]),
    Schedule(every="1m", after="end"),
    Schedule(every="1m", after="end", max_runs=3),
    Schedule(every="1m", max_runs=3),
    Schedule(at="2026-11-29T12:05:00Z"),
    None,
]
names = st.sampled_from(["one", "two"])
missed = st.sampled_from(["skip", "last", "all"])
offsets = st.sampled_from([1, 30, 60, 120, 150])


class BothSides(RuleBasedStateMachine):
    """Each rule is one deed, on both sides."""

    postgres: str

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.epochs: dict[int, int] = {}
        self.ids: list[UUID] = []
        self.polls = 0

    @initialize()
    def begin(self) -> None:
        self.runner.run(self._begin())
        self.epochs = self.both(lambda side: side.leases.acquire(HOLDER, 256, 1e6))
        heartbeat = Heartbeat(EXECUTOR, "e", ["default"], 9, 1)
        self.both(lambda side: side.dispatch.heartbeat(heartbeat))

    async def _begin(self) -> None:
        dsn = await self.stack.enter_async_context(fresh_database(self.postgres))
        ground, database = on_postgres(dsn)
        self.stack.push_async_callback(database.close)
        self.sides = (on_memory(), ground)

    def teardown(self) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()

    def both(self, call: Callable[[Ground], Coroutine[Any, Any, Any]]) -> Any:
        """Do something on both sides, and insist on the same answer or the same error."""

        async def play() -> list[Any]:
            return [await _outcome(call(side)) for side in self.sides]

        memory, postgres = self.runner.run(play())
        assert memory == postgres
        return memory

    def change(self, call: Callable[[Ground], Coroutine[Any, Any, Changed]]) -> None:
        """Change a job on both sides, and insist on the same rows."""
        changed = self.both(call)
        if isinstance(changed, Changed) and changed.job.id not in self.ids:
            self.ids.append(changed.job.id)
        self.look()

    def look(self) -> None:
        for job_id in self.ids:
            self.both(lambda side, job_id=job_id: side.rows.runs(job_id))  # type: ignore[misc]
            self.both(lambda side, job_id=job_id: _found(side, job_id))  # type: ignore[misc]

    @rule(seconds=st.sampled_from([0.5, 29, 61, 700]))
    def time_passes(self, seconds: float) -> None:
        for side in self.sides:
            side.clock.move(seconds)

    @rule(name=names, schedule=st.sampled_from(SCHEDULES), timeout=st.sampled_from(["1m", "2m"]))
    def put(self, name: str, schedule: Schedule | None, timeout: str) -> None:
        spec = msgspec.structs.replace(SPEC, name=name, schedule=schedule, timeout=timeout)
        self.change(lambda side: side.owners.jobs.put(TEAM, spec))

    @rule(name=names)
    def pause(self, name: str) -> None:
        self.change(lambda side: side.owners.jobs.pause(TEAM, name))

    @rule(name=names, missed=missed, seconds=st.sampled_from([10, 90, 600]))
    def pause_until(self, name: str, missed: Missed, seconds: int) -> None:
        until = self._minute() + timedelta(seconds=seconds)
        pause = Pause("for a while", until, missed)
        self.change(lambda side: side.owners.jobs.pause(TEAM, name, pause))

    @rule()
    def end_pauses(self) -> None:
        self.both(lambda side: side.owners.upkeep.end_pauses())
        self.look()

    @rule(name=names, revision=st.integers(1, 9))
    def roll_back(self, name: str, revision: int) -> None:
        self.change(lambda side: side.owners.jobs.roll_back(TEAM, name, revision))

    @rule(name=names, missed=missed)
    def resume(self, name: str, missed: Missed) -> None:
        self.change(lambda side: side.owners.jobs.resume(TEAM, name, missed))

    @rule(name=names)
    def delete(self, name: str) -> None:
        self.change(lambda side: side.owners.jobs.delete(TEAM, name))

    @rule(name=names, after_s=offsets, by_s=st.sampled_from([None, 7, 90]))
    def override(self, name: str, after_s: int, by_s: int | None) -> None:
        due = self._minute() + timedelta(seconds=after_s)
        later = None if by_s is None else due + timedelta(seconds=by_s)
        self.change(lambda side: side.owners.jobs.override(TEAM, name, Override(due, later, "x")))

    @rule(name=names, after_s=offsets)
    def restore(self, name: str, after_s: int) -> None:
        due = self._minute() + timedelta(seconds=after_s)
        self.change(lambda side: side.owners.jobs.restore(TEAM, name, due))

    @rule(name=names)
    def trigger(self, name: str) -> None:
        async def call(side: Ground) -> Any:
            status = await side.owners.runs.trigger(TEAM, name)
            return status.id, status.state, status.due_at

        self.both(call)
        self.look()

    @rule(closed=st.sampled_from(CLOSED))
    def close(self, closed: list[str]) -> None:
        calendar = Calendar("closing", exclude=[Item(spans=closed)])
        self.both(lambda side: side.owners.calendars.put(TEAM, calendar))
        self.look()

    @rule()
    def forget_calendar(self) -> None:
        self.both(lambda side: side.owners.calendars.delete(TEAM, "closing"))

    @rule(advances=st.booleans())
    def claim(self, advances: bool) -> None:
        """Claim what is due first of each job."""
        for job_id in self.ids:
            self.both(lambda side, job_id=job_id: _claim(side, self.epochs, job_id, advances))  # type: ignore[misc]
        self.look()

    @rule()
    def follow(self) -> None:
        async def call(side: Ground) -> Any:
            found = await side.agenda.ended_runs(range(256), 9)
            follow_ups = []
            for ended in found:
                due = ended.job.timetable().next_after_end(ended.ended_at, ended.run_count)
                fire = None if due is None else ended.job.timetable().fire_time(due)
                follow_ups.append(
                    FollowUp(ended.job.id, ended.job.revision, ended.due_at, due, fire)
                )
            return await side.agenda.write_follow_ups(follow_ups)

        self.both(call)
        self.look()

    @rule(state=st.sampled_from([RunState.SUCCEEDED, RunState.RETRYING]))
    def execute(self, state: RunState) -> None:
        """Let an executor take a run, which ends in a state at once."""
        self.polls += 1
        poll = Poll(EXECUTOR, self.polls, ["default"], 1)

        async def call(side: Ground) -> Any:
            handout = await side.dispatch.dequeue(poll, "default")
            ends = []
            for attempt in handout.attempts if handout else []:
                outcome = Outcome.LOST if state is RunState.RETRYING else Outcome.SUCCEEDED
                end = End(attempt.run_id, attempt.number, Result(outcome, "why"))
                wait_s = 5.0 if state is RunState.RETRYING else None
                ends.append(Ending(end, state, "why", wait_s))
            recorded = await side.dispatch.record(EXECUTOR, ends) if ends else []
            return [(ended.status.id, ended.status.state) for ended in recorded]

        self.both(call)
        self.look()

    def _minute(self) -> datetime:
        """Return the whole minute that has begun last."""
        return self.sides[0].clock.now().replace(second=0, microsecond=0)


async def _outcome(work: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await work
    except MatinsError as error:
        return type(error), str(error)


async def _found(side: Ground, job_id: UUID) -> Any:
    return [
        (
            found_job.revision,
            found_job.state,
            found_job.next_due_at,
            found_job.next_fire_at,
            found_job.timing.overrides,
        )
        for found_job in await side.agenda.find_jobs([job_id])
    ]


async def _claim(side: Ground, epochs: dict[int, int], job_id: UUID, advances: bool) -> Any:
    """Claim the next due time of a job, as its scheduler does, and perhaps write the one after."""
    found = await side.agenda.find_jobs([job_id])
    if not found or found[0].next_fire_at is None or found[0].next_fire_at > side.clock.now():
        return None
    [job] = found
    assert job.next_due_at is not None
    follows = job.schedule.follows_end
    wanted = claim(job.id, job.next_due_at, job.revision, follows_end=follows)
    made = await side.agenda.claim(HOLDER, epochs, [wanted])
    if advances or follows:
        timetable = job.timetable()
        due = None if follows else timetable.next_after(job.next_due_at)
        fire = None if due is None else timetable.fire_time(due)
        advance = Advance(job.id, job.revision, due, fire, job.next_due_at)
        await side.agenda.advance(HOLDER, [advance])
    return made


@pytest.mark.timeout(300)
def test_memory_and_postgresql_agree_about_what_owners_do(postgres: str) -> None:
    machine = type("Machine", (BothSides,), {"postgres": postgres})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
