"""The gateway's and the watch's side of runs, in memory. See `domain.ports`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from heapq import heappop, heappush
from uuid import UUID

from matins.domain.executors.fleet import SILENT
from matins.domain.executors.liveness import ExecutorSeen
from matins.domain.executors.protocol import (
    End,
    Ending,
    Handout,
    Heartbeat,
    HeartbeatAnswer,
    Poll,
    Recorded,
    Running,
    RunStatus,
    Stop,
)
from matins.domain.jobs.spec import JobState
from matins.domain.runs.admission.waiting import RETRY
from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.fingerprint import failure_of
from matins.domain.runs.inputs import with_input
from matins.domain.runs.ranking import Started
from matins.domain.runs.states import SUSPECT_AFTER, Kind, Outcome, RunState, Tried
from matins.domain.values.errors import InvalidInputError
from matins.kernel.ends import note_ends
from matins.testing.memory.pools import note_starts
from matins.testing.memory.revisions import spec_of
from matins.testing.memory.rows import ExecutorRow, LetterRow, RunRow, StoredAttempt
from matins.testing.memory.world import World


class MemoryDispatch:
    """The dispatch queue of a world, and its executors."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def dequeue(self, poll: Poll, pool: str) -> Handout | None:
        """See `domain.ports.Dispatch`."""
        executor = self._world.executors.get(poll.executor)
        if executor is None or executor.ended_at is not None or executor.is_done(poll.seq):
            return Handout(unknown=True)
        key = (poll.executor, poll.seq)
        if key in self._world.handouts and self._world.queues.get(pool):
            return await self.find_handout(poll) or Handout()
        started = self._start(poll, pool)
        if not started:
            return None
        self._world.handouts[key] = [run.id for run in started]
        return self._handout(started)

    async def find_handout(self, poll: Poll) -> Handout | None:
        """See `domain.ports.Dispatch`."""
        run_ids = self._world.handouts.get((poll.executor, poll.seq), [])
        running = _held(self._world, poll.executor, run_ids)
        return self._handout(running) if running else None

    async def running_runs(self, executor: UUID, run_ids: Collection[UUID]) -> list[Running]:
        """See `domain.ports.Dispatch`."""
        return [_running(self._world, run) for run in _held(self._world, executor, run_ids)]

    async def record(self, executor: UUID, endings: Sequence[Ending]) -> list[Recorded]:
        """See `domain.ports.Dispatch`."""
        return record(self._world, executor, endings)

    async def which_recorded(self, ends: Collection[tuple[UUID, int]]) -> set[UUID]:
        """See `domain.ports.Dispatch`."""
        return {run_id for run_id, number in ends if (run_id, number) in self._world.attempts}

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """See `domain.ports.Dispatch`."""
        now = self._world.now()
        row = self._world.executors.get(heartbeat.executor)
        if row is None:
            row = ExecutorRow(
                heartbeat.executor, heartbeat.name, heartbeat.pools, heartbeat.slots, now
            )
            self._world.executors[heartbeat.executor] = row
        if row.ended_at is not None:
            return HeartbeatAnswer(lost=True)
        row.heartbeat_at, row.pools, row.slots = now, heartbeat.pools, heartbeat.slots
        row.hear(heartbeat)
        for seq in heartbeat.closed:
            self._world.handouts.pop((heartbeat.executor, seq), None)
        self._put_back(heartbeat)
        stops = [
            stop
            for run_id, number in heartbeat.held
            if (stop := self._stop(heartbeat, run_id, number))
        ]
        if heartbeat.stopped:
            row.ended_at, row.stopped = now, True
        return HeartbeatAnswer(stops)

    async def queue_depth(self, pool: str, limit: int) -> int:
        """See `domain.ports.Dispatch`."""
        return min(limit, len(self._world.queues.get(pool, [])))

    async def free_elsewhere(
        self, pools: Sequence[str], known: Collection[UUID]
    ) -> dict[str, list[int]]:
        """See `domain.ports.Dispatch`."""
        found: dict[str, list[int]] = {}
        alive = self._world.now() - SILENT
        for row in self._world.executors.values():
            handouts = (
                ids for (holder, _), ids in self._world.handouts.items() if holder == row.id
            )
            free = row.slots - sum(map(len, handouts))
            if (
                row.ended_at is None
                and row.heartbeat_at > alive
                and row.id not in known
                and free > 0
            ):
                for pool in set(pools).intersection(row.pools):
                    found.setdefault(pool, []).append(free)
        return found

    async def note_starts(self, started: Sequence[Started]) -> None:
        """See `domain.ports.Dispatch`."""
        note_starts(self._world, started)

    def _start(self, poll: Poll, pool: str) -> list[RunRow]:
        queue = self._world.queues.get(pool, [])
        started: list[RunRow] = []
        passed: list[tuple[int, UUID]] = []
        has_suspect = self._has_suspect(poll.executor)
        dequeued = 0
        while queue and dequeued < poll.free:
            place = heappop(queue)
            run = self._world.runs_by_id[place[1]]
            if _is_suspect(run):
                if has_suspect:
                    passed.append(place)
                    continue
                has_suspect = True
            dequeued += 1
            if run.state is RunState.QUEUED:
                run.attempt += 1
                run.executor = poll.executor
                run.started_at = self._world.now()
                self._world.move(run, RunState.RUNNING)
                started.append(run)
        for place in passed:
            heappush(queue, place)
        return started

    def _has_suspect(self, executor: UUID) -> bool:
        held_ids = [
            run_id
            for (holder, _), run_ids in self._world.handouts.items()
            if holder == executor
            for run_id in run_ids
        ]
        return any(_is_suspect(run) for run in _held(self._world, executor, held_ids))

    def _put_back(self, heartbeat: Heartbeat) -> None:
        """Hand-outs that never arrived go back to the front, with the attempt not used up."""
        known = {*heartbeat.awaiting, *heartbeat.open, *heartbeat.closed}
        handouts = self._world.handouts
        dropped = [
            key
            for key in handouts
            if key[0] == heartbeat.executor and key[1] < heartbeat.next_seq and key[1] not in known
        ]
        for key in dropped:
            for run in _held(self._world, heartbeat.executor, handouts.pop(key)):
                run.attempt -= 1
                run.executor = run.started_at = None
                is_deleted = self._world.jobs[run.job_id].state is JobState.DELETED
                if run.cancel_at is None and not is_deleted:
                    self._world.move(run, RunState.QUEUED)
                    self._world.enqueue(run, run.rank)
                else:
                    run.finished_at = self._world.now()
                    self._world.give_back(run)
                    self._world.move(run, RunState.CANCELLED)

    def _stop(self, heartbeat: Heartbeat, run_id: UUID, number: int) -> Stop | None:
        runs = _held(self._world, heartbeat.executor, [run_id])
        if not runs or runs[0].attempt != number:
            return Stop(run_id, number, "superseded")
        return Stop(run_id, number, "cancelled") if runs[0].cancel_at is not None else None

    def _handout(self, runs: Sequence[RunRow]) -> Handout:
        """Runs end here whose job was deleted, or has another kind of target than their input."""
        attempts = []
        for run in runs:
            if self._world.jobs[run.job_id].state is JobState.DELETED:
                self._end(run, Outcome.CANCELLED, RunState.CANCELLED, "its job was deleted")
                continue
            try:
                attempts.append(self._attempt(run))
            except InvalidInputError as error:
                message = f"its input does not fit its job any more: {error}"
                self._end(run, Outcome.FAILED, RunState.DEAD, message)
        return Handout(attempts)

    def _end(self, run: RunRow, outcome: Outcome, state: RunState, reason: str) -> None:
        assert run.executor is not None
        end = End(run.id, run.attempt, Result(outcome, reason))
        _end(self._world, run, run.executor, Ending(end, state, reason))
        note_ends([status_of(self._world, run)])

    def _attempt(self, run: RunRow) -> Attempt:
        job, spec = self._world.jobs[run.job_id], spec_of(self._world, run)
        return Attempt(
            run_id=run.id,
            number=run.attempt,
            due_at=run.due_at,
            team=job.team,
            job=job.spec.name,
            target=with_input(spec.target, run.input),
            timeout_s=spec.timeout_s,
            kind=run.kind,
            alone=_is_suspect(run),
            started_at=run.started_at,
        )


