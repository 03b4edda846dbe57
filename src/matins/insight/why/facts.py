"""The facts from which it is told what became of a run or a due time."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from matins.domain.audit import LedgerRow, Revision
from matins.domain.executors.fleet import Fleet
from matins.domain.jobs.spec import JobState
from matins.domain.jobs.windows import Window
from matins.domain.runs.chains import Link
from matins.domain.runs.outlook import Outlook, RunHolder
from matins.domain.views import AttemptRecord, Run


class ExplainedJob(msgspec.Struct, frozen=True):
    """The job that is asked about, with its revisions from the first to the present one.

    `paused_until`: when it goes on by itself. `follows`: its next due time follows the end of the
    run due then. Rows of what was due before `purged_until` may be gone. `fault`: why its revisions
    can't be read.
    """

    id: UUID
    team: str
    name: str
    state: JobState
    reason: str
    revisions: list[Revision] = []
    paused_until: datetime | None = None
    next_due_at: datetime | None = None
    follows: datetime | None = None
    watermark: datetime | None = None
    purged_until: datetime | None = None
    fault: str = ""

    @property
    def title(self) -> str:
        """Team and name, as commands take them."""
        return f"{self.team}/{self.name}"


class WaitingPlace(msgspec.Struct, frozen=True):
    """A run's place in the waiting room: the member of admission that holds it, and what that
    waits for.
    """

    cause: str
    blocker: str | None = None
    gate: GateSeen | None = None


class GateSeen(msgspec.Struct, frozen=True):
    """The gate in whose line a run stands.

    `taken`: how many permits are held; the first of their `holders`. `before`: how many stand
    before the run, up to some bound.
    """

    kind: Literal["key", "job", "team"]
    name: str
    taken: int
    before: int
    holders: list[RunHolder] = []


class PoolExecutor(msgspec.Struct, frozen=True):
    """The executor that has a run, and its last sign of life."""

    name: str
    heartbeat_at: datetime
    ended_at: datetime | None = None


class SameDue(msgspec.Struct, frozen=True):
    """Another run of the same job and due time, of another kind."""

    id: UUID
    kind: str
    state: str
    made_at: datetime


class RunFacts(msgspec.Struct, frozen=True):
    """All that is recorded of one run."""

    run: Run
    pool: str
    attempts: list[AttemptRecord] = []
    place: WaitingPlace | None = None
    executor: PoolExecutor | None = None
    link: Link | None = None
    others: list[SameDue] = []
    outlook: Outlook | None = None


class DueFacts(msgspec.Struct, frozen=True):
    """What is known of an instant of a job that has no run: the range of skipped due times that
    covers it, the windows that are in force then, and the last due time up to then of a job that is
    due with the runs of others.
    """

    at: datetime
    range: LedgerRow | None = None
    windows: list[Window] = []
    link: Link | None = None


class Asked(msgspec.Struct, frozen=True):
    """The job that is asked about, and who is alive."""

    job: ExplainedJob
    fleet: Fleet

    @property
    def now(self) -> datetime:
        """The database's clock."""
        return self.fleet.now
