"""Single runs that are made or ended by their owners, in memory. See `domain.ports.runs`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from matins.domain.executors.protocol import RunStatus
from matins.domain.jobs.spec import PRIORITIES, JobState
from matins.domain.ports.runs import ChangedRun, FoundJob, KeyedRun, TriggeredRun
from matins.domain.runs.admission.waiting import RETRY, TO_BE_ADMITTED, Verdict
from matins.domain.runs.dead import Dismissal
from matins.domain.runs.fingerprint import Failure
from matins.domain.runs.inputs import NO_INPUT, RunInput
from matins.domain.runs.states import FINAL, Kind, RunState
from matins.testing.memory.dead import reopen
from matins.testing.memory.dispatch import status_of
from matins.testing.memory.open_runs import open_run, rows_of
from matins.testing.memory.rows import LetterRow, RunRow, TriggerKeyRow
from matins.testing.memory.world import World


class MemoryRunChanges:
    """See `domain.ports.runs.RunChanges`."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def find_job(
        self, team: str, name: str, key: str | None = None, replay_of: UUID | None = None
    ) -> FoundJob | None:
        """See `domain.ports.runs.RunChanges`."""
        job = self._world.find_job(team, name)
        if job is None:
            return None
        row = self._world.trigger_keys.get((job.id, key or ""))
        keyed = KeyedRun(row.run_id, row.fingerprint) if row else None
        overlap = job.spec.overlapping.policy
        runs = rows_of(self._world, job.id, job.open_since) if overlap == "skip" else []
        first = min(runs, key=lambda run: run.due_at, default=None)
        return FoundJob(
            job.id,
            self._world.now(),
            overlap,
            open_run(first) if first else None,
            job.spec.target,
            keyed,
            self._has_letter(job_id=job.id, run_id=replay_of),
        )

    async def trigger(  # noqa: PLR0913 # what a run is made of
        self,
        run_id: UUID,
        job_id: UUID,
        due_at: datetime,
        verdict: Verdict,
        run_input: RunInput = NO_INPUT,
        key: str | None = None,
        *,
        allow_overlap: bool = False,
        replay_of: UUID | None = None,
        by: str = "",
    ) -> TriggeredRun | None:
        """See `domain.ports.runs.RunChanges`."""
        job, now = self._world.jobs[job_id], self._world.now()
        run = RunRow(
            id=run_id,
            job_id=job_id,
            due_at=due_at,
            fire_at=due_at,
            claimed_at=now,
            epoch=0,
            partition=job.partition,
            pool=job.spec.pool,
            priority=PRIORITIES[job.spec.priority],
            kind=Kind.MANUAL,
            state=verdict.state,
            reason=verdict.reason,
            finished_at=now if verdict.state is RunState.SKIPPED else None,
            allow_overlap=allow_overlap,
            input=run_input,
            replay_of=replay_of,
        )
        if run.state is RunState.QUEUED and self._world.is_gated(job_id):
            run.state, run.reason = RunState.WAITING, TO_BE_ADMITTED
        if job.state is JobState.DELETED or (job_id, key) in self._world.trigger_keys:
            return None
        is_late = replay_of is not None and not self._has_letter(job_id, replay_of)
        if is_late or not self._world.insert(run):
            return None
        self._close_letter(replay_of, run, by)
        if key is not None:
            self._world.trigger_keys[job_id, key] = TriggerKeyRow(
                run_id,
                run_input.fingerprint(allow_overlap=allow_overlap, replay_of=replay_of),
                now,
            )
        self._world.place(run)
        self._world.wake_chains(job, due_at)
        return TriggeredRun(status_of(self._world, run), run.pool)

    def _close_letter(self, run_id: UUID | None, stand_in: RunRow, by: str) -> None:
        if run_id is None:
            return
        stand_in.replayed_by = by
        letter = self._world.dead_letters[run_id]
        dismissal = Dismissal(by, f"replayed as run {stand_in.id}")
        self._world.dead_letters[run_id] = replace(
            letter,
            dismissed_at=stand_in.claimed_at,
            dismissal=dismissal,
            replayed_as=stand_in.id,
        )

    def _has_letter(self, job_id: UUID, run_id: UUID | None) -> bool:
        letter = self._world.dead_letters.get(run_id) if run_id else None
        if letter is None or letter.replayed_as is not None:
            return False
        return self._world.runs_by_id[letter.run_id].job_id == job_id

    async def cancel(self, run_id: UUID, reason: str) -> ChangedRun | None:
        """See `domain.ports.runs.RunChanges`."""
        run = self._world.runs_by_id.get(run_id)
        if run is None or run.state in FINAL:
            return None
        run.cancel_at = run.cancel_at or self._world.now()
        self._world.cancel_waiting(run, reason)
        return ChangedRun(status_of(self._world, run), run.job_id)

    async def retry_now(self, run_id: UUID) -> ChangedRun | None:
        """See `domain.ports.runs.RunChanges`."""
        run = self._world.runs_by_id.get(run_id)
        if run is None or run.state is not RunState.RETRYING:
            return None
        assert run.retry_at is not None
        run.retry_at = min(run.retry_at, self._world.now())
        self._world.wait(run, run.retry_at, RETRY)
        return ChangedRun(status_of(self._world, run), run.job_id)

    async def stop_retrying(self, run_id: UUID, reason: str) -> ChangedRun | None:
        """See `domain.ports.runs.RunChanges`."""
        run = self._world.runs_by_id.get(run_id)
        if run is None or run.state is not RunState.RETRYING:
            return None
        self._world.waiting.pop((run.partition, run.id), None)
        run.reason = f"{reason}; at last: {run.reason}"
        run.retry_at, run.finished_at = None, self._world.now()
        last = self._world.attempts.get((run.id, run.attempt))
        failure = last.failure if last else Failure()
        self._world.dead_letters[run.id] = LetterRow(run.id, run.finished_at, failure)
        self._world.move(run, RunState.DEAD)
        return ChangedRun(status_of(self._world, run), run.job_id)

    async def replay(self, run_id: UUID, by: str = "") -> RunStatus | None:
        """See `domain.ports.runs.RunChanges`."""
        run = self._world.runs_by_id.get(run_id)
        if run is None or not reopen(self._world, run, by):
            return None
        return status_of(self._world, run)

    async def status(self, run_id: UUID) -> RunStatus | None:
        """See `domain.ports.runs.RunChanges`."""
        run = self._world.runs_by_id.get(run_id)
        return status_of(self._world, run) if run else None
