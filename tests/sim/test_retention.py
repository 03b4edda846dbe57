"""Whatever befalls those who purge, nothing goes that is to be kept."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from random import Random
from uuid import UUID

import msgspec
import pytest

from matins.domain.audit import AuditedJob, AuditSpan, LedgerRow, audit
from matins.domain.jobs.keeping import Keep, KeepLimits, kept
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import HttpTarget, Target
from matins.domain.runs.fingerprint import Failure
from matins.domain.runs.states import Kind, RunState
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.errors import UnavailableError
from matins.domain.values.ids import partition_of, run_id
from matins.testing.memory.days import MemoryDayTables, MemoryLocks
from matins.testing.memory.faulty import FaultRates, Process, faulty
from matins.testing.memory.retention import MemoryLeftovers, MemoryRetention
from matins.testing.memory.rows import LetterRow, RunRow
from matins.testing.memory.world import World, day_of
from matins.testing.virtual import START, VirtualClock, VirtualTime, in_virtual_time
from matins.upkeep.days import DaysOver
from matins.upkeep.retention import Purge

USUAL_DAYS, DAYS, ROUNDS = 12, 20, 40
STEP = timedelta(hours=6)
KEEPS = (None, Keep(days=3), Keep(days=3, others=KeepLimits(days=8)), Keep(days=16))
SPEC = JobSpec("job", Target(http=HttpTarget("http://localhost/")), Schedule(every="6h"))
ENDED = (RunState.SUCCEEDED, RunState.SUCCEEDED, RunState.CANCELLED, RunState.DEAD)
TRAPS = ("detach", "drop", "add", "delete_runs", "purged", "walked", "past", "old_runs")


class MemoryArchive:
    """The ids of runs that are safe."""

    def __init__(self) -> None:
        self.ids: set[UUID] = set()

    async def add(self, _day: date, lines: Sequence[str]) -> None:
        """See `domain.ports.upkeep.Archive`."""
        self.ids |= {UUID(msgspec.json.decode(line)["id"]) for line in lines}


class House:
    """A world with some weeks of runs, and those who purge it."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.time = VirtualTime()
        self.world = World(self.time.now)
        self.archive = MemoryArchive()
        self.rates = FaultRates(fail_before=0.05, fail_after=0.05, straggle=0.05, slow=0.05)
        self.seen: Counter[str] = Counter()
        for number, keep in enumerate(KEEPS, 1):
            spec = msgspec.structs.replace(SPEC, name=f"job-{number}", keep=keep)
            self.world.add_job(UUID(int=number, version=4), spec)
        self.time.jump(DAYS * 86_400)
        self.runs = [self._run(job, at) for job in self.world.jobs for at in range(1, 4 * DAYS)]

    def _run(self, job: UUID, number: int) -> RunRow:
        due, ran = START + number * STEP, timedelta(minutes=1)
        ends = self.rng.random() > 0.02
        run = RunRow(
            id=run_id(job, due, Kind.SCHEDULED),
            job_id=job,
            due_at=due,
            fire_at=due,
            claimed_at=due,
            epoch=1,
            partition=partition_of(job),
            pool="default",
            priority=0,
            kind=Kind.SCHEDULED,
            state=self.rng.choice(ENDED) if ends else RunState.RUNNING,
            finished_at=due + ran if ends else None,
        )
        self.world.insert(run)
        if run.state is RunState.DEAD:
            dismissed_at = run.finished_at if number % 2 else None
            letter = LetterRow(run.id, self.world.now(), Failure(), dismissed_at)
            self.world.dead_letters[run.id] = letter
        return run

    async def work(self) -> None:
        """Let one process do its turn, which may crash in the middle of it."""
        process = Process(VirtualClock(self.time), self.rng, self.rates, self.seen)
        if self.rates.slow and self.rng.random() < 0.3:
            process.trap = self.rng.choice(TRAPS)
        working = asyncio.create_task(self._purge(process))
        crashed = asyncio.create_task(process.crashed.wait())
        await asyncio.wait([working, crashed], return_when=asyncio.FIRST_COMPLETED)
        for task in (working, crashed):
            task.cancel()  # its session ends, and so does its lock
        await asyncio.wait([working, crashed])
        process.clock.dispose()
        if not working.cancelled():
            working.result()

    async def _purge(self, process: Process) -> None:
        locks, clock = MemoryLocks(self.world), process.clock
        days = faulty(MemoryDayTables(self.world), process)
        retention = faulty(MemoryRetention(self.world, USUAL_DAYS), process)
        leftovers = faulty(MemoryLeftovers(self.world), process)
        archive = faulty(self.archive, process)
        given = (locks, days, retention, leftovers, archive, clock, process.stopping)
        try:
            await DaysOver(locks, days, clock, process.stopping).detach()
            await Purge(*given).purge()
        except UnavailableError:
            self.seen["gave up"] += 1

    def is_too_old(self, run: RunRow, by_days: int = 0) -> bool:
        """Return whether a run is over, and older than its job keeps it by so many days."""
        keep = kept(self.world.jobs[run.job_id].spec.keep, usual_days=USUAL_DAYS)
        days = keep.days if run.state is RunState.SUCCEEDED else keep.others_days
        is_closed = run.finished_at is not None and not self.world.dead_letters.has_open(run.id)
        return is_closed and run.due_at < self.world.now() - timedelta(days=days + by_days)

    def is_audited(self, job: UUID) -> bool:
        """Return whether what is left of a job's rows is what was due."""
        runs = self.world.scheduled(job)
        rows = [LedgerRow(run.due_at, run.state, finished_at=run.finished_at) for run in runs]
        spec, purged_until = self.world.jobs[job].spec, self.world.purged_until(job)
        audited = AuditedJob(job, "default", spec.name, purged_until=purged_until)
        span = AuditSpan(START, START + timedelta(days=DAYS), self.world.now())
        return audit(audited, self.world.revisions[job], rows, span).agrees

    async def play(self) -> None:
        """Purge under faults for some days, and look at each step; then once in peace."""
        for _ in range(ROUNDS):
            await asyncio.gather(self.work(), self.work())
            self.check()
            self.time.jump(self.rng.uniform(0, 0.3) * 86_400)
        self.rates = FaultRates()
        self.time.jump(2 * 86_400)
        await self.work()
        self.check()

    def check(self) -> None:
        """Nothing is gone that is to be kept, or that the archive lacks."""
        gone = [run for run in self.runs if run.id not in self.world.runs_by_id]
        assert all(self.is_too_old(run) for run in gone)
        assert {run.id for run in gone} <= self.archive.ids
        assert all(self.is_audited(job) for job in self.world.jobs)


@pytest.mark.parametrize("seed", range(8))
@in_virtual_time
async def test_nothing_goes_that_is_to_be_kept(seed: int) -> None:
    house = House(seed)
    await house.play()
    past = [run for run in house.world.runs.values() if day_of(run.due_at) in house.world.past_days]
    assert not [run for run in past if house.is_too_old(run, by_days=1)]
    assert len(house.archive.ids) > 100
    assert house.seen["gave up"] > 5
