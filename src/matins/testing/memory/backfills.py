"""Backfills in memory. See `domain.ports.backfills`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from matins.domain.jobs.spec import PRIORITIES, JobState
from matins.domain.ports.backfills import BackfilledJob, NewBackfill
from matins.domain.runs.admission.waiting import CLAIM, TO_BE_ADMITTED, Waiting
from matins.domain.runs.backfills.expansion import JobPast, Ledger, RecordedDue
from matins.domain.runs.backfills.stepping import (
    BackfillStep,
    NewRun,
    OpenBackfill,
    OpenBackfillRun,
)
from matins.domain.runs.backfills.values import (
    LIST_MAX,
    Backfill,
    BackfillCounts,
    BackfillState,
    Rated,
    pace,
)
from matins.domain.runs.states import FINAL, Kind, RunState
from matins.testing.memory.revisions import past_of, unfinished_backfill
from matins.testing.memory.rows import BackfillRow, RunRow
from matins.testing.memory.world import JobRow, World

_HOLDS_UP: Final = timedelta(hours=1)


class MemoryBackfills:
    """The backfills of a world: both sides of them."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def find_job(self, team: str, name: str) -> BackfilledJob | None:
        """See `domain.ports.backfills.BackfillChanges`."""
        job = self._world.find_job(team, name)
        if job is None:
            return None
        return BackfilledJob(job.id, job.spec, past_of(self._world, job), self._world.now())

    async def job_past(self, job_id: UUID) -> JobPast:
        """See `domain.ports.backfills.BackfillSteps`."""
        return past_of(self._world, self._world.jobs[job_id])

    async def ledger(self, job_id: UUID, first: datetime, last: datetime) -> Ledger:
        """See `domain.ports.backfills.BackfillSteps`."""
        runs = self._world.runs.values()
        rows = [
            RecordedDue(run.due_at, run.kind, run.state)
            for run in runs
            if run.job_id == job_id and first <= run.due_at <= last
        ]
        purged = [self._world.dropped_until] if self._world.dropped_until else []
        purged += [purges[0] for purges in [self._world.purges.get(job_id)] if purges]
        return Ledger(rows, max(purged, default=None), self._world.jobs[job_id].next_due_at)

    async def create(self, backfill: NewBackfill) -> bool:
        """See `domain.ports.backfills.BackfillChanges`."""
        job, now = self._world.jobs[backfill.job_id], self._world.now()
        if job.state is JobState.DELETED or await self.find_unfinished(job.id) is not None:
            return False
        job.is_asked = True
        self._world.backfills[backfill.id] = BackfillRow(
            backfill.id,
            job.id,
            backfill.span,
            backfill.limit,
            backfill.planned,
            backfill.reason,
            made_at=now,
            rated=Rated(now, 0),
            left_out=[*backfill.gaps],
        )
        return True

    async def find_unfinished(self, job_id: UUID) -> UUID | None:
        """See `domain.ports.backfills.BackfillChanges`."""
        backfill = unfinished_backfill(self._world, job_id)
        return backfill.id if backfill else None

    async def change(
        self, backfill_id: UUID, before: Collection[BackfillState], state: BackfillState
    ) -> bool:
        """See `domain.ports.backfills.BackfillChanges`."""
        row = self._world.backfills.get(backfill_id)
        if row is None or row.finished_at is not None or row.state not in before:
            return False
        row.state = state
        row.step += 1
        if state is BackfillState.ACTIVE:
            row.rated = Rated(self._world.now(), row.ended.total())
        return True

    async def find_backfill(self, backfill_id: UUID) -> Backfill | None:
        """See `domain.ports.backfills.BackfillChanges`."""
        row = self._world.backfills.get(backfill_id)
        return None if row is None else self._shown(row)

    async def open_runs(self, backfill_id: UUID) -> list[UUID]:
        """See `domain.ports.backfills.BackfillChanges`."""
        return sorted(self._world.backfills[backfill_id].open)

    async def unfinished_backfills(self, partitions: Collection[int]) -> list[OpenBackfill]:
        """See `domain.ports.backfills.BackfillSteps`."""
        unfinished = []
        for row in self._world.backfills.values():
            job = self._world.jobs[row.job_id]
            if row.finished_at is None and job.partition in partitions:
                unfinished.append(self._open(row, job))
        return sorted(unfinished, key=lambda backfill: backfill.id)

    async def proceed(
        self, holder: UUID, epochs: Mapping[int, int], step: BackfillStep
    ) -> list[Waiting]:
        """See `domain.ports.backfills.BackfillSteps`."""
        row, partition = self._world.backfills.get(step.backfill.id), step.backfill.partition
        if row is None or row.finished_at is not None or row.step != step.backfill.step:
            return []
        if not self._world.fence(holder, epochs) & {partition}:
            return []
        job, now = self._world.jobs[row.job_id], self._world.now()
        made = []
        for run in step.runs if job.state is not JobState.DELETED else ():
            if self._insert(job, run, epochs[partition]):
                row.open.add(run.run_id)
                place = (run.run_id, partition, now, job.team_id, CLAIM)
                made.append(Waiting(*place, job.spec.pool, PRIORITIES["low"]))
        row.open -= {run.run_id for run in step.ended}
        row.step, row.state = row.step + 1, step.state
        row.mark, row.walked = step.mark, step.walked
        row.reason = step.reason or row.reason
        row.made += len(made)
        row.ended += step.ended_by_state()
        row.left_out += step.left_out
        if step.finished:
            row.finished_at, job.is_asked = now, False
        return made

    def _insert(self, job: JobRow, new: NewRun, epoch: int) -> bool:
        run = RunRow(
            id=new.run_id,
            job_id=job.id,
            due_at=new.due_at,
            fire_at=new.due_at,
            claimed_at=self._world.now(),
            epoch=epoch,
            partition=job.partition,
            pool=job.spec.pool,
            priority=PRIORITIES["low"],
            kind=Kind.BACKFILL,
            state=RunState.WAITING,
            reason=TO_BE_ADMITTED,
            revision=new.revision,
        )
        if not self._world.insert(run):
            return False
        self._world.wait(run, run.claimed_at, CLAIM)
        return True

    def _runs(self, row: BackfillRow) -> list[OpenBackfillRun]:
        runs = self._world.runs_by_id
        return [
            OpenBackfillRun(run_id, runs[run_id].state if run_id in runs else None)
            for run_id in sorted(row.open)
        ]

    def _open(self, row: BackfillRow, job: JobRow) -> OpenBackfill:
        return OpenBackfill(
            id=row.id,
            job_id=row.job_id,
            partition=job.partition,
            state=row.state,
            span=row.span,
            limit=row.limit,
            mark=row.mark,
            walked=row.walked,
            step=row.step,
            is_deleted=job.state is JobState.DELETED,
            is_held_up=self._is_held_up(job),
            runs=self._runs(row),
        )

    def _is_held_up(self, job: JobRow) -> bool:
        since = self._world.now() - _HOLDS_UP
        return any(
            run.state is RunState.WAITING
            and run.job_id == job.id
            and run.due_at >= since
            and run.kind is not Kind.BACKFILL
            for run in self._world.runs.values()
        )

    def _shown(self, row: BackfillRow) -> Backfill:
        job, now = self._world.jobs[row.job_id], self._world.now()
        states = Counter(run.state or RunState.CANCELLED for run in self._runs(row))
        ended = {state.value: row.ended[state] + states.pop(state, 0) for state in FINAL}
        left_out = Counter[str]()
        for group in row.left_out:
            left_out[group.reason] += group.due_count
        counts = BackfillCounts(row.planned, row.made, left_out.total(), **ended)
        per_hour, ends_at = None, None
        if row.state is BackfillState.ACTIVE:
            per_hour, ends_at = pace(counts, states.total(), row.rated, now, walked=row.walked)
        return Backfill(
            id=row.id,
            team=job.team,
            job=job.spec.name,
            state=row.state,
            since=row.span.since,
            until=row.span.until,
            order=row.span.order,
            limit=row.limit,
            again=row.span.again,
            counts=counts,
            made_at=row.made_at,
            finished_at=row.finished_at,
            reason=row.reason,
            unfinished=dict(states),
            per_hour=per_hour,
            ends_at=ends_at,
            left_out={reason: count for reason, count in sorted(left_out.items()) if count},
            ranges=sorted(row.left_out, key=lambda group: group.first_at)[:LIST_MAX],
        )
