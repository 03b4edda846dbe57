"""When a run that waits will probably start, and what is before it."""

from __future__ import annotations

from collections.abc import Container
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from matins.domain.runs.states import RunState

BEFORE_MAX: Final = 10_000
"""No more runs than that are counted before one."""


HOLDERS_TOLD: Final = 3
"""Of those who hold what a run waits for so many are named."""


class RunHolder(msgspec.Struct, frozen=True):
    """A run that holds what another one waits for: a permit of a gate, or the place of its job."""

    run: UUID
    job: str
    state: str
    started_at: datetime | None = None


class QueuePlace(msgspec.Struct, frozen=True):
    """Where a run stands: `before` are on the queue of its pool and would start first.

    `until`: when it is asked about again, or tried again. `gap_s`: the time from one start in its
    pool to the next, if that was ever measured. `in_line`: how many stand before it in a gate's
    line.
    """

    id: UUID
    state: RunState
    reason: str
    pool: str
    now: datetime
    before: int
    until: datetime | None = None
    gap_s: float | None = None
    in_line: int = 0


class Outlook(msgspec.Struct, frozen=True):
    """Why a run waits, what is before it, and when it will probably start; None: nobody knows.

    `before`: how many runs of its pool start first; `is_all` says that they were all counted.
    `held_by`: how many runs hold what it waits for, the first of them are `holders`; `in_line`: how
    many stand before it in the line of a gate. Both are counted up to a bound.
    """

    run: UUID
    state: RunState
    reason: str
    pool: str
    before: int
    is_all: bool
    until: datetime | None = None
    starts_at: datetime | None = None
    held_by: int = 0
    holders: list[RunHolder] = []
    in_line: int = 0


def outlook(place: QueuePlace, served: Container[str]) -> Outlook:
    """Return the outlook of a run that waits; `served` are the pools that have executors."""
    starts_at = None
    is_all = place.before <= BEFORE_MAX
    if place.pool in served and (place.state is RunState.QUEUED or place.until is not None):
        begin = place.now if place.until is None else max(place.now, place.until)
        if not place.before:
            starts_at = begin
        elif place.gap_s is not None and is_all:
            starts_at = max(begin, place.now + timedelta(seconds=place.before * place.gap_s))
    return Outlook(
        run=place.id,
        state=place.state,
        reason=place.reason,
        pool=place.pool,
        before=min(place.before, BEFORE_MAX),
        is_all=is_all,
        until=place.until,
        starts_at=starts_at,
        in_line=place.in_line,
    )
