"""What waits: a run's place in the waiting room, what is asked about it, and what becomes of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from matins.domain.jobs.overlap import Overlap
from matins.domain.jobs.windows import Window
from matins.domain.runs.admission.gates import Gate, LinePlace, Permit, RankedRun
from matins.domain.runs.admission.open_runs import OpenRun
from matins.domain.runs.states import RunState

CLAIM: Final = "claim"
"""The cause of a run that was claimed a moment ago, and is to be asked about."""

RETRY: Final = "retry"
"""The cause of a run that waits for the time of its next attempt."""

LOST: Final = "lost"
"""The cause of a run whose place in the waiting room was lost and made again."""

GATE: Final = "gate"
"""The cause of a run that nothing else speaks against, and that stands in a gate's line."""

TO_BE_ADMITTED: Final = "to be admitted"
"""The reason in the row of a run that was claimed and not asked yet."""


class Waiting(msgspec.Struct, frozen=True):
    """A run's place in the waiting room: it is to be asked about at `ready_at`, and why it waits.

    `cause` is `CLAIM`, `RETRY`, `LOST`, or the name of the member of admission that holds the run.
    """

    run_id: UUID
    partition: int
    ready_at: datetime
    team_id: int | None
    """None: its run is gone, so that nothing can hold it."""
    cause: str
    pool: str = ""
    priority: int = 1
    let_in: int | None = None
    """The revision of its job under which it was let into a gate's line."""

    def cause_under(self, job_revision: int) -> str:
        """Return why it waits, now that its job is at a revision: who was let into a line under
        another one is asked about as if it had just been claimed.
        """
        is_outdated = self.cause == GATE and self.let_in != job_revision
        return CLAIM if is_outdated else self.cause


class Candidate(OpenRun, frozen=True, kw_only=True):
    """What admission knows of a run that something might hold.

    `open_since`: since when its job's row says that unfinished runs are to be looked for.
    `job_revision`: the revision of the job by which it is decided.
    """

    cause: str
    fire_at: datetime
    job_id: UUID
    job_revision: int
    open_since: datetime
    labels: dict[str, str]
    priority: int = 1
    gate_ids: tuple[int, ...] = ()
    """The gates of its job and its team, which it has to pass."""
    overlap: Overlap = Overlap()
    allow_overlap: bool = False
    """Its owner starts it whatever else of its job runs."""

    @property
    def minds_others(self) -> bool:
        """Whether it matters which runs of its job are unfinished.

        A retry has been admitted, and what stands in a gate's line, too; but on-time runs go before
        what makes up for the past there as well.
        """
        was_admitted = self.is_started or (self.cause == GATE and not self.makes_up)
        return self.overlap.policy != "allow" and not was_admitted


class Rules(msgspec.Struct, frozen=True):
    """What might hold a team's runs, as of a revision, which rises with each change of it."""

    revision: int
    windows: Sequence[Window] = ()
    valid_until: datetime | None = None
    """When what they hold changes by itself: the next window begins."""


class Lines(msgspec.Struct, frozen=True):
    """Gates and their lines, as they were at `now`.

    `places` are by gate who stands first in its line, at least as many as there is room for; `runs`
    has the same by their ids. A run of a partition that nobody holds is not there.
    """

    now: datetime
    gates: Mapping[int, Gate] = {}
    places: Mapping[int, Sequence[RankedRun]] = {}
    runs: Mapping[UUID, Waiting] = {}

    def first(self, partitions: Collection[int]) -> list[Waiting]:
        """Return who passes next, as far as there is room: the runs of some partitions."""
        passing = (
            self.runs[place.run_id]
            for gate_id, places in self.places.items()
            for place in places[: self.gates[gate_id].room(self.now)]
        )
        return [run for run in passing if run.partition in partitions]

    def opening(self) -> dict[int, datetime]:
        """Return by gate when its rate lets the next one start, where that is to be waited for."""
        opening = {number: gate.opens_at(self.now) for number, gate in self.gates.items()}
        return {number: at for number, at in opening.items() if at is not None}


class AdmissionFacts(msgspec.Struct, frozen=True):
    """What is known of a batch of waiting runs: the rules by team, the runs that something may
    hold, the gates that these have to pass, and by job what is unfinished, where that matters.
    """

    now: datetime
    rules: Mapping[int, Rules]
    candidates: Mapping[UUID, Candidate]
    lines: Lines | None = None
    open_runs: Mapping[UUID, Sequence[OpenRun]] = {}


class Question(msgspec.Struct, frozen=True):
    """What a member is asked: of a run, under its team's rules, at an instant.

    `others` are the unfinished runs of its job, as they are after all that was decided before.
    """

    run: Candidate
    rules: Rules
    now: datetime
    others: Sequence[OpenRun] = ()


class Verdict(msgspec.Struct, frozen=True):
    """What becomes of a run: `queued`, `skipped`, or `waiting` until an instant, for a reason.

    `cause` is the member that holds it, `blocker` the name of what it waits for. `replaces` are
    runs that are to be cancelled first.
    """

    state: RunState
    reason: str = ""
    until: datetime | None = None
    cause: str = ""
    blocker: str = ""
    replaces: tuple[UUID, ...] = ()


ADMITTED: Final = Verdict(RunState.QUEUED)


class Decision(msgspec.Struct, frozen=True):
    """A verdict on a waiting run, and by what it was found: the rules of its team, and its job at
    a revision, if that mattered.

    `rank`: its place in the queue, if it is admitted; None: by the time of that. `permits` are what
    it gets then; `line` is its place at the gate that has no room for it.
    """

    waiting: Waiting
    verdict: Verdict
    rules: Rules | None
    job_id: UUID | None = None
    job_revision: int = 0
    rank: int | None = None
    permits: tuple[Permit, ...] = ()
    line: LinePlace | None = None

    @property
    def let_in(self) -> int | None:
        """The revision of its job under which it is let into a line."""
        return None if self.line is None else self.job_revision

    @property
    def asked(self) -> int | None:
        """The revision of the rules that hold it, so that it is asked about when they change."""
        is_held = self.verdict.state is RunState.WAITING and self.line is None
        return self.rules.revision if is_held and self.rules is not None else None


class CarriedOut(msgspec.Struct, frozen=True):
    """What came of a batch of decisions.

    `refused` are partitions whose lease the fence did not find. `outdated` are teams whose rules
    have changed since, `stale` jobs that have: nothing was done with their runs, which are to be
    asked about again; so are runs that were to pass `contended` gates, whose room others took
    first. `pools` are those whose queues grew. `gates`: who stands first in their lines is to be
    looked at again, since somebody left the line for another, or lined up while others may have
    left.
    """

    refused: set[int] = set()
    outdated: set[int] = set()
    stale: set[UUID] = set()
    contended: set[int] = set()
    pools: set[str] = set()
    gates: set[int] = set()

    def is_void(self, decision: Decision) -> bool:
        """Return whether that by which it was decided is no longer so."""
        return (
            decision.waiting.team_id in self.outdated
            or decision.job_id in self.stale
            or any(permit.gate_id in self.contended for permit in decision.permits)
        )
