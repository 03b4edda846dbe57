"""The engine's roles as simulated processes: the real code, on faulty ports in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from matins.domain.executors.protocol import (
    Handout,
    Heartbeat,
    HeartbeatAnswer,
    Output,
    OutputAnswer,
    Poll,
    Report,
    ReportAnswer,
)
from matins.domain.ports import GatewayLink
from matins.domain.ports.jobs import JobChanges
from matins.domain.upkeep.healing import Repaired
from matins.executor.fleet import Executor
from matins.gateway.checks import check_poll
from matins.gateway.handout import Dispatcher
from matins.gateway.heartbeat import HeartbeatReceiver
from matins.gateway.output import OutputReceiver
from matins.gateway.report import Recorder
from matins.gateway.starts import StartsCounter
from matins.kernel.lease_file import LeaseFile
from matins.kernel.service import Service, run_services
from matins.kernel.settings import Settings
from matins.owners.owners import Owners, owners_on
from matins.scheduler.role import Era, SchedulerRole
from matins.scheduler.scheduler import Scheduler
from matins.testing.alert_checks import AlertChecker
from matins.testing.alerting import AlertDesk, alert_desk, alerting
from matins.testing.checks import Checker
from matins.testing.memory.agenda import MemoryAgenda
from matins.testing.memory.backfills import MemoryBackfills
from matins.testing.memory.calendars import MemoryCalendars
from matins.testing.memory.changes import MemoryJobChanges
from matins.testing.memory.dead import MemoryDeadLetters, MemoryReplays
from matins.testing.memory.dispatch import MemoryDispatch, MemoryWatch
from matins.testing.memory.due_times import MemoryEndedJobs, MemoryNextDueTimes
from matins.testing.memory.faulty import Process, faulty
from matins.testing.memory.hints import MemoryHints
from matins.testing.memory.leases import MemoryLeases
from matins.testing.memory.limits import MemoryLimits
from matins.testing.memory.link import Door, MemoryLink
from matins.testing.memory.lookout import MemoryLookout
from matins.testing.memory.outbox import MemoryOutbox
from matins.testing.memory.output import MemoryKeptOutput, MemoryLiveOutput
from matins.testing.memory.pools import MemoryQueues
from matins.testing.memory.repairs import MemoryRepairs
from matins.testing.memory.restores import MemoryRestores
from matins.testing.memory.rewinding import era_over, pinned
from matins.testing.memory.runs import MemoryRunChanges
from matins.testing.memory.status import MemoryStatusCache
from matins.testing.memory.waiting import MemoryWaitingRoom
from matins.testing.memory.windows import MemoryWindows
from matins.testing.memory.world import World
from matins.testing.target import SimulatedTarget
from matins.upkeep.auto_delete import AutoDelete
from matins.upkeep.healing import Healing
from matins.upkeep.pauses import PauseEnds
from matins.upkeep.upkeep import Upkeep
from matins.upkeep.zone_data import ZoneDataSync

S = TypeVar("S")


@dataclass
class Stage:
    """What all simulated processes share. Replace a port's class to plant a fault."""

    world: World
    settings: Settings
    checker: Checker
    alert_checker: AlertChecker
    cache: MemoryStatusCache = field(default_factory=MemoryStatusCache)
    live: MemoryLiveOutput = field(default_factory=MemoryLiveOutput)
    kept: MemoryKeptOutput = field(default_factory=MemoryKeptOutput)
    gateways: list[Door[GatewayLink]] = field(default_factory=list)
    apis: list[Door[Owners]] = field(default_factory=list)
    alert_desks: list[Door[AlertDesk]] = field(default_factory=list)
    changes: Callable[[World], JobChanges] = MemoryJobChanges
    agenda: Callable[[World], MemoryAgenda] = MemoryAgenda
    room: Callable[[World], MemoryWaitingRoom] = MemoryWaitingRoom
    dispatch: Callable[[World], MemoryDispatch] = MemoryDispatch
    watch: Callable[[World], MemoryWatch] = MemoryWatch
    backfills: Callable[[World], MemoryBackfills] = MemoryBackfills
    replays: Callable[[World], MemoryReplays] = MemoryReplays
    repairs: Callable[[World], MemoryRepairs] = MemoryRepairs
    ended_jobs: Callable[[World], MemoryEndedJobs] = MemoryEndedJobs
    due_times: Callable[[World], MemoryNextDueTimes] = MemoryNextDueTimes
    lookout: Callable[[World], MemoryLookout] = MemoryLookout
    outbox: Callable[[World], MemoryOutbox] = MemoryOutbox

    @property
    def hints(self) -> MemoryHints:
        """What all of them hear."""
        return self.world.hints


