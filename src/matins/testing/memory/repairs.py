"""Rows beside runs, in memory. See `domain.ports.upkeep.RunRepairs`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from uuid import UUID

from matins.domain.runs.admission.waiting import LOST, RETRY
from matins.domain.runs.states import RunState
from matins.domain.upkeep.healing import Repaired, StrayRun
from matins.testing.memory.rows import ExecutorRow, RunRow
from matins.testing.memory.world import World

_WAIT = (RunState.WAITING, RunState.RETRYING)
_BEGUN = (RunState.QUEUED, RunState.RUNNING)


class MemoryRepairs:
    """See `domain.ports.upkeep.RunRepairs`."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def repair(self, after: UUID, limit: int, min_age_s: float) -> Repaired:
        """See `domain.ports.upkeep.RunRepairs`."""
        ids = sorted(run_id for run_id in self._world.runs_by_id if run_id > after)[:limit]
        latest = self._world.now() - timedelta(seconds=min_age_s)
        page = [self._world.runs_by_id[run_id] for run_id in ids]
        unfinished = [run for run in page if run.finished_at is None and run.claimed_at < latest]
        return Repaired(
            count=len(page),
            last=ids[-1] if ids else None,
            enqueued=self._enqueue(run for run in unfinished if run.state is RunState.QUEUED),
            rescheduled=self._reschedule(run for run in unfinished if run.state in _WAIT),
            running=[run.id for run in unfinished if run.state is RunState.RUNNING],
        )

    async def stray_runs(self, run_ids: Collection[UUID]) -> list[StrayRun]:
        """See `domain.ports.upkeep.RunRepairs`."""
        runs = (self._world.runs_by_id[run_id] for run_id in run_ids)
        return [self._stray(run) for run in runs if self._is_stray(run)]

    async def hand_out_again(self, executor: UUID, run_ids: Collection[UUID]) -> None:
        """See `domain.ports.upkeep.RunRepairs`."""
        world, now = self._world, self._world.now()
        unknown = ExecutorRow(executor, "unknown", [], 0, now, ended_at=now)
        world.executors.setdefault(executor, unknown)
        runs = (world.runs_by_id[run_id] for run_id in run_ids)
        strays = [run.id for run in runs if run.executor == executor and self._is_stray(run)]
        if strays:
            world.handouts.setdefault((executor, 0), []).extend(strays)

    async def free_permits(self) -> list[UUID]:
        """See `domain.ports.upkeep.RunRepairs`."""
        freed: list[UUID] = []
        for row in self._world.gates.rows.values():
            over = [permit for permit in row.permits if not self._is_begun(permit)]
            row.permits.difference_update(over)
            freed += over
        return freed

    def _is_begun(self, run_id: UUID) -> bool:
        run = self._world.runs_by_id.get(run_id)
        return run is not None and run.holds_permits and run.state in _BEGUN

    def _enqueue(self, runs: Iterable[RunRow]) -> list[UUID]:
        """Put runs on the queue that are not there."""
        places = {run_id for queue in self._world.queues.values() for _, run_id in queue}
        missing = [run for run in runs if run.id not in places]
        for run in missing:
            self._world.enqueue(run, run.rank)
        return [run.id for run in missing]

    def _reschedule(self, runs: Iterable[RunRow]) -> list[UUID]:
        missing = []
        for run in runs:
            row = self._world.waiting.get((run.partition, run.id))
            if row is None or (run.retry_at is not None and row.ready_at != run.retry_at):
                cause = LOST if run.retry_at is None else RETRY
                self._world.wait(run, run.retry_at or self._world.now(), cause)
                missing.append(run.id)
        return missing

    def _is_stray(self, run: RunRow) -> bool:
        if run.state is not RunState.RUNNING:
            return False
        handouts = self._world.handouts.items()
        is_handed_out = any(
            run.id in ids for (executor, _), ids in handouts if executor == run.executor
        )
        return run.executor not in self._world.executors or not is_handed_out

    def _stray(self, run: RunRow) -> StrayRun:
        assert run.executor is not None
        assert run.started_at is not None
        executor = self._world.executors.get(run.executor)
        return StrayRun(
            run_id=run.id,
            executor=run.executor,
            is_executor_alive=executor is not None and executor.ended_at is None,
            started_at=run.started_at,
            timeout=self._world.jobs[run.job_id].spec.timeout,
            now=self._world.now(),
        )
