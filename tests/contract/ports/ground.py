"""The ports on memory and on PostgreSQL, with one virtual clock: one suite that both must pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import NamedTuple, Protocol
from uuid import UUID, uuid4

import msgspec
from tests.contract.alerts.ports import AlertPorts, memory_alerts, postgres_alerts

from matins.domain.audit import AuditedJob, AuditSpan, LedgerRow, audit
from matins.domain.chain_audit import with_chain
from matins.domain.jobs.keeping import DAYS
from matins.domain.jobs.retry import Backoff, RetryPolicy
from matins.domain.jobs.spec import PRIORITIES, JobSpec, JobState
from matins.domain.jobs.targets import HttpTarget, Target
from matins.domain.jobs.windows import Window
from matins.domain.ports import Agenda, Dispatch, Hints, Leases, WaitingRoom, Watch
from matins.domain.ports.backfills import BackfillSteps
from matins.domain.ports.calendars import CalendarChanges
from matins.domain.ports.dead import Replays
from matins.domain.ports.jobs import JobChanges
from matins.domain.ports.pools import Queues
from matins.domain.ports.restores import RestoreMarks
from matins.domain.ports.upkeep import (
    DayTables,
    EndedJobs,
    Leftovers,
    Locks,
    NextDueTimes,
    Retention,
    RunRepairs,
)
from matins.domain.runs.admission.deciding import decide
from matins.domain.runs.admission.open_runs import OpenRuns
from matins.domain.runs.admission.waiting import AdmissionFacts, CarriedOut, Rules, Waiting
from matins.domain.runs.claims import BEGINNING, Advance, Claim
from matins.domain.schedules.schedule import Schedule
from matins.domain.values.ids import partition_of, run_id
from matins.domain.views import JobAudit
from matins.owners.owners import Owners, owners_on
from matins.roles.owners import postgres_owners
from matins.store.agenda import PostgresAgenda
from matins.store.audits import PostgresAudits
from matins.store.auto_delete import PostgresEndedJobs
from matins.store.backfills import PostgresBackfills
from matins.store.calendars import PostgresCalendars
from matins.store.changes import PostgresJobChanges
from matins.store.database import Database
from matins.store.day_tables import PostgresDayTables
from matins.store.dispatch import PostgresDispatch
from matins.store.healing import PostgresRepairs
from matins.store.hints import PostgresHints
from matins.store.leases import PostgresLeases
from matins.store.leftovers import PostgresLeftovers
from matins.store.locks import PostgresLocks
from matins.store.pools import PostgresQueues
from matins.store.queries import Query
from matins.store.replays import PostgresReplays
from matins.store.restores import PostgresRestores
from matins.store.retention import PostgresRetention
from matins.store.timings import KnownCalendars
from matins.store.waiting import PostgresWaitingRoom
from matins.store.watch import PostgresWatch
from matins.store.zone_data import PostgresNextDueTimes
from matins.testing.chain_ledger import audit_links
from matins.testing.memory.agenda import MemoryAgenda
from matins.testing.memory.backfills import MemoryBackfills
from matins.testing.memory.calendars import MemoryCalendars
from matins.testing.memory.changes import MemoryJobChanges
from matins.testing.memory.days import MemoryDayTables, MemoryLocks
from matins.testing.memory.dead import MemoryDeadLetters, MemoryReplays
from matins.testing.memory.dispatch import MemoryDispatch, MemoryWatch
from matins.testing.memory.due_times import MemoryEndedJobs, MemoryNextDueTimes
from matins.testing.memory.leases import MemoryLeases
from matins.testing.memory.limits import MemoryLimits
from matins.testing.memory.pools import MemoryQueues
from matins.testing.memory.repairs import MemoryRepairs
from matins.testing.memory.restores import MemoryRestores
from matins.testing.memory.retention import MemoryLeftovers, MemoryRetention
from matins.testing.memory.runs import MemoryRunChanges
from matins.testing.memory.waiting import MemoryWaitingRoom
from matins.testing.memory.windows import MemoryWindows
from matins.testing.memory.world import World

START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
SPEC = JobSpec(
    name="job",
    target=Target(http=HttpTarget(url="http://127.0.0.1:9/")),
    schedule=Schedule(every="1m"),
    overlap="allow",
    retry=RetryPolicy(attempts=2, backoff=Backoff(initial="10s", jitter="none")),
)

SEED = 1
"""Draws the same ids of new jobs on both sides."""

_WRITER = uuid4()


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.instant = START

    def now(self) -> datetime:
        """Return the time."""
        return self.instant

    def move(self, seconds: float) -> None:
        """Go on by so many seconds."""
        self.instant += timedelta(seconds=seconds)


class Row(NamedTuple):
    """A run: its due time in seconds since `START`, state, reason, and how many due times."""

    due_s: float
    state: str
    reason: str = ""
    due_count: int = 1
    kind: str = "scheduled"


class GateSeen(NamedTuple):
    """A gate, its limit, and how many permits are taken of it."""

    key: str
    limit: int | None
    taken: int
    is_set: bool


class LetterSeen(NamedTuple):
    """A dead letter; who dismissed it is None while it is open."""

    run: UUID
    dead_at: datetime
    error: str
    fingerprint: str
    dismissed_by: str | None
    note: str


class Rows(Protocol):
    """What a test does beside the ports: what owners do."""

    async def add_job(self, job: UUID, spec: JobSpec) -> None:
        """Save a job whose next due time is now."""

    async def cancel(self, run: UUID) -> None:
        """Ask for the end of a running run."""

    async def delete(self, job: UUID) -> None:
        """Delete a job without a look at its runs."""

    async def revise(self, job: UUID) -> None:
        """Count a job's revision up, as a change does."""

    async def runs(self, job: UUID) -> list[Row]:
        """Return a job's rows, in the order of their due times."""

    async def lose_place(self, run: UUID) -> bool:
        """Delete a run's place on the dispatch queue; False if it has none."""

    async def lose_wait(self, run: UUID) -> bool:
        """Delete a run's place in the waiting room; False if it has none."""

    async def lose_handouts(self, executor: UUID) -> None:
        """Delete what was handed out to an executor."""

    async def lose_executor(self, executor: UUID) -> None:
        """Delete an executor."""

    async def put_windows(self, *windows: Window) -> None:
        """Let these be the windows of the team."""

    async def told_by_older_data(self, job: UUID, next_due: datetime, version: str) -> None:
        """Let a job have a next due time as other zone data would have it, of that version."""

    async def audit(self, job: UUID, until: datetime) -> JobAudit:
        """Audit the default team's job from `START`."""

    async def gates(self) -> list[GateSeen]:
        """Return all gates, by kind and name."""

    async def gate_names(self) -> dict[int, str]:
        """Return the kinds and names of all gates by their ids, which differ by side."""

    async def name_of(self, job: UUID) -> str:
        """Return a job's name."""

    async def lose_permits(self, run: UUID) -> None:
        """Delete what a run holds."""

    async def respec(self, job: UUID, spec: JobSpec) -> None:
        """Let a job have another spec, at the same revision."""

    async def permits(self) -> set[tuple[str, UUID]]:
        """Return all permits: the kind of the gate, and the run."""

    async def letters(self) -> list[LetterSeen]:
        """Return all dead letters, in the order of the due times of their runs."""

    async def fingerprints(self) -> list[str | None]:
        """Return those of all attempts that ended, in the order in which they began."""

    async def count(self, table: str) -> int:
        """Return how many rows there are of attempts, executors, handouts or revisions."""