Role = Callable[[Stage, Process], Coroutine[Any, Any, None]]
"""Runs a role in a process, for ever."""


async def run_scheduler(stage: Stage, process: Process) -> None:
    """A scheduler with its upkeep; each time that the database has gone back, a new one on ports of
    its own.
    """
    world, notes = stage.world, LeaseFile(None)

    def begin() -> Era:
        scheduler = Scheduler(
            UUID(int=process.rng.getrandbits(128), version=4),
            leases=faulty(pinned(MemoryLeases(world), world), process),
            agenda=faulty(pinned(stage.agenda(world), world), process),
            room=faulty(pinned(stage.room(world), world), process),
            queues=faulty(pinned(MemoryQueues(world), world), process),
            watch=faulty(pinned(stage.watch(world), world), process),
            backfills=faulty(pinned(stage.backfills(world), world), process),
            replays=faulty(pinned(stage.replays(world), world), process),
            restores=faulty(pinned(MemoryRestores(world), world), process),
            notes=notes,
            hints=faulty(stage.hints, process),
            clock=process.clock,
            rng=process.rng,
            settings=stage.settings,
        )
        return Era(scheduler, partial(era_over, world, world.era))

    pauses = PauseEnds(_owners(stage, process).upkeep, process.clock, stage.settings.poll_s)
    services: list[Service] = [_upkeep(stage, process), pauses, SchedulerRole(begin)]
    await run_services(services, process.stopping)


def _upkeep(stage: Stage, process: Process) -> Upkeep:
    """Return the upkeep, but for what it does to tables of whole days."""
    world, clock, stopping = stage.world, process.clock, asyncio.Event()
    hints, owners = faulty(stage.hints, process), _owners(stage, process)
    repairs = faulty(_WatchedRepairs(stage.repairs(world), stage.checker), process)
    due_times = faulty(stage.due_times(world), process)
    ended_jobs = faulty(stage.ended_jobs(world), process)
    tasks = {
        "zone_data": ZoneDataSync(due_times, owners.upkeep, hints, clock, stopping).sync,
        "calendars": owners.calendars.keep_up,
        "delete_after": AutoDelete(ended_jobs, owners.upkeep, stopping).delete,
        "healing": Healing(repairs, clock, stopping).heal,
    }
    return Upkeep(tasks, clock, stage.settings.upkeep_s, stopping)


class _WatchedRepairs:
    """Tells the checker of each row that is put back."""

    def __init__(self, repairs: MemoryRepairs, checker: Checker) -> None:
        self._repairs = repairs
        self._checker = checker
        self.stray_runs = repairs.stray_runs
        self.free_permits = repairs.free_permits

    async def repair(self, after: UUID, limit: int, min_age_s: float) -> Repaired:
        page = await self._repairs.repair(after, limit, min_age_s)
        self._checker.healed([*page.enqueued, *page.rescheduled])
        return page

    async def hand_out_again(self, executor: UUID, run_ids: Collection[UUID]) -> None:
        self._checker.healed(run_ids)
        await self._repairs.hand_out_again(executor, run_ids)


