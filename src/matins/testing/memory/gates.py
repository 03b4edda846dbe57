"""Gates and permits in memory, as the tables `gates` and `permits` keep them."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from matins.domain.jobs.limits import parse_rate
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.runs.admission.gates import Gate, GateKind, Permit
from matins.domain.runs.states import RunState

if TYPE_CHECKING:
    from matins.testing.memory.rows import RunRow
    from matins.testing.memory.world import JobRow


@dataclass(slots=True)
class WrittenLimits:
    """A limit of runs at once, and a rate of starts, as they are written."""

    limit: int | None = None
    rate: str | None = None


@dataclass(slots=True)
class GateRow:
    """A row of `gates`, with its permits."""

    id: int
    team_id: int
    kind: GateKind
    name: str
    team_set: WrittenLimits = field(default_factory=WrittenLimits)
    own: WrittenLimits = field(default_factory=WrittenLimits)
    next_start_at: datetime | None = None
    revision: int = 0
    permits: set[UUID] = field(default_factory=set)

    @property
    def limit(self) -> int | None:
        """The limit that counts."""
        return self.own.limit if self.team_set.limit is None else self.team_set.limit

    @property
    def rate(self) -> str | None:
        """The rate that counts."""
        return self.own.rate if self.team_set.rate is None else self.team_set.rate

    @property
    def key(self) -> tuple[int, GateKind, str]:
        """What is unique of it."""
        return self.team_id, self.kind, self.name

    def seen(self) -> Gate:
        """Return the gate as admission sees it."""
        return Gate(
            self.id,
            self.kind,
            self.name,
            self.limit,
            None if self.rate is None else parse_rate(self.rate),
            self.next_start_at,
            len(self.permits),
            self.revision,
        )

    def copied(self) -> GateRow:
        """Return a copy that changes apart."""
        return replace(
            self,
            team_set=copy(self.team_set),
            own=copy(self.own),
            permits=set(self.permits),
        )


@dataclass
class Gates:
    """The gates of all teams by their ids."""

    rows: dict[int, GateRow] = field(default_factory=dict)
    team_default: WrittenLimits = field(default_factory=WrittenLimits)
    max_jobs: dict[int, int] = field(default_factory=dict)
    """By team its quota of jobs."""
    max_jobs_default: int | None = None

    def copied(self) -> Gates:
        """Return a copy that changes apart."""
        rows = {key: row.copied() for key, row in self.rows.items()}
        return Gates(rows, copy(self.team_default), dict(self.max_jobs), self.max_jobs_default)

    def find(self, team_id: int, kind: GateKind, name: str) -> GateRow | None:
        """Return a gate, if there is one."""
        key = (team_id, kind, name)
        return next((row for row in self.rows.values() if row.key == key), None)

    def make(self, team_id: int, kind: GateKind, name: str) -> GateRow:
        """Return a gate, which is made where there is none."""
        row = self.find(team_id, kind, name)
        if row is None:
            row = GateRow(len(self.rows) + 1, team_id, kind, name)
            self.rows[row.id] = row
        return row

    def of_team(self, team_id: int) -> GateRow:
        """Return the gate of a team's quotas."""
        row = self.find(team_id, "team", "")
        if row is None:
            row = self.make(team_id, "team", "")
            row.own = copy(self.team_default)
        return row

    def enter(
        self, job: JobRow, former: str, jobs: Iterable[JobRow], runs: Iterable[RunRow]
    ) -> None:
        """Write a job's limits to its gates; what of it has begun holds permits of them.

        `former` is the key that it named before.
        """
        before, spec = set(job.gates), job.spec
        alive = [
            other.spec
            for other in jobs
            if other.team_id == job.team_id and other.state is not JobState.DELETED
        ]
        entered = []
        own = self.find(job.team_id, "job", str(job.id))
        if spec.max_running is not None or spec.rate is not None:
            own = self.make(job.team_id, "job", str(job.id))
            entered.append(own.id)
        if own is not None:
            own.own = WrittenLimits(spec.max_running, spec.rate)
            own.revision += 1
        key = spec.concurrency.key if spec.concurrency else ""
        if key:
            entered.append(self.make(job.team_id, "key", key).id)
        for named in {key, former} - {""}:
            self._lower(job.team_id, named, alive)
        job.gates = tuple(sorted(entered))
        if not before.issuperset(entered):
            for run in runs:
                if run.job_id == job.id and run.state in (RunState.QUEUED, RunState.RUNNING):
                    run.holds_permits = True
                    for gate_id in entered:
                        self.rows[gate_id].permits.add(run.id)

    def _lower(self, team_id: int, key: str, specs: Iterable[JobSpec]) -> None:
        """Let a key have the lowest limit of the jobs that name it, and their lowest rate."""
        row = self.make(team_id, "key", key)
        named = [
            key_use.concurrency
            for key_use in specs
            if key_use.concurrency and key_use.concurrency.key == key
        ]
        rates = [key_use.rate for key_use in named if key_use.rate is not None]
        row.own = WrittenLimits(
            min((key_use.limit for key_use in named if key_use.limit is not None), default=None),
            max(rates, key=lambda rate: parse_rate(rate).spacing, default=None),
        )
        row.revision += 1

    def limit_team(self, team_id: int) -> list[int]:
        """Return the gate of a team's quotas, if it has any that runs meet."""
        row = self.of_team(team_id)
        return [] if row.limit is None and row.rate is None else [row.id]

    def give_back(self, run_id: UUID) -> set[int]:
        """Take back what a run holds; return of which gates."""
        held = [row for row in self.rows.values() if run_id in row.permits]
        for row in held:
            row.permits.discard(run_id)
        return {row.id for row in held}

    def contended(self, permits: Iterable[Permit]) -> set[int]:
        """Return the gates that are no longer at the revision at which permits were promised."""
        return {
            permit.gate_id
            for permit in permits
            if self.rows[permit.gate_id].revision != permit.revision
        }

    def grant(self, run_id: UUID, permits: Iterable[Permit]) -> None:
        """Give a run its permits."""
        for permit in permits:
            row = self.rows[permit.gate_id]
            row.permits.add(run_id)
            row.revision += 1
            row.next_start_at = permit.next_start_at
