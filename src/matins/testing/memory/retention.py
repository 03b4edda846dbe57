"""Runs in the history, in memory. See `domain.ports.upkeep.Retention`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

import msgspec

from matins.domain.jobs.keeping import kept
from matins.domain.runs.states import RunState
from matins.domain.upkeep.retention import Cut, DaySpan, JobRetention, OldRun, Scope, Walk
from matins.testing.memory.days import counts_runs
from matins.testing.memory.revisions import unfinished_backfill
from matins.testing.memory.rows import RunRow
from matins.testing.memory.world import World, day_of


class MemoryRetention:
    """The runs of a world whose days are in the history; what a team keeps is as usual."""

    def __init__(self, world: World, usual_days: int) -> None:
        self._world = world
        self._usual_days = usual_days

    async def scope(self) -> Scope:
        """See `domain.ports.upkeep.Retention`."""
        keeps = [job.spec.keep for job in self._world.jobs.values() if job.spec.keep is not None]
        longest = max([self._usual_days, *(kept(keep).longest_days for keep in keeps)])
        return Scope(longest, bool(keeps), self._world.now())

    async def runs_of(self, day: date, after: UUID, limit: int) -> list[OldRun]:
        """See `domain.ports.upkeep.Retention`."""
        runs = [run for run in self._past() if day_of(run.due_at) == day and run.id > after]
        return self._old(sorted(runs, key=lambda run: run.id)[:limit])

    async def walk(self) -> Walk:
        """See `domain.ports.upkeep.Retention`."""
        return self._world.walk

    async def record_walk(self, after: UUID | None, began_at: datetime) -> None:
        """See `domain.ports.upkeep.Retention`."""
        self._world.walk = Walk(after, began_at)

    async def jobs(self, after: UUID, limit: int) -> list[JobRetention]:
        """See `domain.ports.upkeep.Retention`."""
        jobs = [job for job in self._world.jobs.values() if job.id > after and not counts_runs(job)]
        return [
            JobRetention(
                job.id,
                kept(job.spec.keep, usual_days=self._usual_days),
                min(self._world.purges[job.id]) if job.id in self._world.purges else None,
            )
            for job in sorted(jobs, key=lambda job: job.id)[:limit]
        ]

    async def nth_newest(self, job_id: UUID, nth: int, *, succeeded: bool) -> datetime | None:
        """See `domain.ports.upkeep.Retention`."""
        dues = sorted(
            run.due_at
            for run in self._world.runs.values()
            if run.job_id == job_id and (run.state is RunState.SUCCEEDED) == succeeded
        )
        return dues[-nth] if len(dues) >= nth else None

    async def spans(self, until: datetime) -> list[DaySpan]:
        """See `domain.ports.upkeep.Retention`."""
        days = self._world.days | self._world.past_days
        return [_span(day) for day in sorted(days) if day <= day_of(until)]

    async def old_runs(self, span: DaySpan, cuts: Sequence[Cut], limit: int) -> list[OldRun]:
        """See `domain.ports.upkeep.Retention`."""
        of_jobs = {cut.job_id: cut for cut in cuts}
        runs = [
            run
            for run in self._past()
            if span.first <= run.due_at < span.past
            and run.job_id in of_jobs
            and _is_too_old(run, of_jobs[run.job_id])
            and not self._world.dead_letters.has_open(run.id)
        ]
        return self._old(runs[:limit])

    async def delete_runs(self, span: DaySpan, run_ids: Collection[UUID]) -> None:
        """See `domain.ports.upkeep.Retention`."""
        for run in [run for run in self._past() if run.id in run_ids]:
            if span.first <= run.due_at < span.past:
                self._world.delete(run)

    async def record_purged(self, cuts: Sequence[Cut]) -> None:
        """See `domain.ports.upkeep.Retention`."""
        purges = self._world.purges
        for cut in cuts:
            until = (cut.succeeded_until, cut.others_until)
            succeeded, unsuccessful = purges.get(cut.job_id, until)
            purges[cut.job_id] = (max(succeeded, until[0]), max(unsuccessful, until[1]))

    def _past(self) -> list[RunRow]:
        past = self._world.past_days
        return [run for run in self._world.runs.values() if day_of(run.due_at) in past]

    def _old(self, runs: Iterable[RunRow]) -> list[OldRun]:
        return [OldRun(run.id, run.due_at, self._line(run)) for run in runs]

    def _line(self, run: RunRow) -> str:
        job = self._world.jobs[run.job_id]
        ended = self._world.attempts.values()
        attempts = [asdict(attempt) for attempt in ended if attempt.run_id == run.id]
        named = {"team": job.team, "job": job.spec.name, "attempts": attempts}
        return msgspec.json.encode(asdict(run) | named).decode()


class MemoryLeftovers:
    """See `domain.ports.upkeep.Leftovers`."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def forget_handouts(self, before: datetime, limit: int) -> None:
        """See `domain.ports.upkeep.Leftovers`."""
        holders = {executor for executor, _ in self._world.handouts}
        ended = [executor for executor in self._ended(before) if executor in holders][:limit]
        running = {
            run.id: run.executor
            for run in self._world.runs.values()
            if run.state is RunState.RUNNING
        }
        self._world.handouts = {
            (executor, seq): run_ids
            for (executor, seq), run_ids in self._world.handouts.items()
            if executor not in ended or any(running.get(run_id) == executor for run_id in run_ids)
        }

    async def delete_executors(self, before: datetime, limit: int) -> int:
        """See `domain.ports.upkeep.Leftovers`."""
        holders = {executor for executor, _ in self._world.handouts}
        gone = [executor for executor in self._ended(before) if executor not in holders][:limit]
        for executor in gone:
            del self._world.executors[executor]
        return len(gone)

    async def delete_trigger_keys(self, before: datetime, limit: int) -> int:
        """See `domain.ports.upkeep.Leftovers`."""
        keys = self._world.trigger_keys
        gone = [key for key, row in keys.items() if row.made_at < before][:limit]
        for key in gone:
            del keys[key]
        return len(gone)

    async def delete_revisions(self, before: datetime, limit: int) -> int:
        """See `domain.ports.upkeep.Leftovers`."""
        left = limit
        for job_id, revisions in self._world.revisions.items():
            if unfinished_backfill(self._world, job_id):
                continue
            replaced = sum(revision.effective_at < before for revision in revisions[1:])
            del revisions[: min(replaced, left)]
            left -= min(replaced, left)
        return limit - left

    async def delete_replays(self, before: datetime, limit: int) -> int:
        """See `domain.ports.upkeep.Leftovers`."""
        rows = self._world.replays.values()
        gone = [row.id for row in rows if row.finished_at is not None and row.finished_at < before]
        for replay_id in gone[:limit]:
            del self._world.replays[replay_id]
        return len(gone[:limit])

    async def delete_backfills(self, before: datetime, limit: int) -> int:
        """See `domain.ports.upkeep.Leftovers`."""
        rows = self._world.backfills.values()
        gone = [row.id for row in rows if row.finished_at is not None and row.finished_at < before]
        for backfill_id in gone[:limit]:
            del self._world.backfills[backfill_id]
        return len(gone[:limit])

    def _ended(self, before: datetime) -> list[UUID]:
        executors = self._world.executors.values()
        return [
            executor.id
            for executor in executors
            if executor.ended_at is not None and executor.ended_at < before
        ]


def _span(day: date) -> DaySpan:
    first = datetime.combine(day, time.min, UTC)
    return DaySpan(first, first + timedelta(days=1))


def _is_too_old(run: RunRow, cut: Cut) -> bool:
    succeeded = run.state is RunState.SUCCEEDED
    return run.due_at < (cut.succeeded_until if succeeded else cut.others_until)
