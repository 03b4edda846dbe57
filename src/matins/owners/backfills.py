"""What owners do to backfills: start one, or only look what it comes to; pause, resume, cancel."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from random import Random
from typing import Final
from uuid import UUID

import msgspec

from matins.domain.ports import Hints
from matins.domain.ports.backfills import BackfillChanges, BackfilledJob, NewBackfill
from matins.domain.runs.backfills.expansion import BackfillExpansion, Planning, judge
from matins.domain.runs.backfills.values import (
    DUE_MAX,
    Backfill,
    BackfillPlan,
    BackfillRequest,
    BackfillStarted,
    BackfillState,
    Span,
    kind_problems,
)
from matins.domain.time.instants import SECOND
from matins.domain.values.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    check,
)
from matins.domain.values.names import check_name
from matins.kernel.hints import notify
from matins.owners.calendars import InThread
from matins.owners.runs import Runs

PAGE: Final = 10_000
"""The most due times that are looked at in one go."""

_UNFINISHED: Final = (BackfillState.ACTIVE, BackfillState.PAUSED)


class Backfills:
    """Starts, pauses, resumes and cancels backfills. Their runs are made by schedulers."""

    def __init__(
        self, changes: BackfillChanges, runs: Runs, hints: Hints, rng: Random, in_thread: InThread
    ) -> None:
        """`rng` draws the ids of backfills; `in_thread` computes while others are answered."""
        self._changes = changes
        self._runs = runs
        self._hints = hints
        self._rng = rng
        self._in_thread = in_thread

    async def start(
        self, team: str, name: str, request: BackfillRequest, *, dry_run: bool = False
    ) -> BackfillStarted:
        """Start a backfill, or only tell what it would come to.

        Raises ConflictError while the job has another that is unfinished. When the answer is lost,
        it may have been made: list the job's backfills before repeating.
        """
        job = await self._find(team, name, request)
        span = _span(request, job.now)
        plan = await self._plan(job, span)
        if dry_run:
            return BackfillStarted(plan)
        backfill = NewBackfill(
            id=UUID(int=self._rng.getrandbits(128), version=4),
            job_id=job.id,
            span=span,
            limit=request.limit,
            planned=plan.to_run,
            reason=request.reason,
            gaps=BackfillExpansion(job.past, span).gaps(),
        )
        if not await self._changes.create(backfill):
            other = await self._changes.find_unfinished(job.id)
            if other is None:
                raise NotFoundError(f"team {team} has no job {name!r}")
            message = f"the job has an unfinished backfill, {other}; cancel it or wait for its end"
            raise ConflictError(message)
        await notify(self._hints, "backfills")
        return BackfillStarted(plan, await self._show(backfill.id))

    async def pause(self, backfill_id: UUID) -> Backfill:
        """Make no more runs of a backfill until it is resumed; those that are made go on."""
        return await self._change(backfill_id, [BackfillState.ACTIVE], BackfillState.PAUSED)

    async def resume(self, backfill_id: UUID) -> Backfill:
        """Go on with a paused backfill."""
        return await self._change(backfill_id, [BackfillState.PAUSED], BackfillState.ACTIVE)

    async def cancel(self, backfill_id: UUID, *, with_runs: bool = False) -> Backfill:
        """End a backfill: it makes no more runs. Those that are made go on, or end `with_runs`."""
        await self._change(backfill_id, _UNFINISHED, BackfillState.CANCELLED)
        if with_runs:
            for run in await self._changes.open_runs(backfill_id):
                try:
                    await self._runs.cancel(run)
                except (ConflictError, NotFoundError):  # it has ended meanwhile
                    continue
        return await self._show(backfill_id)

    async def _find(self, team: str, name: str, request: BackfillRequest) -> BackfilledJob:
        check_name("team", team)
        check_name("name", name)
        job = await self._changes.find_job(team, name)
        if job is None:
            raise NotFoundError(f"team {team} has no job {name!r}")
        check(kind_problems(job.spec) + request.problems(job.now))
        return job

    async def _plan(self, job: BackfilledJob, span: Span) -> BackfillPlan:
        """Walk through all due times of a span, page by page. Raises InvalidInputError for too
        many.
        """
        expansion = BackfillExpansion(job.past, msgspec.structs.replace(span, order="oldest"))
        planning = Planning(span, expansion.gaps())
        mark, is_last = None, False
        while not is_last:
            due, is_last = await self._in_thread(expansion.page, mark, PAGE)
            if due:
                mark = due[-1].due_at
                ledger = await self._changes.ledger(job.id, due[0].due_at, mark)
                planning.add(judge(due, ledger, again=span.again))
            if planning.due > DUE_MAX:
                message = f"the job was due over {DUE_MAX} times since then; take a shorter range"
                raise InvalidInputError.at("since", message)
        return planning.plan()

    async def _change(
        self,
        backfill_id: UUID,
        before: Sequence[BackfillState],
        state: BackfillState,
    ) -> Backfill:
        """Bring a backfill into a state; one that is in it already is left as it is."""
        changed = await self._changes.change(backfill_id, before, state)
        backfill = await self._show(backfill_id)
        if not changed and backfill.state is not state:
            raise ConflictError(f"the backfill is {backfill.state}, so that it can't be {state}")
        await notify(self._hints, "backfills")
        return backfill

    async def _show(self, backfill_id: UUID) -> Backfill:
        backfill = await self._changes.find_backfill(backfill_id)
        if backfill is None:
            raise NotFoundError(f"there is no backfill {backfill_id}")
        return backfill


def _span(request: BackfillRequest, now: datetime) -> Span:
    """Return the span in whole seconds: due times within it are the same."""
    until = request.until or now
    return Span(_whole(request.since), _whole(until), request.order, request.again)


def _whole(instant: datetime) -> datetime:
    whole = instant.replace(microsecond=0)
    return whole if whole == instant else whole + SECOND
