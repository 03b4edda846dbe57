"""A history sorted for lookups, and how the checker names what it finds."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from uuid import UUID

from matins.testing.calls import Call
from matins.testing.evidence import AttemptRow, EvidenceRow, History

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)

Key = tuple[UUID, datetime, str]
"""Job, due time and kind."""


class Index:
    """A history, sorted once for all rules."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.names = {due.job_id: due.job for due in history.due}
        self.rows = {row.run_id: row for row in history.rows}
        self.keys: dict[Key, EvidenceRow] = {}
        self.ranges: dict[tuple[UUID, str], list[EvidenceRow]] = defaultdict(list)
        for row in history.rows:
            self.keys[row.job_id, row.due_at, row.kind] = row
            if row.due_until:
                self.ranges[row.job_id, row.kind].append(row)
        for ranges in self.ranges.values():
            ranges.sort(key=attrgetter("due_at"))
        self.calls: dict[UUID, list[Call]] = defaultdict(list)
        for call in sorted(history.calls, key=attrgetter("arrived_ns")):
            if call.run_id:
                self.calls[call.run_id].append(call)
        self.orphans = [
            call for call in history.calls if not call.run_id or call.run_id not in self.rows
        ]
        self.attempts: dict[UUID, list[AttemptRow]] = defaultdict(list)
        for attempt in sorted(history.attempts, key=attrgetter("number")):
            self.attempts[attempt.run_id].append(attempt)

    def is_judged(self, row: EvidenceRow) -> bool:
        """Return whether the test had waited for this row to come to its end."""
        return self.history.until is None or row.due_at < self.history.until

    def name(self, row: EvidenceRow) -> str:
        """Name a row for people."""
        job = self.names.get(row.job_id, str(row.job_id))
        return f"{name_due(job, row.due_at, row.kind)} (run {row.run_id}, {row.state})"

    def run_name(self, run_id: UUID) -> str:
        """Name a run that may have no row."""
        row = self.rows.get(run_id)
        return self.name(row) if row else f"run {run_id}, which has no row,"


def name_due(job: str, due_at: datetime | None, kind: str) -> str:
    """Name an occurrence of a job for people."""
    due = due_at.isoformat().replace("+00:00", "Z") if due_at else "an unknown time"
    return f"{job} due {due}" + ("" if kind == "scheduled" else f" ({kind})")


def name_call(call: Call) -> str:
    """Name a call for people."""
    run = f"run {call.run_id}, attempt {call.attempt}"
    return f"{name_due(call.job or call.path, call.due_at, call.kind)} ({run})"


def to_ns(instant: datetime) -> int:
    """Return an instant in the call recorder's ns since 1970."""
    return (instant - _EPOCH) // _US * 1000
