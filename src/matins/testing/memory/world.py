"""The state that all in-memory ports share: the rows of the database, and no more."""

from __future__ import annotations

import asyncio
from bisect import insort
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from heapq import heapify, heappush
from operator import attrgetter
from uuid import UUID

from matins.domain.audit import Revision
from matins.domain.jobs.authors import NOBODY, Author
from matins.domain.jobs.pausing import NO_END, Pause
from matins.domain.jobs.revisions import JobRevision, first_revision
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.runs.admission.waiting import CLAIM, Rules
from matins.domain.runs.ranking import PoolSeen, rank_at
from matins.domain.runs.restores import Restore
from matins.domain.runs.states import Kind, RunState
from matins.domain.timetables.compiling import Timing
from matins.domain.timetables.next_due import INSTANT
from matins.domain.upkeep.retention import Walk
from matins.domain.values.ids import partition_of
from matins.testing.memory.alert_rows import AlertTables
from matins.testing.memory.gates import Gates
from matins.testing.memory.hints import MemoryHints
from matins.testing.memory.locks import KeyLocks
from matins.testing.memory.rows import (
    BackfillRow,
    CalendarRow,
    ExecutorRow,
    LetterRows,
    PartitionRow,
    ReplayRow,
    RunRow,
    StoredAttempt,
    TriggerKeyRow,
    WaitingRow,
    all_partitions,
)


@dataclass(slots=True)
class JobRow:
    """A row of `jobs`."""

    id: UUID
    team: str
    spec: JobSpec
    partition: int
    timing: Timing
    created_at: datetime
    changed_at: datetime
    open_since: datetime
    team_id: int = 1
    calendars: tuple[int, ...] = ()
    revision: int = 1
    state: JobState = JobState.ACTIVE
    reason: str = ""
    next_due_at: datetime | None = None
    next_fire_at: datetime | None = None
    follows: datetime | None = None
    """The due time of the run whose end the next due time follows."""
    woken: datetime | None = None
    """From when on rows of its leader were brought back while it was being changed."""
    pause: Pause = NO_END
    author: Author = NOBODY
    """Who changed it last."""
    is_asked: bool = False
    """Whether each claim of it is asked about."""
    gates: tuple[int, ...] = ()
    """The gates that its spec names."""


