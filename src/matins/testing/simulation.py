"""The real engine for virtual hours, under faults drawn from a seed: a bug that is found is a seed.

`python -m matins.testing.simulation --seeds 20 --hours 1` plays it.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import structlog

from matins.domain.jobs.spec import JobState
from matins.domain.runs.backfills.values import BackfillState
from matins.domain.runs.states import FINAL
from matins.kernel.clock import elapsed_s
from matins.kernel.settings import Settings
from matins.owners.owners import Owners, owners_on
from matins.testing.alert_checks import AlertChecker
from matins.testing.alert_owner import CHECKINS, AlertOwner, checkin_of
from matins.testing.checks import Checker
from matins.testing.memory.backfills import MemoryBackfills
from matins.testing.memory.calendars import MemoryCalendars
from matins.testing.memory.changes import MemoryJobChanges
from matins.testing.memory.dead import MemoryDeadLetters, MemoryReplays
from matins.testing.memory.faulty import Process, usual_fault_rates
from matins.testing.memory.limits import MemoryLimits
from matins.testing.memory.link import Calls
from matins.testing.memory.restores import MemoryRestores
from matins.testing.memory.runs import MemoryRunChanges
from matins.testing.memory.windows import MemoryWindows
from matins.testing.memory.world import World
from matins.testing.nemesis import Nemesis
from matins.testing.owner import TEAM, SimulatedOwner, closing, spec_of
from matins.testing.retry_checks import watch_retries
from matins.testing.roles import (
    Role,
    Stage,
    at_once,
    open_doors,
    rng_of,
    run_api,
    run_executor,
    run_gateway,
    run_scheduler,
)
from matins.testing.virtual import VirtualClock, VirtualTime, run_virtual

_RAGES = 2
"""So many strikes at once: one may last for a minute."""

_OWNERS = 2
"""So many change the same jobs, perhaps at once."""

_HEAL_S = 180.0
_END_MAX_S = 1_800.0
_LOOK_S = 5.0


@dataclass
class Simulation:
    """One house of schedulers, gateways and executors, played once in a virtual loop.

    `plant` may replace parts of the stage, to show that a fault planted there is found.
    """

    seed: int
    hours: float = 1.0
    schedulers: int = 3
    gateways: int = 2
    apis: int = 2
    executors: int = 3
    jobs: int = 16
    fail_overs: bool = False
    """Let the database lose its last seconds every minute."""
    plant: Callable[[Stage], None] = lambda _: None
    seen: Counter[str] = field(default_factory=Counter)
    """How often each rare path was taken."""

    def __post_init__(self) -> None:
        self._rng = Random(self.seed)  # noqa: S311 # chance, not secrecy
        self._rates = usual_fault_rates()
        self._living: dict[str, Process] = {}
        self._processes: list[Process] = []
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def violations(self) -> list[str]:
        """The rules that were broken."""
        return self._checker.violations

    def run(self) -> list[str]:
        """Play to the end, or to the first broken rule; gives the broken rules."""
        return run_virtual(self._play())

    async def _play(self) -> list[str]:
        """1 faults, for the hours asked for; 2 heal; 3 check that nothing is missing; 4 let all
        runs end.
        """
        self._time = VirtualTime()
        world = World(self._time.now)
        self._checker = Checker(world, self.seen)
        watch_retries(world, self._checker.violations)
        self._alert_checker = AlertChecker(world, self._checker.violations, self.seen)
        self._stage = Stage(world, Settings(), self._checker, self._alert_checker)
        self.plant(self._stage)
        roles: tuple[tuple[str, int, Role], ...] = (
            ("scheduler", self.schedulers, run_scheduler),
            ("gateway", self.gateways, run_gateway),
            ("api", self.apis, run_api),
            ("executor", self.executors, run_executor),
        )
        for name, count, role in roles:
            for number in range(count):
                self._start(self._keep_running(f"{name} {number}", role))
        await self._put_jobs()
        nemesis = Nemesis(
            *(rng_of(self._rng), self._stage, self._time, self._rates, self._living, self.seen)
        )
        line = Calls(lambda: open_doors(self._stage.apis), rng_of(self._rng))
        trouble = [self._start(nemesis.rage()) for _ in range(_RAGES)]
        for _ in range(_OWNERS):
            owner = SimulatedOwner(line, world, self.jobs, rng_of(self._rng), self.seen)
            trouble.append(self._start(owner.own()))
        desk = Calls(lambda: open_doors(self._stage.alert_desks), rng_of(self._rng))
        alert_owner = AlertOwner(desk, TEAM, rng_of(self._rng), self.seen)
        trouble.append(self._start(alert_owner.own()))
        trouble.append(self._start(nemesis.meddle(rng_of(self._rng))))
        if self.fail_overs:
            trouble.append(self._start(self._fail_over(nemesis)))
        await self._pass(self.hours * 3600)
        for task in trouble:
            task.cancel()
        self._rates.clear()
        await self._pass(_HEAL_S)
        if not self.violations:  # else it stopped before all had healed
            self._checker.check_ledger(self._time.now())
        self._alert_checker.check_seen(self._time.now())
        if not self.violations:
            await self._end()
        self._clear_away()
        return self._checker.violations

    async def _keep_running(self, seat: str, role: Role) -> None:
        """Run a role in one process after the other, as what supervises processes does."""
        while True:
            rng = rng_of(self._rng)
            clock = VirtualClock(
                self._time, boot_s=rng.uniform(0, 1e6), behind_s=rng.uniform(0, 0.02)
            )
            process = Process(clock, rng, self._rates, self.seen)
            self._processes.append(process)
            self._living[seat] = process
            running = self._start(role(self._stage, process))
            crashed = self._start(process.crashed.wait())
            await asyncio.wait([running, crashed], return_when=asyncio.FIRST_COMPLETED)
            if process.stopping.is_set() and running.done() and not running.exception():
                process.crash()  # nothing of it is left
            elif running.done():
                fault = "was cancelled" if running.cancelled() else repr(running.exception())
                self._checker.violations.append(f"{seat} ended by itself: {fault}")
                return
            await asyncio.sleep(rng.uniform(0.5, 20))

    async def _fail_over(self, nemesis: Nemesis) -> None:
        rng = rng_of(self._rng)
        while True:
            await asyncio.sleep(rng.uniform(20, 100))
            await nemesis.fail_over()

    def _owners(self) -> Owners:
        """Owners whom no fault befalls."""
        world, hints = self._stage.world, self._stage.hints
        jobs, calendars = MemoryJobChanges(world), MemoryCalendars(world)
        ports = jobs, calendars, MemoryRunChanges(world), MemoryWindows(world)
        ports_of_runs = MemoryBackfills(world), MemoryDeadLetters(world), MemoryReplays(world)
        ports_of_rules = MemoryLimits(world), MemoryRestores(world)
        return owners_on(
            *ports, *ports_of_runs, *ports_of_rules, hints, self._rng, in_thread=at_once
        )

    async def _put_jobs(self) -> None:
        owners = self._owners()
        await owners.calendars.put(TEAM, closing(self._rng))
        for number in range(self.jobs):
            await owners.jobs.put(TEAM, spec_of(number, self._rng))
        for name in CHECKINS:
            await owners.jobs.put(TEAM, checkin_of(name, self._rng))

    async def _end(self) -> None:
        """Let nothing more be due, and wait until all runs have ended."""
        world = self._stage.world
        stopped = (JobState.QUARANTINED, JobState.DELETED)
        for job in [job for job in world.jobs.values() if job.state not in stopped]:
            await self._owners().jobs.pause(TEAM, job.spec.name)
        for row in world.backfills.values():
            if row.state is BackfillState.PAUSED:
                await self._owners().backfills.resume(row.id)
        waited_s = 0.0
        while _is_busy(world):
            if self.violations:
                return
            if waited_s > _END_MAX_S:
                break
            await asyncio.sleep(_LOOK_S)
            waited_s += _LOOK_S
        self._checker.check_ended()
        self._alert_checker.check_ended()

    async def _pass(self, seconds: float) -> None:
        """Let time pass until a rule is broken."""
        for _ in range(int(seconds / _LOOK_S)):
            if self._checker.violations:
                return
            await asyncio.sleep(_LOOK_S)

    def _start(self, work: Any) -> asyncio.Task[Any]:  # noqa: ANN401 # any coroutine
        task = asyncio.create_task(work)
        self._tasks.add(task)
        return task

    def _clear_away(self) -> None:
        """End all processes; what waits for them is cancelled."""
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        for task in self._tasks:
            task.cancel()
        for process in self._processes:
            process.crash()
            process.clock.dispose()


def _is_busy(world: World) -> bool:
    """Return whether anything has not come to its end."""
    ends = [row.finished_at for row in world.backfills.values()]
    ends += [row.finished_at for row in world.replays.values()]
    ends += [row.ended_at for row in world.alerts.deliveries.values()]
    return None in ends or any(run.state not in FINAL for run in world.runs.values())


def main() -> int:
    """Play seeds one after the other; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m matins.testing.simulation")
    parser.add_argument("--seeds", type=int, default=20, help="how many seeds to play")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--hours", type=float, default=1.0, help="virtual hours a seed")
    parser.add_argument("--fail-overs", action="store_true", help="let the database go back")
    args = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    seen: Counter[str] = Counter()
    failed = 0
    for seed in range(args.first, args.first + args.seeds):
        begun_s = elapsed_s()
        simulation = Simulation(seed, hours=args.hours, fail_overs=args.fail_overs)
        violations = simulation.run()
        seen += simulation.seen
        failed += bool(violations)
        verdict = "; ".join(violations) or "holds"
        sys.stdout.write(f"seed {seed}: {verdict} ({elapsed_s() - begun_s:.1f} s)\n")
        sys.stdout.flush()
    for path, count in sorted(seen.items()):
        sys.stdout.write(f"{count:8} {path}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
