"""Changes of jobs in memory, isolated as in PostgreSQL. See `domain.ports.jobs`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar
from uuid import UUID

from matins.domain.jobs.changes import LockedJob
from matins.domain.jobs.limits import JobQuota
from matins.domain.jobs.revisions import JobRevision
from matins.domain.jobs.spec import PRIORITIES, JobSpec, JobState
from matins.domain.ports.jobs import CalendarVersion, JobTransaction
from matins.domain.runs.chains import LeaderRow, LeaderRows
from matins.domain.runs.claims import Claim
from matins.domain.runs.following import RecordedRun
from matins.domain.runs.states import Kind, RunState
from matins.domain.timetables.next_due import NextDue
from matins.domain.values.errors import UnavailableError
from matins.testing.memory.chains import (
    due_from,
    followers,
    is_settled,
    leader_runs,
    leaders_of,
    min_of,
)
from matins.testing.memory.job_rows import locked_job, names_of, pauses_over
from matins.testing.memory.open_runs import insert_recorded, revise
from matins.testing.memory.revisions import unfinished_backfill
from matins.testing.memory.rows import RunRow
from matins.testing.memory.world import World

LOCK_S = 4.0
"""How long a transaction waits for a lock."""

IDLE_S = 4.8
"""How long it may do nothing before the database undoes it: who stands still keeps others waiting.
"""

_WAITING = (RunState.WAITING, RunState.QUEUED, RunState.RETRYING)
_T = TypeVar("_T")


class MemoryJobChanges:
    """See `domain.ports.jobs.JobChanges`."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def transact(
        self, step: Callable[[JobTransaction], Awaitable[_T]], *, dry_run: bool = False
    ) -> _T:
        """See `domain.ports.jobs.JobChanges`."""
        tx = self.begin()
        try:
            result = await step(tx)
            if not dry_run:
                tx.commit()
        finally:
            tx.end()
        return result

    def begin(self) -> MemoryTransaction:
        """Begin a transaction."""
        return MemoryTransaction(self._world)

    async def select(
        self, team: str, labels: Mapping[str, str], after: str, limit: int
    ) -> list[str]:
        """See `domain.ports.jobs.JobChanges`."""
        return names_of(self._world, team, labels, after)[:limit]

    async def ended_pauses(
        self, besides: Collection[UUID], limit: int
    ) -> list[tuple[UUID, str, str]]:
        """See `domain.ports.jobs.JobChanges`."""
        return pauses_over(self._world, besides)[:limit]


