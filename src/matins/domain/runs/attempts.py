"""What an executor is given to do, and what it says of the end."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec

from matins.domain.jobs.targets import Target
from matins.domain.runs.states import Kind, Outcome


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One try at executing a run, as it is handed out. Named by (run id, number)."""

    run_id: UUID
    number: int
    due_at: datetime
    team: str
    job: str
    target: Target
    timeout_s: float
    kind: Kind = Kind.SCHEDULED
    alone: bool = False
    """It was there when keepers or executors died: nothing else may share its keeper."""
    started_at: datetime | None = None
    """When its row began to say `running`, by the database's clock."""
    keep_output: int = 0
    """How many bytes of its output are to be kept whole; 0: head and tail are enough."""


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """How an attempt ended at its target.

    `reason` is one line for people, empty when it succeeded. `output` is cleaned text: what was
    kept of head and tail, with `output_cut` bytes left out between them. `company` is for lost
    attempts whose keeper died: how many other attempts ended with it. `retry_after_s`: the target
    asks for no attempt earlier than that. `results` is what the target set by `::set key=value`.
    """

    outcome: Outcome
    reason: str = ""
    permanent: bool = False
    output: str = ""
    output_cut: int = 0
    exit_code: int | None = None
    http_status: int | None = None
    company: int | None = None
    retry_after_s: float = 0.0
    results: dict[str, str] = {}