@dataclass
class Ground:
    """One implementation of every port, over the same rows."""

    clock: Clock
    leases: Leases
    agenda: Agenda
    room: WaitingRoom
    dispatch: Dispatch
    watch: Watch
    backfills: BackfillSteps
    repairs: RunRepairs
    ended_jobs: EndedJobs
    due_times: NextDueTimes
    locks: Locks
    days: DayTables
    retention: Retention
    leftovers: Leftovers
    restores: RestoreMarks
    replays: Replays
    queues: Queues
    hints: Hints
    rows: Rows
    changes: JobChanges
    calendars: CalendarChanges
    owners: Owners
    alerts: AlertPorts

    async def all_leases(self, holder: UUID) -> dict[int, int]:
        """Hold every partition for an hour."""
        return await self.leases.acquire(holder, 256, 3600)

    async def waiting(self, *jobs: UUID) -> list[Waiting]:
        """Return what is to be asked about by now of the partitions of these jobs, or of all."""
        partitions = [partition_of(job) for job in jobs] or range(256)
        return await self.room.load_waiting(
            dict.fromkeys(partitions, BEGINNING), self.clock.now(), 9
        )

    async def admit(
        self, holder: UUID, epochs: Mapping[int, int], batch: Sequence[Waiting]
    ) -> CarriedOut:
        """Decide about runs that wait, and carry it out."""
        facts = await self.facts(batch)
        return await self.room.carry_out(holder, epochs, decide(batch, facts))

    async def facts(self, batch: Sequence[Waiting]) -> AdmissionFacts:
        """Return what admission must know of runs, with all that is unfinished of their jobs."""
        facts = await self.room.admission_facts(batch)
        minding = [run for run in facts.candidates.values() if run.minds_others]
        found = await self.room.open_runs({run.job_id: OpenRuns(run.open_since) for run in minding})
        return msgspec.structs.replace(facts, open_runs=found)

    async def advance(self, *advances: Advance) -> None:
        """Write next due times, as a scheduler does that has a lease."""
        await self.leases.renew(_WRITER, {}, None, 3600)
        await self.agenda.advance(_WRITER, advances)


