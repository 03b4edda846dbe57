"""Check-ins in memory. See `domain.ports.alerts.CheckinStore`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from matins.domain.alerts.checkins import AHEAD, PACE
from matins.domain.jobs.spec import PRIORITIES, JobState
from matins.domain.ports.alerts import Pinged, TakenPing
from matins.domain.runs.fingerprint import failure_of
from matins.domain.runs.states import Kind, Outcome, RunState
from matins.testing.memory.alert_rows import CheckinRow
from matins.testing.memory.rows import RunRow, StoredAttempt
from matins.testing.memory.world import JobRow, World

_NOBODY = UUID(int=0)
_US = timedelta(microseconds=1)


class MemoryCheckins:
    """The check-ins of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def rotate(self, team: str, name: str, token_hash: bytes) -> bool:
        """See `domain.ports.alerts.CheckinStore`."""
        job, now, tables = self._world.find_job(team, name), self._world.now(), self._world.alerts
        if job is None or not _is_checkin(job):
            return False
        new = CheckinRow(job.id, token_hash, now, next_at=now)
        row = tables.checkins.get(job.id, new)
        tables.put(replace(row, token_hash=token_hash, made_at=now))
        return True

    async def take(self, token_hash: bytes, *, begins: bool) -> TakenPing | None:
        """See `domain.ports.alerts.CheckinStore`."""
        now, row = self._world.now(), self._find(token_hash)
        if row is None or row.next_at > now + AHEAD:
            return None
        started_at = now if begins else row.started_at
        next_at = max(row.next_at, now) + PACE
        self._world.alerts.put(replace(row, next_at=next_at, started_at=started_at))
        return TakenPing(row.job_id, now, started_at)

    async def knows(self, token_hash: bytes) -> bool:
        """See `domain.ports.alerts.CheckinStore`."""
        return self._find(token_hash) is not None

    async def record(self, pinged: Pinged) -> bool:
        """See `domain.ports.alerts.CheckinStore`."""
        world, result = self._world, pinged.result
        job, now = world.jobs[pinged.taken.job_id], pinged.taken.now
        is_success = result.outcome is Outcome.SUCCEEDED
        run = RunRow(
            id=pinged.run_id,
            job_id=job.id,
            due_at=pinged.due_at,
            fire_at=pinged.due_at,
            claimed_at=now,
            epoch=0,
            partition=job.partition,
            pool=job.spec.pool,
            priority=PRIORITIES[job.spec.priority],
            kind=Kind.MANUAL,
            state=RunState.SUCCEEDED if is_success else RunState.DEAD,
            reason=result.reason,
            attempt=1,
            started_at=pinged.started_at,
            finished_at=now,
        )
        if not world.insert(run):
            return False
        attempt = result.outcome, result.reason, pinged.started_at or now, now
        world.attempts[run.id, 1] = StoredAttempt(run.id, 1, _NOBODY, *attempt, failure_of(result))
        self._note(run)
        world.wake_chains(job, run.due_at)
        return True

    def _note(self, run: RunRow) -> None:
        """Note an end, and let the job be looked at by somebody who has not looked before."""
        tables, ended_at = self._world.alerts, run.claimed_at
        if (row := tables.checkins.get(run.job_id)) is not None:
            is_success = run.state is RunState.SUCCEEDED
            row = replace(row, state="succeeded" if is_success else "dead")
            tables.put(replace(row, started_at=None, ended_at=ended_at))
        if (watch := tables.watches.get(run.job_id)) is not None:
            looked_at = (watch.looked_at or ended_at) - _US
            look_at = min(watch.look_at, ended_at)
            tables.put(replace(watch, look_at=look_at, looked_at=looked_at))

    def _find(self, token_hash: bytes) -> CheckinRow | None:
        for row in self._world.alerts.checkins.values():
            if row.token_hash == token_hash and _is_checkin(self._world.jobs[row.job_id]):
                return row
        return None


def _is_checkin(job: JobRow) -> bool:
    return job.state is not JobState.DELETED and job.spec.target.checkin is not None
