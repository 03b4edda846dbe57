"""Days of runs, in memory: sets of dates. See `domain.ports.upkeep`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, time, timedelta

from matins.domain.jobs.spec import JobState
from matins.domain.runs.restores import JITTER_MAX
from matins.testing.memory.changes import LOCK_S
from matins.testing.memory.world import JobRow, World, day_of

_DAY = timedelta(days=1)


class MemoryLocks:
    """See `domain.ports.upkeep.Locks`."""

    def __init__(self, world: World) -> None:
        self._world = world

    @asynccontextmanager
    async def alone(self, work: str) -> AsyncIterator[bool]:
        """See `domain.ports.upkeep.Locks`."""
        key = ("work", work)
        if self._world.locks.is_taken(key):
            yield False
            return
        lock = await self._world.locks.take(key, LOCK_S)
        try:
            yield True
        finally:
            lock.release()


class MemoryDayTables:
    """See `domain.ports.upkeep.DayTables`. Nobody ever has to wait for it here."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def today(self) -> date:
        """See `domain.ports.upkeep.DayTables`."""
        return day_of(self._world.now())

    async def make(self, first: date, last: date) -> None:
        """See `domain.ports.upkeep.DayTables`."""
        for number in range((last - first).days + 1):
            self._world.reach(first + number * _DAY)

    async def days_over(self) -> list[date]:
        """See `domain.ports.upkeep.DayTables`."""
        yesterday = day_of(self._world.now()) - _DAY
        return sorted(day for day in self._world.days if day < yesterday)

    async def detach(self, day: date) -> bool:
        """See `domain.ports.upkeep.DayTables`."""
        if day not in self._world.days or self._is_open(day):
            return False
        self._world.days.remove(day)
        self._world.past_days.add(day)
        return True

    async def past_days(self, before: date) -> list[date]:
        """See `domain.ports.upkeep.DayTables`."""
        return sorted(day for day in self._world.past_days if day < before)

    async def drop(self, day: date) -> None:
        """See `domain.ports.upkeep.DayTables`. A day that others have dropped stays so."""
        world = self._world
        if day not in world.past_days:
            return
        counting = {job.id for job in world.jobs.values() if counts_runs(job)}
        runs = [run for run in world.runs.values() if day_of(run.due_at) == day]
        for run in runs:
            if not world.dead_letters.has_open(run.id) and run.job_id not in counting:
                world.delete(run)
        world.past_days.remove(day)
        past = datetime.combine(day + _DAY, time.min, UTC)
        world.dropped_until = max(past, world.dropped_until or past)

    def _is_open(self, day: date) -> bool:
        runs, jobs = self._world.runs.values(), self._world.jobs.values()
        for restore in self._world.restores:
            begin = day_of(restore.lost_since - JITTER_MAX)
            if restore.resolved_at is None and begin <= day <= day_of(restore.seen_until):
                return True
        return any(run.finished_at is None and day_of(run.due_at) == day for run in runs) or any(
            job.state is JobState.ACTIVE and job.follows is not None and day_of(job.follows) == day
            for job in jobs
        )


def counts_runs(job: JobRow) -> bool:
    """Return whether all runs of a job count, however old: `max_runs` of what follows ends."""
    schedule = job.spec.schedule
    counts = schedule is not None and schedule.follows_end and schedule.max_runs is not None
    return counts and job.state is not JobState.DELETED