async def run_gateway(stage: Stage, process: Process) -> None:
    """A gateway, without its HTTP."""
    dispatch = faulty(stage.dispatch(stage.world), process)
    hints = faulty(stage.hints, process)
    starts = StartsCounter(dispatch, process.clock)
    dispatcher = Dispatcher(dispatch, starts, hints, process.clock, stage.settings.poll_s)
    recorder = Recorder(dispatch, stage.cache, hints, process.rng)
    gateway: GatewayLink = _Gateway(
        dispatcher, recorder, HeartbeatReceiver(dispatch), OutputReceiver(stage.live, stage.kept)
    )
    door = (process, gateway)
    stage.gateways.append(door)
    try:
        await run_services([starts, recorder, dispatcher], asyncio.Event())
    finally:
        stage.gateways.remove(door)


async def run_api(stage: Stage, process: Process) -> None:
    """An API, without its HTTP: for owners, and for alerts."""
    world, checker = stage.world, stage.alert_checker
    door, desk = (process, _owners(stage, process)), (process, alert_desk(world, process))
    stage.apis.append(door)
    stage.alert_desks.append(desk)
    ports = stage.lookout(world), stage.outbox(world)
    try:
        await run_services(alerting(*ports, world, process, checker), asyncio.Event())
    finally:
        stage.apis.remove(door)
        stage.alert_desks.remove(desk)


def _owners(stage: Stage, process: Process) -> Owners:
    return owners_on(
        faulty(stage.changes(stage.world), process),
        faulty(MemoryCalendars(stage.world), process),
        faulty(MemoryRunChanges(stage.world), process),
        faulty(MemoryWindows(stage.world), process),
        faulty(stage.backfills(stage.world), process),
        faulty(MemoryDeadLetters(stage.world), process),
        faulty(stage.replays(stage.world), process),
        faulty(MemoryLimits(stage.world), process),
        faulty(MemoryRestores(stage.world), process),
        faulty(stage.hints, process),
        process.rng,
        in_thread=at_once,
    )


async def run_executor(stage: Stage, process: Process) -> None:
    """An executor whose targets are simulated."""
    link = faulty(MemoryLink(lambda: open_doors(stage.gateways), process.rng), process)
    target = SimulatedTarget(process, stage.checker, stage.settings.cut_off_s)
    executor = Executor(
        link,
        {"http": target},
        process.clock,
        process.rng,
        stage.settings,
        "simulated",
        target.contact,
    )

    async def stop() -> None:
        await process.stopping.wait()
        await executor.stop()

    async with asyncio.TaskGroup() as group:
        stopping = group.create_task(stop())
        await executor.run()
        stopping.cancel()


def open_doors(doors: list[Door[S]]) -> list[Door[S]]:
    """Return those of processes that have not crashed: a load balancer sees that much."""
    return [door for door in doors if not door[0].crashed.is_set()]


class _Gateway:
    """What a gateway answers, past HTTP."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        recorder: Recorder,
        hearing: HeartbeatReceiver,
        receiver: OutputReceiver,
    ) -> None:
        self._dispatcher = dispatcher
        self._recorder = recorder
        self._hearing = hearing
        self._receiver = receiver

    async def poll(self, poll: Poll) -> Handout:
        check_poll(poll)
        return await self._dispatcher.poll(poll)

    async def report(self, report: Report) -> ReportAnswer:
        return await self._recorder.report(report)

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        return await self._hearing.heartbeat(heartbeat)

    async def output(self, output: Output) -> OutputAnswer:
        return await self._receiver.output(output)


async def at_once(work: Callable[..., Any], *args: object) -> Any:  # noqa: ANN401 # whatever it is
    """Do what production does in a thread: virtual time knows of none."""
    return work(*args)


def rng_of(parent: Random) -> Random:
    """Return a generator of its own for each process, so that one's draws don't disturb
    another's.
    """
    return Random(parent.getrandbits(64))  # noqa: S311 # chance, not secrecy
