"""The executors' protocol: what they ask, are given, report, and say in their heartbeats.

The words on the wire are these Structs, as JSON or MessagePack. docs/executor-protocol.md tells
the story; the reasons stand there too.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

import msgspec

from matins.domain.jobs.retry import RetryPolicy
from matins.domain.runs.admission.hints import job_word
from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.output import LiveChunk, OutputChunk
from matins.domain.runs.states import FINAL, RunState, Tried

POLL_MAX = 1000
"""The most attempts that one poll may ask for."""

REPORT_MAX = 1000
"""The most ends that one report may hold."""

CHUNKS_MAX = 1000
"""The most chunks that one message with output may hold, of either kind."""


class Poll(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A long poll for attempts.

    `seq` counts an executor's polls from 1. A poll whose answer did not come is sent again with the
    same `seq` and `repeat` set, until it is answered: the answer is then the same one.
    """

    executor: UUID
    seq: int
    pools: list[str]
    free: int
    wait_s: float = 20.0
    repeat: bool = False


class Handout(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to a poll. `unknown`: heartbeat first, or this incarnation was declared lost."""

    attempts: list[Attempt] = []
    unknown: bool = False


class End(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The end of an attempt: which one, its result, and how long it took in seconds."""

    run_id: UUID
    number: int
    result: Result
    duration_s: float = 0.0


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ends of attempts, kept by the executor and repeated until they are confirmed."""

    executor: UUID
    ends: list[End]


class ReportAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """All ends are confirmed. Those of `superseded` runs changed nothing: others went on."""

    superseded: list[UUID] = []


class Heartbeat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An executor's sign of life with all that it holds, as one consistent picture.

    A poll numbered below `next_seq` is either in `awaiting` (no answer yet), in `open` (answered,
    some of its attempts not yet confirmed ended) or in `closed` (all confirmed); one in none of
    them never arrived and what was handed out for it is handed out again.
    `held` are the (run id, number) pairs whose end is not confirmed yet.
    """

    executor: UUID
    name: str
    pools: list[str]
    slots: int
    next_seq: int
    awaiting: list[int] = []
    open: list[int] = []
    closed: list[int] = []
    held: list[tuple[UUID, int]] = []
    stopped: bool = False


class Stop(msgspec.Struct, frozen=True):
    """An attempt that must end now: `cancelled` by its owner, or `superseded`."""

    run_id: UUID
    number: int
    why: str


class HeartbeatAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the executor must do. `lost`: stop everything and begin again as a new incarnation."""

    stop: list[Stop] = []
    lost: bool = False


class Output(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What came of attempts while they ran: `live` may be lost, `kept` is repeated until taken."""

    executor: UUID
    live: list[LiveChunk] = []
    kept: list[OutputChunk] = []


class OutputAnswer(msgspec.Struct, frozen=True):
    """What was to be kept is kept."""


class Running(msgspec.Struct, frozen=True):
    """A running run with what `decide` needs to know when its attempt ends badly."""

    run_id: UUID
    tried: Tried
    policy: RetryPolicy


class Ending(msgspec.Struct, frozen=True):
    """What is to be recorded of one attempt: its end, and what follows for the run.

    `retry_in_s` counts from the moment of recording, by the database's clock. `shared`: it was lost
    in company.
    """

    end: End
    state: RunState
    reason: str = ""
    retry_in_s: float | None = None
    shared: bool = False


class RunStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run as it is polled: in the cache, in the API's answer, in the live updates."""

    id: UUID
    team: str
    job: str
    kind: str
    state: RunState
    due_at: datetime
    fire_at: datetime
    attempt: int
    reason: str = ""
    claimed_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    retry_at: datetime | None = None


class Recorded(msgspec.Struct, frozen=True):
    """The end of an attempt that was recorded now; `awaited` is its job, if other runs of it may
    wait for the end of the run.
    """

    status: RunStatus
    awaited: UUID | None = None


def awaited_words(recorded: Iterable[Recorded]) -> set[str]:
    """Return what to send on the channel `admission`, of ends for which other runs may wait."""
    return {
        job_word(end.awaited)
        for end in recorded
        if end.awaited is not None and end.status.state in FINAL
    }