def claim(job: UUID, due: datetime, revision: int = 1, **fields: object) -> Claim:
    """Return the claim of one due time of a job made with `SPEC`."""
    given = Claim(
        run_id=run_id(job, due, "scheduled"),
        job_id=job,
        revision=revision,
        partition=partition_of(job),
        pool="default",
        due_at=due,
        fire_at=due,
    )
    return msgspec.structs.replace(given, **fields)


def advance(job: UUID, due: datetime, revision: int = 1) -> Advance:
    """Return the next due time of a job; each before it has its row."""
    return Advance(job, revision, due, due, due - timedelta(seconds=1))


def _seconds(instant: datetime) -> float:
    return (instant - START).total_seconds()


class MemoryRows:
    """Owners' deeds in a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def add_job(self, job: UUID, spec: JobSpec) -> None:
        """See `Rows`."""
        row = self._world.add_job(job, spec)
        row.next_due_at = row.next_fire_at = self._world.now()
        row.follows = row.next_due_at if spec.schedule and spec.schedule.follows_end else None

    async def cancel(self, run: UUID) -> None:
        """See `Rows`."""
        self._world.runs_by_id[run].cancel_at = self._world.now()

    async def delete(self, job: UUID) -> None:
        """See `Rows`."""
        self._world.jobs[job].state = JobState.DELETED

    async def revise(self, job: UUID) -> None:
        """See `Rows`."""
        self._world.jobs[job].revision += 1

    async def runs(self, job: UUID) -> list[Row]:
        """See `Rows`."""
        runs = [run for run in self._world.runs.values() if run.job_id == job]
        return sorted(
            Row(_seconds(run.due_at), run.state, run.reason, run.due_count, run.kind)
            for run in runs
        )

    async def lose_place(self, run: UUID) -> bool:
        """See `Rows`."""
        return self._world.dequeue(run)

    async def lose_wait(self, run: UUID) -> bool:
        """See `Rows`."""
        keys = [key for key in self._world.waiting if key[1] == run]
        for key in keys:
            del self._world.waiting[key]
        return bool(keys)

    async def lose_handouts(self, executor: UUID) -> None:
        """See `Rows`."""
        for key in [handout for handout in self._world.handouts if handout[0] == executor]:
            del self._world.handouts[key]

    async def lose_executor(self, executor: UUID) -> None:
        """See `Rows`."""
        self._world.executors.pop(executor, None)

    async def put_windows(self, *windows: Window) -> None:
        """See `Rows`."""
        self._world.rules[1] = Rules(self._world.rules_of(1).revision + 1, windows)

    async def told_by_older_data(self, job: UUID, next_due: datetime, version: str) -> None:
        """See `Rows`."""
        row = self._world.jobs[job]
        row.next_due_at = row.next_fire_at = next_due
        self._world.zone_data = version, self._world.now()

    async def audit(self, job: UUID, until: datetime) -> JobAudit:
        """See `Rows`."""
        row, runs = self._world.jobs[job], self._world.scheduled(job)
        audited = AuditedJob(
            job, row.team, row.spec.name, purged_until=self._world.purged_until(job)
        )
        ledger = [LedgerRow(run.due_at, run.state, run.reason, run.due_until) for run in runs]
        span = AuditSpan(START, until, self._world.now())
        found = audit(audited, self._world.revisions[job], ledger, span)
        return with_chain(found, audit_links(self._world, row, span))

    async def gates(self) -> list[GateSeen]:
        """See `Rows`."""
        return sorted(
            GateSeen(
                f"{row.kind} {row.name}",
                row.limit,
                len(row.permits),
                row.team_set.limit is not None,
            )
            for row in self._world.gates.rows.values()
            if row.kind != "team" or row.limit is not None
        )

    async def gate_names(self) -> dict[int, str]:
        """See `Rows`."""
        return {row.id: f"{row.kind} {row.name}" for row in self._world.gates.rows.values()}

    async def name_of(self, job: UUID) -> str:
        """See `Rows`."""
        return self._world.jobs[job].spec.name

    async def lose_permits(self, run: UUID) -> None:
        """See `Rows`."""
        self._world.gates.give_back(run)

    async def respec(self, job: UUID, spec: JobSpec) -> None:
        """See `Rows`."""
        row = self._world.jobs[job]
        row.spec = spec
        self._world.enter_gates(row)

    async def permits(self) -> set[tuple[str, UUID]]:
        """See `Rows`."""
        gates = self._world.gates.rows.values()
        return {(gate.kind, run) for gate in gates for run in gate.permits}

    async def letters(self) -> list[LetterSeen]:
        """See `Rows`."""
        rows = sorted(self._world.dead_letters.values(), key=lambda row: row.run_id)
        return [
            LetterSeen(
                row.run_id,
                row.dead_at,
                *row.failure,
                None if row.is_open else row.dismissal.by,
                row.dismissal.note,
            )
            for row in rows
        ]

    async def fingerprints(self) -> list[str | None]:
        """See `Rows`."""
        attempts = sorted(self._world.attempts.values(), key=lambda row: row.started_at or START)
        return [attempt.failure.fingerprint or None for attempt in attempts]

    async def count(self, table: str) -> int:
        """See `Rows`."""
        revisions = [row for rows in self._world.revisions.values() for row in rows]
        tables: dict[str, Sized] = {
            "attempts": self._world.attempts,
            "executors": self._world.executors,
            "handouts": self._world.handouts,
            "revisions": revisions,
        }
        return len(tables[table])


class PostgresRows:
    """Owners' deeds by SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_job(self, job: UUID, spec: JobSpec) -> None:
        """See `Rows`."""
        now = self._database.now()
        text = msgspec.json.encode(spec).decode()
        await self._run(
            "INSERT INTO teams (name, created_at) VALUES ('default', $1)"
            " ON CONFLICT DO NOTHING RETURNING id",
            now,
        )
        await self._run(
            "INSERT INTO jobs (id, team_id, partition, name, revision, state, spec, schedule,"
            " misfire, pool, priority, anchor, created_at, changed_at, next_due_at, next_fire_at,"
            " follows, overlap, open_since)"
            " SELECT $1, id, $2, $3, 1, 'active', $4::text::jsonb, ($4::text::jsonb) -> 'schedule',"
            " $5::text::jsonb, $6, $7, $8, $8, $8, $8, $8, $9, $10, $8 FROM teams",
            job,
            partition_of(job),
            f"{spec.name}-{job}",
            text,
            msgspec.json.encode(spec.misfire).decode(),
            spec.pool,
            PRIORITIES[spec.priority],
            now,
            now if spec.schedule and spec.schedule.follows_end else None,
            spec.overlapping.policy,
        )
        await self._run(
            "INSERT INTO revisions SELECT id, revision, partition, changed_at, state, anchor, spec"
            " FROM jobs WHERE id = $1",
            job,
        )

    async def cancel(self, run: UUID) -> None:
        """See `Rows`."""
        await self._run("UPDATE runs SET cancel_at = $2 WHERE id = $1", run, self._database.now())

    async def delete(self, job: UUID) -> None:
        """See `Rows`."""
        await self._run(
            "UPDATE jobs SET state = 'deleted', next_due_at = NULL, next_fire_at = NULL"
            " WHERE id = $1",
            job,
        )

    async def revise(self, job: UUID) -> None:
        """See `Rows`."""
        await self._run("UPDATE jobs SET revision = revision + 1 WHERE id = $1", job)

    async def runs(self, job: UUID) -> list[Row]:
        """See `Rows`."""
        async with self._database.session() as session:
            rows = await session.fetch(
                "SELECT due_at, state, reason, due_count, kind FROM all_runs WHERE job_id = $1", job
            )
        return sorted(Row(_seconds(due_at), *others) for due_at, *others in rows)

    async def lose_place(self, run: UUID) -> bool:
        """See `Rows`."""
        return await self._run("DELETE FROM dispatch WHERE run_id = $1", run) != "DELETE 0"

    async def lose_wait(self, run: UUID) -> bool:
        """See `Rows`."""
        return await self._run("DELETE FROM waiting WHERE run_id = $1", run) != "DELETE 0"

    async def lose_handouts(self, executor: UUID) -> None:
        """See `Rows`."""
        await self._run("DELETE FROM handouts WHERE executor = $1", executor)

    async def lose_executor(self, executor: UUID) -> None:
        """See `Rows`."""
        await self._run("DELETE FROM executors WHERE id = $1", executor)

    async def put_windows(self, *windows: Window) -> None:
        """See `Rows`."""
        await self._run("DELETE FROM windows")
        for window in windows:
            await self._run(
                "INSERT INTO windows (team_id, name, policy, labels, starts_at, ends_at, made_at)"
                " SELECT id, $1, $2, $3::text::jsonb, $4, $5, $4 FROM teams",
                window.name,
                window.policy,
                msgspec.json.encode(window.labels).decode(),
                window.starts_at,
                window.ends_at,
            )
        await self._run("UPDATE teams SET rules_revision = rules_revision + 1")

    async def told_by_older_data(self, job: UUID, next_due: datetime, version: str) -> None:
        """See `Rows`."""
        await self._run(
            "UPDATE jobs SET next_due_at = $2, next_fire_at = $2 WHERE id = $1", job, next_due
        )
        await self._run("DELETE FROM zone_data")
        await self._run(
            "INSERT INTO zone_data (version, computed_at) VALUES ($1, $2)",
            version,
            self._database.now(),
        )

    async def audit(self, job: UUID, until: datetime) -> JobAudit:
        """See `Rows`."""
        audits = PostgresAudits(self._database, KnownCalendars())
        page = await audits.page("default", None, START, until, None)
        [found] = [row for row in page.jobs if row.id == job]
        return found

    async def gates(self) -> list[GateSeen]:
        """See `Rows`."""
        async with self._database.session() as session:
            rows = await session.fetch(
                "SELECT kind || ' ' || name, run_limit,"
                " (SELECT count(*)::integer FROM permits WHERE gate_id = gates.id),"
                " set_limit IS NOT NULL"
                " FROM gates WHERE kind <> 'team' OR run_limit IS NOT NULL"
            )
        return sorted(GateSeen(*row) for row in rows)

    async def gate_names(self) -> dict[int, str]:
        """See `Rows`."""
        async with self._database.session() as session:
            rows = await session.fetch("SELECT id, kind || ' ' || name FROM gates")
        return dict(map(tuple, rows))

    async def name_of(self, job: UUID) -> str:
        """See `Rows`."""
        async with self._database.session() as session:
            name: str = await session.fetchval("SELECT name FROM jobs WHERE id = $1", job)
        return name

    async def lose_permits(self, run: UUID) -> None:
        """See `Rows`."""
        await self._run("DELETE FROM permits WHERE run_id = $1", run)

    async def respec(self, job: UUID, spec: JobSpec) -> None:
        """See `Rows`."""
        text = msgspec.json.encode(spec).decode()
        await self._run("UPDATE jobs SET spec = $2::text::jsonb WHERE id = $1", job, text)

    async def permits(self) -> set[tuple[str, UUID]]:
        """See `Rows`."""
        async with self._database.session() as session:
            rows = await session.fetch(
                "SELECT g.kind, p.run_id FROM permits p JOIN gates g ON g.id = p.gate_id"
            )
        return {(kind, run) for kind, run in rows}

    async def letters(self) -> list[LetterSeen]:
        """See `Rows`."""
        async with self._database.session() as session:
            rows = await session.fetch(
                "SELECT run_id, dead_at, error, fingerprint,"
                " CASE WHEN dismissed_at IS NOT NULL THEN dismissed_by END, note"
                " FROM dead_letters ORDER BY run_id"
            )
        return [LetterSeen(*row) for row in rows]

    async def fingerprints(self) -> list[str | None]:
        """See `Rows`."""
        async with self._database.session() as session:
            rows = await session.fetch("SELECT fingerprint FROM attempts ORDER BY started_at")
        return [row["fingerprint"] for row in rows]

    async def count(self, table: str) -> int:
        """See `Rows`."""
        name = "all_attempts" if table == "attempts" else table
        async with self._database.session() as session:
            number: int = await session.fetchval(f"SELECT count(*) FROM {name}")
            return number

    async def _run(self, sql: str, *arguments: object) -> str:
        async with self._database.session() as session:
            return await session.execute(Query("test", sql, ()).sql, *arguments)