class MemoryWatch:
    """The silent executors of a world. See `domain.ports.Watch`."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def executors(self) -> list[ExecutorSeen]:
        """See `domain.ports.Watch`."""
        rows = self._world.executors.values()
        return [
            ExecutorSeen(row.id, row.name, row.heartbeat_at) for row in rows if row.ended_at is None
        ]

    async def declare_lost(self, executor: UUID, heartbeat_at: datetime) -> bool:
        """See `domain.ports.Watch`."""
        row = self._world.executors[executor]
        if row.ended_at is not None or row.heartbeat_at != heartbeat_at:
            return False
        row.ended_at = self._world.now()
        return True

    async def abandoned_runs(self, limit: int) -> list[tuple[UUID, list[Running]]]:
        """See `domain.ports.Watch`."""
        abandoned: dict[UUID, list[Running]] = {}
        left = limit
        for (executor, _), run_ids in self._world.handouts.items():
            row = self._world.executors.get(executor)
            if row is None or row.ended_at is None:
                continue
            for run in _held(self._world, executor, run_ids)[:left]:
                abandoned.setdefault(executor, []).append(_running(self._world, run))
                left -= 1
        return list(abandoned.items())

    async def drop_handouts(self, executor: UUID) -> None:
        """See `domain.ports.Watch`."""
        handouts = self._world.handouts
        for key in [handout for handout in handouts if handout[0] == executor]:
            if not _held(self._world, executor, handouts[key]):
                del handouts[key]

    async def record(self, executor: UUID, endings: Sequence[Ending]) -> list[Recorded]:
        """See `domain.ports.Watch`."""
        return record(self._world, executor, endings)


def record(world: World, executor: UUID, endings: Sequence[Ending]) -> list[Recorded]:
    """Record ends where (run, attempt, executor) is still running; gives those that were."""
    return [
        _end(world, run, executor, ending)
        for ending in endings
        for run in _held(world, executor, [ending.end.run_id])
        if run.attempt == ending.end.number
    ]


def _end(world: World, run: RunRow, executor: UUID, ending: Ending) -> Recorded:
    now = world.now()
    result = ending.end.result
    state = ending.state
    if state is RunState.RETRYING and run.cancel_at is not None:
        state = RunState.CANCELLED
    run.reason = ending.reason
    run.lost_count += result.outcome is Outcome.LOST
    run.shared_losses += ending.shared
    if state is RunState.RETRYING:
        assert ending.retry_in_s is not None
        run.retry_at = now + timedelta(seconds=ending.retry_in_s)
        world.wait(run, run.retry_at, RETRY)
    else:
        run.finished_at = now
    failure = failure_of(result)
    if state is RunState.DEAD:
        world.dead_letters[run.id] = LetterRow(run.id, now, failure)
    attempt = (result.outcome, result.reason, run.started_at, now, failure)
    world.attempts[run.id, run.attempt] = StoredAttempt(run.id, run.attempt, executor, *attempt)
    world.give_back(run)
    world.move(run, state)
    is_awaited = world.jobs[run.job_id].spec.overlapping.policy in ("queue", "replace")
    makes_up = run.kind is Kind.BACKFILL or run.awaits_replay is not None
    awaited = run.job_id if is_awaited or makes_up else None
    return Recorded(status_of(world, run), awaited)


def status_of(world: World, run: RunRow) -> RunStatus:
    """Return the status of a run, as it is polled."""
    job = world.jobs[run.job_id]
    return RunStatus(
        id=run.id,
        team=job.team,
        job=job.spec.name,
        kind=run.kind,
        state=run.state,
        due_at=run.due_at,
        fire_at=run.fire_at,
        attempt=run.attempt,
        reason=run.reason,
        claimed_at=run.claimed_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        retry_at=run.retry_at,
    )


def _held(world: World, executor: UUID, run_ids: Collection[UUID]) -> list[RunRow]:
    """Return those of the runs that are running on this executor."""
    runs = [world.runs_by_id[run_id] for run_id in run_ids if run_id in world.runs_by_id]
    return [run for run in runs if run.state is RunState.RUNNING and run.executor == executor]


def _is_suspect(run: RunRow) -> bool:
    return run.shared_losses >= SUSPECT_AFTER


def _running(world: World, run: RunRow) -> Running:
    job = world.jobs[run.job_id]
    is_cancelled = run.cancel_at is not None or job.state is JobState.DELETED
    age_s = (world.now() - run.claimed_at).total_seconds()
    tried = Tried(run.attempt, run.lost_count, is_cancelled, run.shared_losses, age_s)
    return Running(run.id, tried, spec_of(world, run).retrying)