@dataclass
class World:
    """The database. `now` is its clock; each method of a port is one statement on it.

    `watchers` are told of every change of a run's state, with the state before; None for a new run.
    """

    now: Callable[[], datetime]
    teams: dict[str, int] = field(default_factory=dict)
    calendars: dict[int, CalendarRow] = field(default_factory=dict)
    jobs: dict[UUID, JobRow] = field(default_factory=dict)
    revisions: dict[UUID, list[Revision]] = field(default_factory=dict)
    runs: dict[tuple[UUID, datetime, Kind], RunRow] = field(default_factory=dict)
    runs_by_id: dict[UUID, RunRow] = field(default_factory=dict)
    runs_by_job: dict[UUID, list[RunRow]] = field(default_factory=dict)
    """By job its runs, in the order of their due times."""
    attempts: dict[tuple[UUID, int], StoredAttempt] = field(default_factory=dict)
    trigger_keys: dict[tuple[UUID, str], TriggerKeyRow] = field(default_factory=dict)
    """By job and idempotency key the run that was made with it."""
    restores: list[Restore] = field(default_factory=list)
    """Those that were noticed, the newest last."""
    dead_letters: LetterRows = field(default_factory=LetterRows)
    replays: dict[UUID, ReplayRow] = field(default_factory=dict)
    alerts: AlertTables = field(default_factory=AlertTables)
    partitions: dict[int, PartitionRow] = field(default_factory=all_partitions)
    leases: dict[UUID, datetime] = field(default_factory=dict)
    leaving: set[UUID] = field(default_factory=set)
    """By holder when its lease runs out, and which of them are about to end."""
    executors: dict[UUID, ExecutorRow] = field(default_factory=dict)
    handouts: dict[tuple[UUID, int], list[UUID]] = field(default_factory=dict)
    queues: dict[str, list[tuple[int, UUID]]] = field(default_factory=dict)
    """By pool a heap of (rank, run id)."""
    pools: dict[str, PoolSeen] = field(default_factory=dict)
    weights: dict[int, int] = field(default_factory=dict)
    """By team its share of each pool, where it is not 1."""
    waiting: dict[tuple[int, UUID], WaitingRow] = field(default_factory=dict)
    """By (partition, run id)."""
    links_again: set[tuple[int, UUID, datetime]] = field(default_factory=set)
    """By (partition, job, due time) what a chain has skipped because of a run that was replayed."""
    backfills: dict[UUID, BackfillRow] = field(default_factory=dict)
    rules: dict[int, Rules] = field(default_factory=dict)
    """By team what may hold its runs."""
    gates: Gates = field(default_factory=Gates)
    zone_data: tuple[str | None, datetime | None] = (None, None)
    """The version with which next due times were computed last, and when."""
    days: set[date] = field(default_factory=set)
    past_days: set[date] = field(default_factory=set)
    """The days of due times in which something may still happen, and those in the history."""
    dropped_until: datetime | None = None
    """Days before it are gone."""
    purges: dict[UUID, tuple[datetime, datetime]] = field(default_factory=dict)
    """By job up to when single runs are gone: those that succeeded, and the others."""
    walk: Walk = field(default_factory=Walk)
    watchers: list[Callable[[RunRow, RunState | None], None]] = field(default_factory=list)
    locks: KeyLocks = field(default_factory=KeyLocks)
    hints: MemoryHints = field(default_factory=MemoryHints)
    """What statements tell is heard here."""
    era: int = 0
    """Rises when the database goes back in time."""
    rewound: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and replaced, with each new era."""

    def add_job(self, job_id: UUID, spec: JobSpec, team: str = "default") -> JobRow:
        """Save a new job, due from now on."""
        return self.insert_job(job_id, team, first_revision(job_id, spec, self.now()))

    def insert_job(self, job_id: UUID, team: str, first: JobRevision) -> JobRow:
        """Insert a job with its first revision, and its team on first use."""
        job = JobRow(
            id=job_id,
            team=team,
            spec=first.spec,
            partition=partition_of(job_id),
            timing=first.timing,
            created_at=first.at,
            changed_at=first.at,
            team_id=self.teams.setdefault(team, len(self.teams) + 1),
            revision=0,
            open_since=first.at,
        )
        self.jobs[job_id] = job
        self.revise(job, first)
        return job

    def revise(self, job: JobRow, revision: JobRevision) -> None:
        """Write what a job becomes."""
        job.revision += 1
        former = job.spec.concurrency.key if job.spec.concurrency else ""
        job.spec, job.state, job.reason = revision.spec, revision.state, revision.reason
        job.timing, job.calendars, job.changed_at = revision.timing, revision.calendars, revision.at
        job.next_due_at, job.next_fire_at, job.follows = revision.next_due
        if job.woken is not None and job.follows is not None:
            job.follows = min(job.follows, job.woken)
        job.woken = None
        job.pause, job.author = revision.pause, revision.author
        kept = Revision(revision.at, revision.state, revision.timing, revision.spec)
        self.revisions.setdefault(job.id, []).append(kept)
        self.enter_gates(job, former)
        if job.state is JobState.ACTIVE:
            self.wake_chains(job, job.next_due_at or job.follows)

    def wake_chains(self, job: JobRow, since: datetime | None) -> None:
        """Rows of a job may be due from then on: so may those of the chains that it leads."""
        for led in self.jobs.values():
            is_led = led.spec.upstream[:1] == [job.spec.name] and led.team == job.team
            if since is not None and is_led and led.state is not JobState.DELETED:
                first = max(since, led.timing.since + INSTANT)
                led.follows = min(led.follows or first, first)
                led.open_since = min(led.open_since, first)
                if self.locks.is_taken(led.id):  # it waits for a change that is under way
                    led.woken = min(led.woken or first, first)
                self.wake_chains(led, since)

    def link_again(self, job: JobRow, due_at: datetime) -> None:
        """Let what follows a job be decided anew for a due time."""
        for led in self.jobs.values():
            is_following = job.spec.name in led.spec.upstream and led.team == job.team
            if is_following and led.state is not JobState.DELETED:
                self.links_again.add((led.partition, led.id, due_at))

    def enter_gates(self, job: JobRow, former: str = "") -> None:
        """Write a job's limits to its gates; what of it has begun holds permits of them."""
        self.gates.enter(job, former, self.jobs.values(), self.runs.values())

    def give_back(self, run: RunRow) -> None:
        """Give back the permits of a run whose attempt has ended; tell where somebody waits."""
        if run.holds_permits:
            self.tell_of_room(self.gates.give_back(run.id))

    def tell_of_room(self, gate_ids: Iterable[int]) -> None:
        """Tell those who ask that there is room, at gates that have a line."""
        lined = {row.gate_id for row in self.waiting.values()}
        self.hints.tell("admission", [f"gate:{gate}" for gate in gate_ids if gate in lined])

    def find_job(self, team: str, name: str) -> JobRow | None:
        """Return the job of a name that is not deleted."""
        for job in self.jobs.values():
            if (job.team, job.spec.name) == (team, name) and job.state is not JobState.DELETED:
                return job
        return None

    def find_calendar(self, team: str, name: str) -> CalendarRow | None:
        """Return the current version of a calendar."""
        for row in self.calendars.values():
            if (row.team, row.written.name) == (team, name) and row.replaced_at is None:
                return row
        return None

    def cancel_waiting(self, run: RunRow, reason: str) -> None:
        """Cancel a run at once that waits, for an executor or in the waiting room."""
        if run.state in (RunState.WAITING, RunState.QUEUED, RunState.RETRYING):
            self.waiting.pop((run.partition, run.id), None)
            run.retry_at, run.reason, run.finished_at = None, reason, self.now()
            run.cancel_at = run.cancel_at or self.now()
            self.give_back(run)
            self.move(run, RunState.CANCELLED)

    def insert(self, run: RunRow) -> bool:
        """Insert a run unless (job, due time, kind) has its row; False if it has."""
        if run.key in self.runs:
            return False
        self.runs[run.key] = run
        self.runs_by_id[run.id] = run
        insort(self.runs_by_job.setdefault(run.job_id, []), run, key=attrgetter("due_at"))
        self.reach(day_of(run.due_at))
        self._tell(run, None)
        return True

    def delete(self, run: RunRow) -> None:
        """Delete a run that is over, with its attempts and a place on the queue that it left."""
        del self.runs[run.key], self.runs_by_id[run.id]
        self.runs_by_job[run.job_id].remove(run)
        self.dead_letters.forget(run.id)
        for number in range(1, run.attempt + 1):
            self.attempts.pop((run.id, number), None)
        self.dequeue(run.id)

    def reach(self, day: date) -> None:
        """Have a day among those in which something may still happen."""
        self.past_days.discard(day)
        self.days.add(day)

    def purged_until(self, job_id: UUID) -> datetime | None:
        """Return up to when rows of a job may have been purged; None if none was."""
        dropped = [self.dropped_until] if self.dropped_until else []
        return max([*dropped, *self.purges.get(job_id, ())], default=None)

    def move(self, run: RunRow, state: RunState) -> None:
        """Change a run's state."""
        before, run.state = run.state, state
        self._tell(run, before)

    def enqueue(self, run: RunRow, rank: int | None) -> None:
        """Put a run on the dispatch queue, by a rank or by the time now."""
        run.rank = rank_at(self.now(), run.priority) if rank is None else rank
        heappush(self.queues.setdefault(run.pool, []), (run.rank, run.id))

    def is_gated(self, job_id: UUID) -> bool:
        """Return whether the runs of a job pass gates."""
        job = self.jobs[job_id]
        return bool(job.gates or self.gates.limit_team(job.team_id))

    def place(self, run: RunRow) -> None:
        """Put a run that was just made where it belongs by its state."""
        if run.state is RunState.QUEUED:
            self.enqueue(run, None)
        if run.state is RunState.WAITING:
            self.wait(run, self.now(), CLAIM)

    def dequeue(self, run_id: UUID) -> bool:
        """Delete a run's place on the dispatch queue; False if it has none."""
        for queue in self.queues.values():
            for place in queue:
                if place[1] == run_id:
                    queue.remove(place)
                    heapify(queue)
                    return True
        return False

    def wait(
        self,
        run: RunRow,
        ready_at: datetime,
        cause: str,
        *,
        blocker: str = "",
        asked: int | None = None,
        line: tuple[int | None, int | None, int | None] = (None, None, None),
    ) -> None:
        """Put a run into the waiting room; `line`: a gate, the place in its line, `let_in`."""
        team_id = self.jobs[run.job_id].team_id
        row = WaitingRow(ready_at, team_id, cause, blocker, asked, *line)
        self.waiting[run.partition, run.id] = row

    def rules_of(self, team_id: int) -> Rules:
        """Return what may hold a team's runs."""
        return self.rules.get(team_id, Rules(0))

    def is_held(self, partition: int, holder: UUID, epoch: int) -> bool:
        """Return the fence: whether a lease is in force with this holder and epoch."""
        return bool(self.fence(holder, {partition: epoch}))

    def fence(self, holder: UUID, epochs: Mapping[int, int]) -> set[int]:
        """Return those partitions that are under lease with this holder and epoch."""
        held = {n for n, epoch in epochs.items() if self.partitions[n].is_under(holder, epoch)}
        return held if self.is_in_force(holder) else set()

    def is_in_force(self, holder: UUID) -> bool:
        """Return whether a scheduler's lease has not run out."""
        return holder in self.leases and self.leases[holder] > self.now()

    def scheduled(self, job_id: UUID) -> list[RunRow]:
        """Return the scheduled runs of a job."""
        return [run for run in self.runs_by_job.get(job_id, []) if run.kind is Kind.SCHEDULED]

    def run_count(self, job: JobRow) -> int:
        """Return how many due times a job's schedule has had; counted only where it matters."""
        if job.spec.schedule is None or job.spec.schedule.max_runs is None:
            return 0
        return self.count_runs(job.id, job.timing.since)

    def count_runs(self, job_id: UUID, since: datetime) -> int:
        """Return how many scheduled runs of a job have due times after an instant."""
        return sum(run.due_at > since for run in self.scheduled(job_id))

    def _tell(self, run: RunRow, before: RunState | None) -> None:
        for watcher in self.watchers:
            watcher(run, before)


def day_of(instant: datetime) -> date:
    """Return the day of an instant, in UTC."""
    return instant.astimezone(UTC).date()
