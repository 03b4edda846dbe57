"""The state that all in-memory ports share: the rows of the database, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import heappush
from itertools import chain
from uuid import UUID

import msgspec

from matins.domain.audit import Revision
from matins.domain.executors.protocol import Heartbeat
from matins.domain.jobs.changes import timetable_of
from matins.domain.jobs.spec import PRIORITIES, JobSpec, JobState
from matins.domain.runs.ledger import unaccounted
from matins.domain.runs.states import Kind, Outcome, RunState
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.timetable import Timetable
from matins.domain.values.ids import PARTITIONS, partition_of, run_id, whole_ms


@dataclass(slots=True)
class JobRow:
    """A row of `jobs`."""

    id: UUID
    team: str
    spec: JobSpec
    partition: int
    timing: Timing
    changed_at: datetime
    team_id: int = 1
    revision: int = 1
    state: JobState = JobState.ACTIVE
    reason: str = ""
    next_due_at: datetime | None = None
    next_fire_at: datetime | None = None
    follows: datetime | None = None
    """The due time of the run whose end the next due time follows."""


@dataclass(slots=True)
class RunRow:
    """A row of `runs`."""

    id: UUID
    job_id: UUID
    due_at: datetime
    fire_at: datetime
    claimed_at: datetime
    epoch: int
    partition: int
    pool: str
    priority: int
    kind: Kind
    state: RunState
    reason: str = ""
    due_until: datetime | None = None
    due_count: int = 1
    attempt: int = 0
    lost_count: int = 0
    shared_losses: int = 0
    executor: UUID | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    retry_at: datetime | None = None
    cancel_at: datetime | None = None


@dataclass(slots=True)
class AttemptRow:
    """A row of `attempts`: an attempt that ended."""

    run_id: UUID
    number: int
    executor: UUID
    outcome: Outcome
    reason: str
    started_at: datetime | None
    finished_at: datetime


@dataclass(slots=True)
class PartitionRow:
    """A row of `partitions`."""

    epoch: int = 0
    holder: UUID | None = None
    watermark: datetime | None = None


@dataclass(slots=True)
class ExecutorRow:
    """A row of `executors`."""

    id: UUID
    name: str
    pools: list[str]
    slots: int
    heartbeat_at: datetime
    ended_at: datetime | None = None
    stopped: bool = False
    next_seq: int = 1
    undone: set[int] = field(default_factory=set)
    """Those polls below `next_seq` that may still get something."""

    def hear(self, heartbeat: Heartbeat) -> None:
        """Note which polls are done; what any heartbeat called done stays so: one may be late."""
        told = {*heartbeat.awaiting, *heartbeat.open}
        self.undone = {
            seq
            for seq in self.undone | told
            if (seq in told or seq >= heartbeat.next_seq)
            and (seq in self.undone or seq >= self.next_seq)
        }
        self.next_seq = max(self.next_seq, heartbeat.next_seq)

    def is_done(self, seq: int) -> bool:
        """Return whether a poll can get nothing more."""
        return seq < self.next_seq and seq not in self.undone


@dataclass
class World:
    """The database. `now` is its clock; each method of a port is one statement on it.

    `watchers` are told of every change of a run's state, with the state before; None for a new run.
    """

    now: Callable[[], datetime]
    jobs: dict[UUID, JobRow] = field(default_factory=dict)
    revisions: dict[UUID, list[Revision]] = field(default_factory=dict)
    runs: dict[tuple[UUID, datetime, Kind], RunRow] = field(default_factory=dict)
    runs_by_id: dict[UUID, RunRow] = field(default_factory=dict)
    attempts: dict[tuple[UUID, int], AttemptRow] = field(default_factory=dict)
    dead_letters: set[UUID] = field(default_factory=set)
    partitions: dict[int, PartitionRow] = field(
        default_factory=lambda: {number: PartitionRow() for number in range(PARTITIONS)}
    )
    leases: dict[UUID, datetime] = field(default_factory=dict)
    """By holder when its lease runs out."""
    executors: dict[UUID, ExecutorRow] = field(default_factory=dict)
    handouts: dict[tuple[UUID, int], list[UUID]] = field(default_factory=dict)
    queues: dict[str, list[tuple[int, datetime, UUID]]] = field(default_factory=dict)
    """By pool a heap of (priority, rank, run id)."""
    retries: dict[tuple[int, UUID], datetime] = field(default_factory=dict)
    """By (partition, run id) when the next attempt is due."""
    watchers: list[Callable[[RunRow, RunState | None], None]] = field(default_factory=list)
    era: int = 0
    """Rises when the database goes back in time."""
    rewound: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and replaced, with each new era."""

    def add_job(self, job_id: UUID, spec: JobSpec, team: str = "default") -> JobRow:
        """Save a new job, due from now on."""
        now = self.now()
        job = JobRow(job_id, team, spec, partition_of(job_id), Timing(now, now), now)
        self.jobs[job_id] = job
        self._plan(job)
        return job

    def change_job(
        self, job_id: UUID, *, spec: JobSpec | None = None, state: JobState | None = None
    ) -> JobRow:
        """Change a job from now on; what was due before and has no row is put down as skipped."""
        job = self.jobs[job_id]
        self._account(job)
        before = job.state, job.spec.schedule
        if spec is not None and spec.schedule != job.spec.schedule:
            job.timing = msgspec.structs.replace(job.timing, since=self.now())
        job.spec = spec or job.spec
        job.state = state or job.state
        self.revise(job, goes_on=before == (JobState.ACTIVE, job.spec.schedule))
        return job

    def revise(self, job: JobRow, *, goes_on: bool = False) -> None:
        """Write down what a job has become, and when it is due from now on.

        `goes_on`: it was active with the same schedule before.
        """
        job.revision += 1
        job.changed_at = self.now()
        self._plan(job, goes_on=goes_on)

    def cancel(self, run_id: UUID) -> None:
        """Ask for a run's end; one that does not run is cancelled at once."""
        run = self.runs_by_id[run_id]
        run.cancel_at = run.cancel_at or self.now()
        if run.state in (RunState.QUEUED, RunState.RETRYING):
            self.retries.pop((run.partition, run_id), None)
            run.retry_at = None
            run.finished_at = self.now()
            self.move(run, RunState.CANCELLED)

    def trigger(self, job_id: UUID) -> None:
        """Run a job now, beside its schedule; of two triggers in one millisecond one counts."""
        job, now = self.jobs[job_id], self.now()
        due = whole_ms(now)
        run = RunRow(
            id=run_id(job_id, due, Kind.MANUAL),
            job_id=job_id,
            due_at=due,
            fire_at=due,
            claimed_at=now,
            epoch=0,
            partition=job.partition,
            pool=job.spec.pool,
            priority=PRIORITIES[job.spec.priority],
            kind=Kind.MANUAL,
            state=RunState.QUEUED,
        )
        if self.insert(run):
            self.enqueue(run, now)

    def insert(self, run: RunRow) -> bool:
        """Insert a run unless (job, due time, kind) has its row; False if it has."""
        key = (run.job_id, run.due_at, run.kind)
        if key in self.runs:
            return False
        self.runs[key] = run
        self.runs_by_id[run.id] = run
        self._tell(run, None)
        return True

    def move(self, run: RunRow, state: RunState) -> None:
        """Change a run's state."""
        before, run.state = run.state, state
        self._tell(run, before)

    def enqueue(self, run: RunRow, rank: datetime) -> None:
        """Put a run on the dispatch queue."""
        heappush(self.queues.setdefault(run.pool, []), (run.priority, rank, run.id))

    def is_held(self, partition: int, holder: UUID, epoch: int) -> bool:
        """The fence: whether a lease is in force with this holder and epoch."""
        row = self.partitions[partition]
        return self.is_in_force(holder) and row.holder == holder and row.epoch == epoch

    def is_in_force(self, holder: UUID) -> bool:
        """Whether a scheduler's lease has not run out."""
        return holder in self.leases and self.leases[holder] > self.now()

    def newest_run(self, job_id: UUID) -> RunRow | None:
        """The scheduled run of a job with the latest due time."""
        return max(self.scheduled(job_id), key=lambda run: run.due_at, default=None)

    def scheduled(self, job_id: UUID) -> list[RunRow]:
        """The scheduled runs of a job."""
        runs = self.runs.values()
        return [it for it in runs if it.job_id == job_id and it.kind is Kind.SCHEDULED]

    def run_count(self, job: JobRow) -> int:
        """How many due times a job's schedule has had; counted only where it matters."""
        if job.spec.schedule is None or job.spec.schedule.max_runs is None:
            return 0
        since = job.timing.since
        return sum(it.due_at > since for it in self.scheduled(job.id))

    def _tell(self, run: RunRow, before: RunState | None) -> None:
        for watcher in self.watchers:
            watcher(run, before)

    def _account(self, job: JobRow) -> None:
        """Give a row to each due time up to now that has none."""
        timetable = timetable_of(job.spec, job.id, job.timing)
        since = job.changed_at if job.state is not JobState.ACTIVE else job.next_due_at
        if timetable is not None and timetable.following is not None:
            self._skip(job, timetable, self._owed(job, timetable))
            return
        if timetable is None or since is None:
            return
        if job.state is JobState.ACTIVE:
            since -= timedelta(seconds=1)
        now = self.now()
        rows = sorted((run.due_at, run.due_until) for run in self.scheduled(job.id))
        missing = unaccounted(timetable.due_between(since, now, 1_000_000), rows)
        self._skip(job, timetable, chain(*missing))

    def _owed(self, job: JobRow, timetable: Timetable) -> list[datetime]:
        """The due time that has passed, of a job that follows the ends of its runs."""
        if job.follows is None:
            return []
        due: datetime | None = job.follows
        run = self.runs.get((job.id, job.follows, Kind.SCHEDULED))
        if run is not None and run.finished_at is None:
            return []
        if run is not None and run.finished_at is not None:
            due = timetable.next_after_end(run.finished_at, self.run_count(job))
        until = self.now() if job.state is JobState.ACTIVE else job.changed_at
        return [due] if due is not None and due <= until else []

    def _skip(self, job: JobRow, timetable: Timetable, dues: Iterable[datetime]) -> None:
        now = self.now()
        for due in dues:
            run = RunRow(
                id=run_id(job.id, due, Kind.SCHEDULED),
                job_id=job.id,
                due_at=due,
                fire_at=timetable.fire_time(due),
                claimed_at=now,
                epoch=0,
                partition=job.partition,
                pool=job.spec.pool,
                priority=PRIORITIES[job.spec.priority],
                kind=Kind.SCHEDULED,
                state=RunState.SKIPPED,
                reason="changed" if job.state is JobState.ACTIVE else str(job.state),
                finished_at=now,
            )
            self.insert(run)

    def _plan(self, job: JobRow, *, goes_on: bool = False) -> None:
        job.next_due_at = job.next_fire_at = None
        revision = Revision(self.now(), job.state, job.timing, job.spec)
        self.revisions.setdefault(job.id, []).append(revision)
        if job.state is JobState.PAUSED:
            job.follows = None
        if job.state is not JobState.ACTIVE:
            return
        timetable = timetable_of(job.spec, job.id, job.timing)
        if timetable is not None and timetable.following is not None:
            job.next_due_at = self._await(job, timetable, goes_on=goes_on)
        else:
            job.next_due_at = timetable.next_after(self.now()) if timetable else None
            job.follows = None
        if timetable and job.next_due_at:
            job.next_fire_at = timetable.fire_time(job.next_due_at)

    def _await(self, job: JobRow, timetable: Timetable, *, goes_on: bool) -> datetime | None:
        """Choose what a job awaits that follows the ends of its runs; gives its next due time."""
        if goes_on and (job.follows is None or job.follows > self.now()):
            return job.follows
        newest = self.newest_run(job.id)
        if newest is not None and (goes_on or newest.finished_at is None):
            job.follows = newest.due_at
            return None
        job.follows = timetable.next_after_end(self.now(), self.run_count(job))
        return job.follows
