"""One step of a backfill: what has ended of it, and what is made next, so that never more than its
limit is unfinished.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import msgspec

from matins.domain.runs.backfills.expansion import DueThen, left_out_ranges
from matins.domain.runs.backfills.values import BackfillState, LeftOut, Span
from matins.domain.runs.states import FINAL, Kind, RunState
from matins.domain.values.ids import run_id

DELETED = "its job was deleted"
"""Why a backfill ends by itself."""


class OpenBackfillRun(NamedTuple):
    """A run of which its backfill has not noted the end. One without a state is gone."""

    run_id: UUID
    state: RunState | None

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.state is None or self.state in FINAL


class OpenBackfill(msgspec.Struct, frozen=True):
    """A backfill that has not come to its end, as a scheduler finds it.

    Due times up to `mark` are decided, all of them if it is `walked`; `step` rises with each step,
    and with each deed of its owner. `is_held_up`: a run of its job that is due now waits, and goes
    first. Rows of what was due before `purged_until` may be gone; due times from `unclaimed_from`
    on may still be claimed.
    """

    id: UUID
    job_id: UUID
    partition: int
    state: BackfillState
    span: Span
    limit: int
    mark: datetime | None
    walked: bool
    step: int
    is_deleted: bool
    is_held_up: bool
    runs: Sequence[OpenBackfillRun] = ()

    @property
    def room(self) -> int:
        """How many runs may be made now."""
        if self.state is not BackfillState.ACTIVE or self.walked or self.is_deleted:
            return 0
        unfinished = sum(not run.is_over for run in self.runs)
        return 0 if self.is_held_up else max(0, self.limit - unfinished)


class NewRun(NamedTuple):
    """A run that a backfill makes, under the revision of then."""

    run_id: UUID
    due_at: datetime
    revision: int


class BackfillStep(msgspec.Struct, frozen=True):
    """What becomes of a backfill in one statement.

    It is `finished` when all is decided and has ended.
    """

    backfill: OpenBackfill
    state: BackfillState
    mark: datetime | None
    walked: bool
    finished: bool
    ended: Sequence[OpenBackfillRun] = ()
    runs: Sequence[NewRun] = ()
    left_out: Sequence[LeftOut] = ()
    reason: str = ""

    @property
    def changes_something(self) -> bool:
        """Whether it has to be written."""
        before = self.backfill
        return bool(self.ended or self.finished or self.state is not before.state) or (
            (self.mark, self.walked) != (before.mark, before.walked)
        )

    def ended_by_state(self) -> Counter[RunState]:
        """Return how many runs have ended, by state; what is gone was cancelled, or purged."""
        return Counter(run.state or RunState.CANCELLED for run in self.ended)


def step(backfill: OpenBackfill, due: Sequence[DueThen], *, is_last: bool) -> BackfillStep:
    """Return what becomes of a backfill whose next due times have been judged.

    It goes through them as far as there is room for runs. `is_last`: there are no more.
    """
    room, taken = backfill.room, 0
    to_run: list[DueThen] = []
    for occurrence in due:
        if not occurrence.reason:
            if len(to_run) == room:
                break
            to_run.append(occurrence)
        taken += 1
    walked = backfill.walked or (is_last and taken == len(due) and room > 0)
    state, reason = backfill.state, ""
    if backfill.is_deleted and state is not BackfillState.CANCELLED:
        state, reason = BackfillState.CANCELLED, DELETED
    ended = [run for run in backfill.runs if run.is_over]
    goes_on = state is not BackfillState.CANCELLED and not walked
    finished = not goes_on and not to_run and len(ended) == len(backfill.runs)
    if finished and state is not BackfillState.CANCELLED:
        state = BackfillState.DONE
    return BackfillStep(
        backfill=backfill,
        state=state,
        mark=due[taken - 1].due_at if taken else backfill.mark,
        walked=walked,
        finished=finished,
        ended=ended,
        runs=[
            NewRun(
                run_id(backfill.job_id, occurrence.due_at, Kind.BACKFILL),
                occurrence.due_at,
                occurrence.revision,
            )
            for occurrence in to_run
        ],
        left_out=left_out_ranges(due[:taken]),
        reason=reason,
    )
