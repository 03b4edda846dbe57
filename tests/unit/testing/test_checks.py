"""What a simulation's checker calls a broken rule, and what it can't tell."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

import msgspec
import pytest

from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import HttpTarget, Target
from matins.domain.runs.admission.deciding import decide
from matins.domain.runs.admission.open_runs import OpenRuns
from matins.domain.runs.admission.waiting import CLAIM
from matins.domain.runs.claims import BEGINNING
from matins.domain.runs.states import Kind, RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.ids import PARTITIONS, run_id
from matins.owners.jobs import Jobs
from matins.testing.checks import Checker
from matins.testing.memory.changes import MemoryJobChanges
from matins.testing.memory.hints import MemoryHints
from matins.testing.memory.leases import MemoryLeases
from matins.testing.memory.rows import RunRow
from matins.testing.memory.waiting import MemoryWaitingRoom
from matins.testing.memory.world import World
from matins.testing.virtual import run_virtual

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
JOB = UUID(int=1, version=4)
HOLDER = UUID(int=2)
AFTER_END = JobSpec(
    name="job",
    target=Target(http=HttpTarget(url="http://target.example/")),
    schedule=Schedule(every="1s", after="end"),
)


def at(seconds: int) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


class House:
    """One job in a world whose clock the test sets."""

    def __init__(self) -> None:
        self.now = BEGIN
        self.world = World(lambda: self.now)
        self.checker = Checker(self.world, Counter())
        self.job = self.world.add_job(JOB, AFTER_END)

    def run(self, due: int, ends: int) -> None:
        """Let a run be claimed when it is due, and end, each by the clock of then."""
        run = self.claim(due)
        self.world.move(run, RunState.RUNNING)
        if ends < due:
            self.now = at(ends)
            self.checker.clock_stepped(ends - due)
        self.now = run.finished_at = at(ends)
        self.world.move(run, RunState.SUCCEEDED)
        self.job.follows = run.due_at

    def claim(
        self,
        due: int,
        state: RunState = RunState.QUEUED,
        kind: Kind = Kind.SCHEDULED,
        *,
        allow_overlap: bool = False,
    ) -> RunRow:
        """Let a run be claimed when it is due."""
        self.now = at(due)
        run = RunRow(
            id=run_id(JOB, self.now, kind),
            job_id=JOB,
            due_at=self.now,
            fire_at=self.now,
            claimed_at=self.now,
            epoch=0,
            partition=self.job.partition,
            pool=AFTER_END.pool,
            priority=0,
            kind=kind,
            state=state,
            allow_overlap=allow_overlap,
        )
        assert self.world.insert(run)
        return run


@pytest.fixture
def house() -> House:
    """A job that followed ends while the clock was put back, and is due every 10 s now."""
    house = House()
    house.run(1, 15)
    house.run(16, 3)
    house.run(4, 5)
    by_the_clock = msgspec.structs.replace(AFTER_END, schedule=Schedule(every="10s"))
    owners = Jobs(MemoryJobChanges(house.world), MemoryHints(), Random(1))
    run_virtual(owners.put("default", by_the_clock))
    return house


def test_ends_before_the_clock_was_put_back_are_not_judged_by_a_later_schedule(
    house: House,
) -> None:
    for due in range(10, 60, 10):
        house.run(due, due + 1)
    house.checker.check_ledger(at(60))
    assert house.checker.violations == []


def test_what_a_later_schedule_owes_is_judged_though_the_clock_was_put_back(house: House) -> None:
    for due in (10, 20, 30, 50):
        house.run(due, due + 1)
    house.checker.check_ledger(at(60))
    [violation] = house.checker.violations
    assert "1 due times have no row [datetime.datetime(2026, 1, 1, 0, 0, 40," in violation


def test_what_an_earlier_schedule_makes_while_the_next_is_written_may_go_on_beside_it() -> None:
    house = House()
    house.claim(2)
    house.job.timing = msgspec.structs.replace(house.job.timing, since=at(1))
    house.claim(3, RunState.WAITING)
    assert house.checker.violations == []
    house.claim(4, RunState.WAITING)
    [violation] = house.checker.violations
    assert "before it goes on" in violation


def test_a_run_beside_one_that_goes_on_is_judged_though_the_clock_was_put_back() -> None:
    house = House()
    house.checker.clock_stepped(-5)
    house.claim(2, RunState.WAITING)
    house.claim(3, RunState.WAITING)
    [violation] = house.checker.violations
    assert "before it goes on" in violation


def test_a_run_after_one_that_is_due_later_in_time_that_came_twice_is_not_judged() -> None:
    house = House()
    house.run(1, 15)
    house.run(16, 3)
    house.claim(4, RunState.WAITING)
    house.claim(5, RunState.WAITING)
    assert house.checker.violations == []


async def test_what_is_admitted_together_is_judged_in_the_order_of_the_decisions() -> None:
    house = House()
    runs = [
        house.claim(2, RunState.WAITING),
        house.claim(3, RunState.WAITING, Kind.MANUAL, allow_overlap=True),
    ]
    for run in runs:
        house.world.wait(run, house.now, CLAIM)
    epochs = await MemoryLeases(house.world).acquire(HOLDER, PARTITIONS, 10)
    room = MemoryWaitingRoom(house.world)
    batch = await room.load_waiting({house.job.partition: BEGINNING}, house.now, 9)
    facts = await room.admission_facts(batch)
    open_runs = await room.open_runs({JOB: OpenRuns(BEGIN)})
    batch.sort(key=lambda waiting: waiting.run_id == runs[0].id)  # the later one first
    decisions = decide(batch, msgspec.structs.replace(facts, open_runs=open_runs))
    await room.carry_out(HOLDER, epochs, decisions)
    assert [run.state for run in runs] == [RunState.QUEUED] * 2
    assert house.checker.violations == []