class MemoryTransaction:
    """See `domain.ports.jobs.JobTransaction`. What it writes is done when it commits."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._era = world.era
        self._locks: list[asyncio.Lock] = []
        self._writes: list[Callable[[], None]] = []
        self._runs: list[RunRow] = []
        self._ended = False
        self._idle = asyncio.get_running_loop().call_later(IDLE_S, self.end)

    def commit(self) -> None:
        """Do all that was written, at once. Raises UnavailableError if it was undone before."""
        self._go_on()
        for write in self._writes:
            write()

    def end(self) -> None:
        """Free all that it has locked; what was not committed is undone."""
        self._ended = True
        self._idle.cancel()
        while self._locks:
            self._locks.pop().release()

    async def now(self) -> datetime:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        return self._world.now()

    async def lock_job(self, team: str, name: str) -> LockedJob | None:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        while job := self._world.find_job(team, name):
            await self._lock(job.id)
            if self._world.find_job(team, name) is job:
                return locked_job(self._world, job)
        return None

    async def current_calendars(
        self, team: str, names: Sequence[str]
    ) -> Mapping[str, CalendarVersion]:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        await self._lock(("calendars", team))
        rows = [self._world.find_calendar(team, name) for name in names]
        return {row.written.name: CalendarVersion(row.id, row.closures) for row in rows if row}

    async def stopped_since(self, job: LockedJob) -> datetime | None:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        since = None
        for revision in reversed(self._world.revisions[job.id]):
            if (revision.state, revision.spec.schedule) != (job.state, job.spec.schedule):
                break
            since = revision.effective_at
        return since

    async def newest_run(self, job_id: UUID) -> RecordedRun | None:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        runs = self._scheduled(job_id)
        return recorded(max(runs, key=lambda run: run.due_at)) if runs else None

    async def purged_until(self, job_id: UUID) -> datetime | None:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        return self._world.purged_until(job_id)

    async def runs_between(
        self, job_id: UUID, since: datetime, until: datetime
    ) -> list[RecordedRun]:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        runs = [run for run in self._scheduled(job_id) if since <= run.due_at <= until]
        return [recorded(run) for run in sorted(runs, key=lambda run: run.due_at)]

    async def count_runs(self, job_id: UUID, since: datetime) -> int:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        return sum(run.due_at > since for run in self._scheduled(job_id))

    async def record(self, job: LockedJob, claims: Sequence[Claim], at: datetime) -> set[UUID]:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        made = set()
        for claim in claims:
            run = _run(job, claim, at)
            if run.key in self._world.runs or any(other.key == run.key for other in self._runs):
                continue
            await self._lock(run.key)
            self._runs.append(run)
            self._writes.append(partial(insert_recorded, self._world, run))
            made.add(run.id)
        if claims:
            since = min(claim.due_at for claim in claims)
            self._writes.append(lambda: self._world.wake_chains(self._world.jobs[job.id], since))
        return made

    async def lock_chains(self, team: str) -> None:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        await self._lock(("chains", team))

    async def upstream(self, team: str, names: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        upstream: dict[str, Sequence[str]] = {}
        pending = list(names)
        while pending:
            name = pending.pop()
            job = self._world.find_job(team, name)
            if job is not None and name not in upstream:
                upstream[name] = job.spec.upstream
                pending += upstream[name]
        return upstream

    async def downstream(self, team: str, name: str) -> list[str]:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        return sorted(job.spec.name for job in followers(self._world, team, name))

    async def leader_rows(
        self, job: LockedJob, after: datetime, until: datetime, limit: int
    ) -> LeaderRows:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        leaders = leaders_of(self._world, job.team, job.spec.upstream[0])
        runs = [
            run
            for leader in leaders
            for run in leader_runs(self._world, leader)
            if after < run.due_at <= until
        ]
        own = [run for run in self._runs if run.job_id == job.id]
        rows = [
            LeaderRow(
                run.due_at,
                run.due_until,
                run.due_count,
                is_manual=run.kind is Kind.MANUAL,
                is_settled=is_settled(self._world, job.id, run, own),
            )
            for run in sorted(runs, key=lambda run: run.due_at)
        ]
        return LeaderRows(rows[:limit], min_of(due_from(leader) for leader in leaders))

    async def advance(self, job_id: UUID, next_due: NextDue) -> None:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()

        def write() -> None:
            job = self._world.jobs[job_id]
            job.next_due_at, job.next_fire_at, _ = next_due

        self._writes.append(write)

    async def job_quota(self, team: str) -> JobQuota | None:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        gates, team_id = self._world.gates, self._world.teams.get(team, 0)
        max_jobs = gates.max_jobs.get(team_id)
        if max_jobs is None and gates.max_jobs_default is None:
            return None
        await self._lock(("team", team))
        jobs = [job for job in self._world.jobs.values() if job.team == team]
        alive = sum(job.state is not JobState.DELETED for job in jobs)
        return JobQuota(max_jobs if max_jobs is not None else gates.max_jobs_default or 0, alive)

    async def insert_job(self, job_id: UUID, team: str, revision: JobRevision) -> bool:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        await self._lock(("job", team, revision.spec.name))
        if self._world.find_job(team, revision.spec.name):
            return False
        self._writes.append(partial(self._insert_job, job_id, team, revision))
        return True

    async def spec_of(self, job: LockedJob, revision: int) -> JobSpec | None:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        kept = self._world.revisions[job.id]
        index = revision - 1 - (job.revision - len(kept))
        return kept[index].spec if 0 <= index < len(kept) else None

    async def write_revision(self, job: LockedJob, revision: JobRevision) -> None:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        self._writes.append(partial(revise, self._world, job.id, revision))

    async def cancel_waiting(self, job: LockedJob) -> int:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        runs = [run for run in self._world.runs.values() if run.job_id == job.id]
        waiting = [run for run in runs if run.state in _WAITING]

        def write() -> None:
            for run in waiting:
                self._world.cancel_waiting(run, "its job was deleted")

        self._writes.append(write)
        return len(waiting)

    async def has_unfinished_runs(self, job_id: UUID) -> bool:
        """See `domain.ports.jobs.JobTransaction`."""
        self._go_on()
        runs = self._world.runs.values()
        return unfinished_backfill(self._world, job_id) is not None or any(
            run.job_id == job_id and run.finished_at is None for run in runs
        )

    def _go_on(self) -> None:
        """Begin a statement. Raises UnavailableError once the transaction was undone."""
        if self._ended or self._era != self._world.era:
            raise UnavailableError("the transaction was undone")
        self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(LOCK_S + IDLE_S, self.end)

    async def _lock(self, key: Hashable) -> None:
        """Take a lock until the end."""
        lock = await self._world.locks.take(key, LOCK_S)
        if self._ended or self._era != self._world.era:
            lock.release()
            raise UnavailableError("the transaction was undone")
        self._locks.append(lock)

    def _scheduled(self, job_id: UUID) -> list[RunRow]:
        """Return the scheduled runs of a job, those of this transaction too."""
        return [
            *self._world.scheduled(job_id),
            *(r for r in self._runs if r.job_id == job_id and r.kind is Kind.SCHEDULED),
        ]

    def _insert_job(self, job_id: UUID, team: str, revision: JobRevision) -> None:
        self._world.insert_job(job_id, team, revision)


def recorded(run: RunRow) -> RecordedRun:
    """Return what a row of the ledger says of its due times."""
    return RecordedRun(run.due_at, run.due_until, run.finished_at)


def _run(job: LockedJob, claim: Claim, at: datetime) -> RunRow:
    return RunRow(
        id=claim.run_id,
        job_id=job.id,
        due_at=claim.due_at,
        fire_at=claim.fire_at,
        claimed_at=at,
        epoch=0,
        partition=job.partition,
        pool=job.spec.pool,
        priority=PRIORITIES[job.spec.priority],
        kind=claim.kind,
        state=claim.state,
        reason=claim.reason,
        due_until=claim.due_until,
        due_count=claim.due_count,
        finished_at=at if claim.state is RunState.SKIPPED else None,
    )
