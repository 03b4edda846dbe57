"""Dead letters: runs that are given up, kept until somebody replays or dismisses them."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Final, NamedTuple
from uuid import UUID

import msgspec

from matins.domain.time.instants import instant_problems
from matins.domain.values.errors import Problem
from matins.domain.values.names import name_problems
from matins.domain.values.texts import length_problems

NOTE_MAX: Final = 500
"""The longest note, in characters."""

RUNS_MAX: Final = 1_000
"""The most runs that are named at once."""


class DeadFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some of a team's dead letters: those that meet all that is said.

    `since` and `until` are about when a run died.
    """

    EXAMPLE: ClassVar[str] = '{job: nightly, fingerprint: "3f9a0c52d1e7"}'

    job: str | None = None
    fingerprint: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def problems(self) -> list[Problem]:
        """Return all that is wrong with it."""
        problems = [] if self.job is None else name_problems("job", self.job)
        for where, instant in (("since", self.since), ("until", self.until)):
            problems += [] if instant is None else instant_problems(where, instant)
        return problems


class DeadChoice(DeadFilter, frozen=True, forbid_unknown_fields=True):
    """The open dead letters of a team to which something is to be done.

    They are of these `runs`, or meet what else is said; `everything` is all of the team's.
    """

    runs: list[UUID] | None = None
    everything: bool = False

    def problems(self) -> list[Problem]:
        """Return all that is wrong with it."""
        problems = super().problems()
        if self.runs is not None and not 0 < len(self.runs) <= RUNS_MAX:
            problems.append(Problem("runs", f"must be from 1 to {RUNS_MAX}"))
        conditions = (self.job, self.fingerprint, self.since, self.until, self.runs)
        if self.everything == any(condition is not None for condition in conditions):
            message = (
                "name runs, job, fingerprint, since or until; or everything, and none of these"
            )
            problems.append(Problem("", message))
        return problems


class DismissDead(DeadChoice, frozen=True, forbid_unknown_fields=True):
    """Which dead letters are dismissed, with a note for those who look at them later."""

    note: str = ""

    def problems(self) -> list[Problem]:
        """Return all that is wrong with it."""
        return super().problems() + length_problems("note", self.note, NOTE_MAX)


class Dismissal(NamedTuple):
    """Who dismissed a dead letter, and with which note."""

    by: str = ""
    note: str = ""


UNDISMISSED: Final = Dismissal()
"""That of a letter which nobody has dismissed."""


class Dismissed(msgspec.Struct, frozen=True):
    """How many dead letters were dismissed."""

    dismissed: int


class DeadLetter(msgspec.Struct, frozen=True):
    """A run that is given up: why, and its last error. `fingerprint` is the same of alike errors.

    It is open until it is dismissed, or replayed: then it is gone, or closed by the run that stands
    for its own, `replayed_as`.
    """

    run_id: UUID
    team: str
    job: str
    due_at: datetime
    dead_at: datetime
    reason: str
    error: str
    fingerprint: str
    dismissed_at: datetime | None = None
    dismissed_by: str = ""
    note: str = ""
    replayed_as: UUID | None = None


class DeadPage(msgspec.Struct, frozen=True):
    """Dead letters, newest due time first. `next`: give it as `before`; None at the end."""

    letters: list[DeadLetter]
    next: UUID | None = None


class DeadGroup(msgspec.Struct, frozen=True):
    """Open dead letters of one job with one fingerprint; `error` is the error of one of them."""

    job: str
    fingerprint: str
    error: str
    count: int
    first_dead_at: datetime
    last_dead_at: datetime


class DeadCounts(msgspec.Struct, frozen=True):
    """How many open dead letters a team has, and its jobs that have most, the most first.

    Not `complete` where it has more letters than are counted, or more jobs than are named.
    """

    total: int
    jobs: dict[str, int]
    complete: bool = True


class LastSuccess(msgspec.Struct, frozen=True):
    """The last run of a job that succeeded before one that failed."""

    run_id: UUID
    due_at: datetime
    started_at: datetime


class ChangeSince(msgspec.Struct, frozen=True):
    """A change of a job after its last success: who made it, why, and what is different."""

    revision: int
    at: datetime
    author: str
    reason: str
    changes: list[str]

    def words(self, at: str) -> str:
        """Return it in one line; `at` is its instant as the reader's clock writes it."""
        by = f", by {self.author}" if self.author else ""
        why = f": {self.reason}" if self.reason else ""
        fields = ", ".join(self.changes) or "other zone data, or another pause"
        return f"{fields} (revision {self.revision - 1} → {self.revision}, {at}{by}{why})"


class RunFailure(msgspec.Struct, frozen=True):
    """Why a run failed, at its last attempt that did; with its dead letter, if it has one.

    So many of the `looked_at` runs of the job before it have `failed_alike`, with an attempt of the
    same fingerprint. `changes` of the job came between its last success and the attempt.
    """

    run_id: UUID
    team: str
    job: str
    attempt: int
    error: str
    fingerprint: str
    letter: DeadLetter | None = None
    failed_alike: int = 0
    looked_at: int = 0
    last_success: LastSuccess | None = None
    changes: list[ChangeSince] = []