def on_memory() -> Ground:
    """Return all ports over an empty world."""
    clock = Clock()
    world = World(clock.now)
    changes, calendars, hints = MemoryJobChanges(world), MemoryCalendars(world), world.hints
    return Ground(
        clock,
        MemoryLeases(world),
        MemoryAgenda(world),
        MemoryWaitingRoom(world),
        MemoryDispatch(world),
        MemoryWatch(world),
        MemoryBackfills(world),
        MemoryRepairs(world),
        MemoryEndedJobs(world),
        MemoryNextDueTimes(world),
        MemoryLocks(world),
        MemoryDayTables(world),
        MemoryRetention(world, DAYS),
        MemoryLeftovers(world),
        MemoryRestores(world),
        MemoryReplays(world),
        MemoryQueues(world),
        hints,
        MemoryRows(world),
        changes,
        calendars,
        owners_on(
            *(changes, calendars, MemoryRunChanges(world), MemoryWindows(world)),
            MemoryBackfills(world),
            MemoryDeadLetters(world),
            MemoryReplays(world),
            MemoryLimits(world),
            MemoryRestores(world),
            hints,
            Random(SEED),
        ),
        memory_alerts(world),
    )


def on_postgres(dsn: str) -> tuple[Ground, Database]:
    """Return all ports over an empty database, with the same settings of the planner as in
    production.
    """
    clock = Clock()
    database = Database(dsn, name="contract", by_key_only=True, now=clock.now)
    leases, hints, known = PostgresLeases(database), PostgresHints(database), KnownCalendars()
    ground = Ground(
        clock,
        leases,
        PostgresAgenda(database, database, leases),
        PostgresWaitingRoom(database, database),
        PostgresDispatch(database, database, database),
        PostgresWatch(database),
        PostgresBackfills(database, database),
        PostgresRepairs(database),
        PostgresEndedJobs(database),
        PostgresNextDueTimes(database, known),
        PostgresLocks(database),
        PostgresDayTables(database),
        PostgresRetention(database, DAYS),
        PostgresLeftovers(database),
        PostgresRestores(database),
        PostgresReplays(database, database),
        PostgresQueues(database),
        hints,
        PostgresRows(database),
        PostgresJobChanges(database, known),
        PostgresCalendars(database),
        postgres_owners(database, hints, Random(SEED)),
        postgres_alerts(database),
    )
    return ground, database
