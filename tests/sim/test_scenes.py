"""Scenes that the real roles play in virtual time: one fault each, and what must come of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from uuid import UUID

import msgspec

from matins.domain.jobs.retry import Backoff, RetryPolicy
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import HttpTarget, Target
from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.states import Outcome, RunState
from matins.domain.schedules.after_jobs import AfterJobs
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.ids import PARTITIONS
from matins.executor.fleet import Executor
from matins.executor.news import Tell
from matins.kernel.settings import Settings
from matins.owners.runs import Runs
from matins.testing.alert_checks import AlertChecker
from matins.testing.checks import Checker
from matins.testing.memory.faulty import FaultRates, Process, faulty
from matins.testing.memory.link import MemoryLink
from matins.testing.memory.runs import MemoryRunChanges
from matins.testing.memory.world import World
from matins.testing.roles import Role, Stage, open_doors, rng_of, run_gateway, run_scheduler
from matins.testing.virtual import VirtualClock, VirtualTime, in_virtual_time

TERM_S = 10.0
SPEC = JobSpec(
    "job",
    Target(http=HttpTarget("http://localhost/")),
    Schedule(every="2s"),
    retry=RetryPolicy(backoff=Backoff(initial="1s", jitter="none")),
)


class Scene:
    """A stage, and processes on it that nothing befalls but what a test does to them."""

    def __init__(self, seed: int = 1) -> None:
        self.time = VirtualTime()
        self.world = World(self.time.now)
        self.rng = Random(seed)
        self.seen: Counter[str] = Counter()
        self.checker = Checker(self.world, self.seen)
        settings = Settings(lost_after_s=20.0, cut_off_s=12.0, lease_term_s=TERM_S)
        alert_checker = AlertChecker(self.world, self.checker.violations, Counter())
        self.stage = Stage(self.world, settings, self.checker, alert_checker)
        self._played: list[tuple[Process, asyncio.Task[None]]] = []

    def start(self, role: Role) -> Process:
        """Start a process of a role."""
        process = Process(VirtualClock(self.time), rng_of(self.rng), FaultRates(), Counter())
        self._played.append((process, asyncio.create_task(role(self.stage, process))))
        return process

    def close(self) -> None:
        """End all processes."""
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        for process, task in self._played:
            task.cancel()
            process.crash()
            process.clock.dispose()


class FirstHangs:
    """A target whose first attempt has no end; all others are done at once."""

    def __init__(self) -> None:
        self.started: list[tuple[UUID, int]] = []

    async def run(self, attempt: Attempt, cancel: asyncio.Event, _tell: Tell) -> Result:
        """See `executor.targets.Runner`."""
        self.started.append((attempt.run_id, attempt.number))
        if len(self.started) == 1:
            await cancel.wait()
        return Result(Outcome.SUCCEEDED)

    async def close(self) -> None:
        """See `executor.targets.Runner`."""

    def contact(self, asked_s: float) -> None:
        """See `executor.fleet.Executor`."""

    async def execute(self, stage: Stage, process: Process) -> None:
        """Be the role of an executor with this target."""
        link = faulty(MemoryLink(lambda: open_doors(stage.gateways), process.rng), process)
        given = (process.clock, process.rng, stage.settings, "simulated", self.contact)
        await Executor(link, {"http": self}, *given).run()


@in_virtual_time
async def test_an_executor_that_dies_in_silence_blocks_a_job_that_skips_overlaps_no_longer() -> (
    None
):
    """CL-16: lost within the bound, tried again, and the job goes on; skips name the run."""
    scene = Scene()
    target = FirstHangs()
    scene.start(run_scheduler)
    scene.start(run_gateway)
    dying = scene.start(target.execute)
    job = scene.world.add_job(UUID(int=7), msgspec.structs.replace(SPEC, overlap="skip"))
    await asyncio.sleep(5)
    [(blocking, _)] = target.started
    dying.crash()
    scene.start(target.execute)
    await asyncio.sleep(40)
    runs = scene.world.scheduled(job.id)
    scene.checker.check_ledger(scene.time.now())
    scene.close()
    assert scene.checker.violations == []
    first, *others = runs
    assert (first.id, first.state, first.attempt) == (blocking, RunState.SUCCEEDED, 2)
    assert target.started[:2] == [(blocking, 1), (blocking, 2)]
    skipped = [run for run in others if run.state is RunState.SKIPPED]
    assert 8 < len(skipped) < 15
    assert all(f"run {blocking}" in run.reason for run in skipped)
    assert others[: len(skipped)] == skipped
    assert {run.state for run in others[len(skipped) : -1]} == {RunState.SUCCEEDED}
    assert len(others) > len(skipped) + 5


@in_virtual_time
async def test_a_partition_is_without_a_holder_for_a_lease_term_at_the_most() -> None:
    """CL-22: schedulers die one by one and all at once, and are started again."""
    scene = Scene(22)
    living = {seat: scene.start(run_scheduler) for seat in range(3)}
    free_s = [0.0] * PARTITIONS
    longest_s = 0.0
    kills = {300: (0,), 700: (1, 2), 1200: (0, 1, 2), 1500: (2,)}
    await asyncio.sleep(20)
    for tick in range(1700):
        await asyncio.sleep(0.1)
        for seat in kills.get(tick, ()):
            living[seat].crash()
        for seat in kills.get(tick - 30, ()):
            living[seat] = scene.start(run_scheduler)
        in_force = {lease for lease in scene.world.leases if scene.world.is_in_force(lease)}
        for partition, row in scene.world.partitions.items():
            free_s[partition] = 0.0 if row.holder in in_force else free_s[partition] + 0.1
        longest_s = max(longest_s, *free_s)
    holders = {row.holder for row in scene.world.partitions.values()}
    scene.close()
    assert 0 < longest_s < TERM_S / 2
    assert len(holders) == 3


class FirstFails(FirstHangs):
    """A target whose first attempt fails for good; all others are done at once."""

    async def run(self, attempt: Attempt, cancel: asyncio.Event, _tell: Tell) -> Result:
        """See `executor.targets.Runner`."""
        self.started.append((attempt.run_id, attempt.number))
        is_first = len(self.started) == 1
        return Result(Outcome.FAILED, permanent=True) if is_first else Result(Outcome.SUCCEEDED)


@in_virtual_time
async def test_what_was_skipped_since_another_run_died_runs_once_that_is_replayed() -> None:
    """skipped -> waiting, which seeds come by only now and then."""
    scene = Scene()
    target = FirstFails()
    scene.start(run_scheduler)
    scene.start(run_gateway)
    scene.start(target.execute)
    world = scene.world
    leading = msgspec.structs.replace(SPEC, name="first", schedule=Schedule(every="1h"))
    chain = Schedule(after=AfterJobs(["first"]))
    leader = world.add_job(UUID(int=7), leading)
    led = world.add_job(UUID(int=8), msgspec.structs.replace(SPEC, name="second", schedule=chain))
    await asyncio.sleep(3700)
    [dead] = world.scheduled(leader.id)
    [skipped] = world.runs_by_job[led.id]
    assert (dead.state, skipped.state) == (RunState.DEAD, RunState.SKIPPED)
    await Runs(MemoryRunChanges(world), scene.stage.hints).replay(dead.id)
    await asyncio.sleep(60)
    runs = [world.runs_by_id[run.id] for run in (dead, skipped)]
    scene.checker.check_ledger(scene.time.now())
    scene.close()
    assert scene.checker.violations == []
    assert [run.state for run in runs] == [RunState.SUCCEEDED, RunState.SUCCEEDED]
    assert scene.seen["skipped -> waiting"] == 1
    assert target.started == [(dead.id, 1), (dead.id, 2), (skipped.id, 1)]
