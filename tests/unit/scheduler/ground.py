"""What the scheduler's tests stand on: a world in memory, and schedulers that run in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

import msgspec

from matins.domain.jobs.misfire import Misfire
from matins.domain.jobs.overlap import WrittenOverlap
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import HttpTarget, Target
from matins.domain.ports import Agenda, WaitingRoom
from matins.domain.runs.states import RunState
from matins.domain.schedules.schedule import Schedule
from matins.kernel.lease_file import LeaseFile
from matins.kernel.settings import Settings
from matins.owners.jobs import Jobs
from matins.scheduler.scheduler import Scheduler
from matins.testing.memory.agenda import MemoryAgenda
from matins.testing.memory.backfills import MemoryBackfills
from matins.testing.memory.changes import MemoryJobChanges
from matins.testing.memory.dead import MemoryReplays
from matins.testing.memory.dispatch import MemoryWatch
from matins.testing.memory.leases import MemoryLeases
from matins.testing.memory.pools import MemoryQueues
from matins.testing.memory.restores import MemoryRestores
from matins.testing.memory.rows import RunRow
from matins.testing.memory.waiting import MemoryWaitingRoom
from matins.testing.memory.world import JobRow, World
from matins.testing.virtual import START, VirtualClock, VirtualTime

TARGET = Target(http=HttpTarget(url="http://localhost/"))
MISFIRE = Misfire()
TEAM = "default"


class Ground:
    """A world, its time, and all that schedulers need of it. Made inside of a virtual loop."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.world = World(self.time.now)
        self.hints = self.world.hints
        self.rng = Random(1)
        self.settings = Settings()
        self.notes = LeaseFile(None)
        self.watch = MemoryWatch(self.world)
        self.leases = MemoryLeases(self.world)
        self.owners = Jobs(MemoryJobChanges(self.world), self.hints, self.rng)

    def job(
        self,
        *,
        misfire: Misfire = MISFIRE,
        pool: str = "default",
        overlap: WrittenOverlap = "allow",
        **schedule: object,
    ) -> JobRow:
        """Return a job saved now; without a schedule it is due each minute. Nobody ends its runs,
        so they may overlap.
        """
        spec = JobSpec(
            name=f"job-{len(self.world.jobs)}",
            target=TARGET,
            schedule=msgspec.convert(schedule or {"cron": "* * * * *"}, Schedule),
            misfire=misfire,
            pool=pool,
            overlap=overlap,
        )
        return self.world.add_job(self.uuid(), spec)

    def uuid(self) -> UUID:
        """Return a new name."""
        return UUID(int=self.rng.getrandbits(128), version=4)

    def clock(self) -> VirtualClock:
        """Return a process's clock."""
        return VirtualClock(self.time)

    def scheduler(
        self,
        clock: VirtualClock | None = None,
        agenda: Agenda | None = None,
        room: WaitingRoom | None = None,
    ) -> Scheduler:
        """Return a scheduler that does not run yet."""
        return Scheduler(
            self.uuid(),
            leases=self.leases,
            agenda=agenda or MemoryAgenda(self.world),
            room=room or MemoryWaitingRoom(self.world),
            queues=MemoryQueues(self.world),
            watch=self.watch,
            backfills=MemoryBackfills(self.world),
            replays=MemoryReplays(self.world),
            restores=MemoryRestores(self.world),
            notes=self.notes,
            hints=self.hints,
            clock=clock or self.clock(),
            rng=Random(2),
            settings=self.settings,
        )

    @asynccontextmanager
    async def running(
        self,
        clock: VirtualClock | None = None,
        agenda: Agenda | None = None,
        room: WaitingRoom | None = None,
    ) -> AsyncIterator[Scheduler]:
        """A scheduler that runs, and is stopped in good order at the end."""
        scheduler = self.scheduler(clock, agenda, room)
        task = asyncio.create_task(scheduler.run())
        try:
            yield scheduler
        finally:
            await scheduler.stop()
            await task

    def runs(self, job: JobRow) -> list[RunRow]:
        """Return a job's runs by due time."""
        found = [run for run in self.world.runs.values() if run.job_id == job.id]
        return sorted(found, key=lambda run: run.due_at)

    def dues(self, job: JobRow, state: RunState = RunState.QUEUED) -> list[float]:
        """Return the due times of a job's runs in a state, in seconds since the world began."""
        return [seconds(run.due_at) for run in self.runs(job) if run.state is state]


def seconds(instant: datetime) -> float:
    """Return an instant in seconds since the world began."""
    return (instant - START).total_seconds()


def after(seconds_: float) -> datetime:
    """Return an instant so many seconds after the world began."""
    return START + timedelta(seconds=seconds_)
