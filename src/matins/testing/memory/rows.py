"""Rows of the database in memory, beside jobs and runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from matins.domain.calendars.calendar import Calendar
from matins.domain.calendars.compiled import CompiledCalendar
from matins.domain.executors.protocol import Heartbeat
from matins.domain.runs.backfills.values import BackfillState, LeftOut, Rated, Span
from matins.domain.runs.dead import UNDISMISSED, Dismissal
from matins.domain.runs.fingerprint import Failure
from matins.domain.runs.inputs import NO_INPUT, RunInput
from matins.domain.runs.replays import ReplayDead, ReplayState
from matins.domain.runs.states import Kind, Outcome, RunState
from matins.domain.values.ids import PARTITIONS

BEGINNING: Final = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class CalendarRow:
    """A row of `calendars`: one version of one."""

    id: int
    team: str
    written: Calendar
    resolved: Calendar
    closures: CompiledCalendar
    resolved_at: datetime
    replaced_at: datetime | None = None


@dataclass(slots=True)
class StoredAttempt:
    """A row of `attempts`: an attempt that ended."""

    run_id: UUID
    number: int
    executor: UUID
    outcome: Outcome
    reason: str
    started_at: datetime | None
    finished_at: datetime
    failure: Failure


@dataclass(frozen=True, slots=True)
class LetterRow:
    """A row of `dead_letters`."""

    run_id: UUID
    dead_at: datetime
    failure: Failure
    dismissed_at: datetime | None = None
    dismissal: Dismissal = UNDISMISSED
    replayed_as: UUID | None = None

    @property
    def is_open(self) -> bool:
        """Whether nobody has dismissed it."""
        return self.dismissed_at is None


class LetterRows(dict[UUID, LetterRow]):
    """The rows of `dead_letters`, by their runs."""

    def has_open(self, run_id: UUID) -> bool:
        """Return whether a run has a letter that nobody has dismissed."""
        return run_id in self and self[run_id].is_open

    def forget(self, run_id: UUID) -> None:
        """Delete the letter of a run that is purged, if it was dismissed."""
        if not self.has_open(run_id):
            self.pop(run_id, None)


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """A row of `replays`."""

    id: UUID
    team: str
    letters: ReplayDead
    made_by: str
    made_at: datetime
    planned: int
    paced_at: datetime
    state: ReplayState = ReplayState.ACTIVE
    replayed: int = 0
    left_out: int = 0
    mark: UUID | None = None
    step: int = 0
    finished_at: datetime | None = None


@dataclass(slots=True)
class PartitionRow:
    """A row of `partitions`."""

    epoch: int = 0
    holder: UUID | None = None
    watermark: datetime | None = None
    offered: bool = False
    successor: UUID | None = None
    is_ready: bool = False

    def is_under(self, holder: UUID, epoch: int) -> bool:
        """Return whether it is under lease with this holder and epoch, in force or not."""
        return self.epoch == epoch and self.holder == holder


def all_partitions() -> dict[int, PartitionRow]:
    """Return the rows of all partitions, which nobody holds."""
    return {number: PartitionRow() for number in range(PARTITIONS)}


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
        undone = {*heartbeat.awaiting, *heartbeat.open}
        self.undone = {
            seq
            for seq in self.undone | undone
            if (seq in undone or seq >= heartbeat.next_seq)
            and (seq in self.undone or seq >= self.next_seq)
        }
        self.next_seq = max(self.next_seq, heartbeat.next_seq)

    def is_done(self, seq: int) -> bool:
        """Return whether a poll can get nothing more."""
        return seq < self.next_seq and seq not in self.undone


@dataclass(frozen=True, slots=True)
class TriggerKeyRow:
    """A row of `trigger_keys`."""

    run_id: UUID
    fingerprint: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A row of `waiting`."""

    ready_at: datetime
    team_id: int
    cause: str
    blocker: str = ""
    asked: int | None = None
    """The revision of the team's rules by which it was found to be held."""
    gate_id: int | None = None
    line_rank: int | None = None
    """Its place in the line of that gate."""
    let_in: int | None = None
    """The revision of its job under which it was let into that line."""


@dataclass(slots=True)
class BackfillRow:
    """A row of `backfills`, with what belongs to it."""

    id: UUID
    job_id: UUID
    span: Span
    limit: int
    planned: int
    reason: str
    made_at: datetime
    rated: Rated
    left_out: list[LeftOut]
    state: BackfillState = BackfillState.ACTIVE
    mark: datetime | None = None
    walked: bool = False
    step: int = 0
    made: int = 0
    ended: Counter[RunState] = field(default_factory=Counter)
    open: set[UUID] = field(default_factory=set)
    """Its runs of which it is not noted that they have ended."""
    finished_at: datetime | None = None

    def copied(self) -> BackfillRow:
        """Return a copy that shares nothing with it."""
        ended, runs = Counter(self.ended), set(self.open)
        return replace(self, ended=ended, open=runs, left_out=[*self.left_out])


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
    input: RunInput = NO_INPUT
    rank: int | None = None
    revision: int | None = None
    """The revision by which it is called; None: the one in force."""
    holds_permits: bool = False
    allow_overlap: bool = False
    replay_of: UUID | None = None
    replayed_by: str | None = None
    awaits_replay: bool | None = None
    """Whether a replay of it is yet to be admitted; None: it was never replayed."""

    @property
    def key(self) -> tuple[UUID, datetime, Kind]:
        """What is unique of it."""
        return self.job_id, self.due_at, self.kind
