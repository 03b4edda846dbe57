"""A small world behind a gateway: runs, queue and hand-outs in memory, with answers to be lost."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from datetime import UTC, datetime
from uuid import UUID

import msgspec
from tests.ids import run_numbered

from matins.domain.executors.protocol import (
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
from matins.domain.jobs.retry import RetryPolicy
from matins.domain.jobs.targets import HttpTarget, Target
from matins.domain.runs.attempts import Attempt
from matins.domain.runs.ranking import Started
from matins.domain.runs.states import FINAL, RunState, Tried
from matins.domain.values.errors import BlockedError, UnavailableError

DUE = datetime(2026, 1, 2, 2, 0, tzinfo=UTC)


class Row(msgspec.Struct):
    """A run."""

    id: UUID
    pool: str
    state: RunState = RunState.QUEUED
    attempt: int = 0
    lost_count: int = 0
    executor: UUID | None = None
    cancel: bool = False
    reason: str = ""
    retry_in_s: float | None = None
    policy: RetryPolicy = RetryPolicy()


class Rows:
    """The Dispatch port. `lost_answers[name]` calls of that name do their work and then fail."""

    def __init__(self) -> None:
        self.started: list[Started] = []
        self.runs: dict[UUID, Row] = {}
        self.queue: dict[str, deque[UUID]] = defaultdict(deque)
        self.handouts: dict[tuple[UUID, int], list[UUID]] = {}
        self.ends: dict[tuple[UUID, int], Ending] = {}
        self.executors: dict[UUID, Heartbeat] = {}
        self.ended: set[UUID] = set()
        self.calls: Counter[str] = Counter()
        self.batches: list[int] = []
        self.lost_answers: Counter[str] = Counter()
        self.poisoned: set[UUID] = set()
        self.locked: set[UUID] = set()
        self.unfit: set[UUID] = set()
        """Executors for which there is never anything."""
        self.started_at = DUE
        """When attempts start."""
        self.open = asyncio.Event()
        """While it is not set, statements hang."""
        self.open.set()

    def enqueue(self, count: int = 1, pool: str = "default") -> list[UUID]:
        """Put runs on the queue."""
        first = len(self.runs) + 1
        made = [Row(run_numbered(number), pool) for number in range(first, first + count)]
        self.runs |= {row.id: row for row in made}
        self.queue[pool].extend(row.id for row in made)
        return [row.id for row in made]

    def states(self) -> Counter[RunState]:
        """Return how many runs are in each state."""
        return Counter(row.state for row in self.runs.values())

    async def dequeue(self, poll: Poll, pool: str) -> Handout | None:
        """See `domain.ports.Dispatch`."""
        await self._enter("dequeue")
        heartbeat = self.executors.get(poll.executor)
        if heartbeat is None or poll.executor in self.ended:
            return Handout(unknown=True)
        if poll.seq < heartbeat.next_seq and poll.seq not in (*heartbeat.awaiting, *heartbeat.open):
            return Handout(unknown=True)
        if (poll.executor, poll.seq) in self.handouts:
            return await self.find_handout(poll) or Handout()
        waiting = self.queue[pool] if poll.executor not in self.unfit else deque[UUID]()
        dequeued = [waiting.popleft() for _ in range(min(poll.free, len(waiting)))]
        for name in dequeued:
            row = self.runs[name]
            row.state, row.executor, row.attempt = RunState.RUNNING, poll.executor, row.attempt + 1
        if dequeued:
            self.handouts[poll.executor, poll.seq] = dequeued
        self._leave("dequeue")
        return Handout([self._attempt(name) for name in dequeued]) if dequeued else None

    async def find_handout(self, poll: Poll) -> Handout | None:
        """See `domain.ports.Dispatch`."""
        await self._enter("find_handout")
        given = self.handouts.get((poll.executor, poll.seq), [])
        still = [name for name in given if self._runs_on(name, poll.executor)]
        return Handout([self._attempt(name) for name in still]) if still else None

    async def running_runs(self, executor: UUID, run_ids: Collection[UUID]) -> list[Running]:
        """See `domain.ports.Dispatch`."""
        await self._enter("running")
        rows = [self.runs[name] for name in run_ids if self._runs_on(name, executor)]
        return [
            Running(row.id, Tried(row.attempt, row.lost_count, row.cancel), row.policy)
            for row in rows
        ]

    async def record(self, executor: UUID, endings: Sequence[Ending]) -> list[Recorded]:
        """See `domain.ports.Dispatch`. A poisoned run can only be recorded without its output."""
        await self._enter("record")
        self.batches.append(len(endings))
        for ending in endings:
            if ending.end.run_id in self.poisoned and "poison" in ending.end.result.output:
                raise ValueError("invalid byte sequence")
            if ending.end.run_id in self.locked:
                raise BlockedError("canceling statement due to lock timeout")
        recorded = []
        for ending in endings:
            row = self.runs.get(ending.end.run_id)
            if row and self._runs_on(row.id, executor) and row.attempt == ending.end.number:
                row.state, row.reason, row.retry_in_s = (
                    ending.state,
                    ending.reason,
                    ending.retry_in_s,
                )
                self.ends[row.id, row.attempt] = ending
                recorded.append(Recorded(self._status(row)))
        self._leave("record")
        return recorded

    async def which_recorded(self, ends: Collection[tuple[UUID, int]]) -> set[UUID]:
        """See `domain.ports.Dispatch`."""
        await self._enter("recorded")
        return {name for name, number in ends if (name, number) in self.ends}

    async def queue_depth(self, pool: str, limit: int) -> int:
        """See `domain.ports.Dispatch`."""
        self.calls["queue_depth"] += 1
        return min(limit, len(self.queue[pool]))

    async def free_elsewhere(
        self, pools: Sequence[str], known: Collection[UUID]
    ) -> dict[str, list[int]]:
        """See `domain.ports.Dispatch`."""
        del pools, known
        return {}

    async def note_starts(self, started: Sequence[Started]) -> None:
        """See `domain.ports.Dispatch`."""
        self.started += started

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """See `domain.ports.Dispatch`."""
        await self._enter("heartbeat")
        if heartbeat.executor in self.ended:
            return HeartbeatAnswer(lost=True)
        self.executors[heartbeat.executor] = heartbeat
        for seq in heartbeat.closed:
            self.handouts.pop((heartbeat.executor, seq), None)
        for executor, seq in list(self.handouts):
            known = {*heartbeat.awaiting, *heartbeat.open}
            if executor == heartbeat.executor and seq < heartbeat.next_seq and seq not in known:
                self._put_back(executor, self.handouts.pop((executor, seq)))
        if heartbeat.stopped:
            self.ended.add(heartbeat.executor)
        self._leave("heartbeat")
        return HeartbeatAnswer(
            [stop for name in heartbeat.held if (stop := self._stop(heartbeat, *name))]
        )

    def _put_back(self, executor: UUID, names: list[UUID]) -> None:
        for name in names:
            if self._runs_on(name, executor):
                row = self.runs[name]
                row.state, row.executor, row.attempt = RunState.QUEUED, None, row.attempt - 1
                self.queue[row.pool].appendleft(name)

    def _stop(self, heartbeat: Heartbeat, name: UUID, number: int) -> Stop | None:
        if not self._runs_on(name, heartbeat.executor) or self.runs[name].attempt != number:
            return Stop(name, number, "superseded")
        return Stop(name, number, "cancelled") if self.runs[name].cancel else None

    def _runs_on(self, name: UUID, executor: UUID) -> bool:
        row = self.runs.get(name)
        return bool(row and row.state is RunState.RUNNING and row.executor == executor)

    def _attempt(self, name: UUID) -> Attempt:
        row = self.runs[name]
        target = Target(http=HttpTarget("http://target.invalid/"))
        return Attempt(
            *(name, row.attempt, DUE, "default", "job", target, 60.0), started_at=self.started_at
        )

    def _status(self, row: Row) -> RunStatus:
        at = DUE if row.state in FINAL else None
        return RunStatus(
            id=row.id,
            team="default",
            job="job",
            kind="scheduled",
            state=row.state,
            due_at=DUE,
            fire_at=DUE,
            attempt=row.attempt,
            reason=row.reason,
            finished_at=at,
        )

    async def _enter(self, name: str) -> None:
        self.calls[name] += 1
        await asyncio.sleep(0)
        await self.open.wait()

    def _leave(self, name: str) -> None:
        if self.lost_answers[name]:
            self.lost_answers[name] -= 1
            raise UnavailableError("the answer was lost")


class Words:
    """The Hints port."""

    def __init__(self) -> None:
        self._words: asyncio.Queue[str] = asyncio.Queue()

    async def send(self, channel: str, words: Collection[str]) -> None:
        """See `domain.ports.Hints`."""
        for word in words:
            self._words.put_nowait(word)

    async def listen(self, channel: str) -> AsyncIterator[str]:
        """See `domain.ports.Hints`."""
        while True:
            yield await self._words.get()


class Statuses:
    """The StatusCache port; `gate` lets a put hang."""

    def __init__(self) -> None:
        self.kept: dict[UUID, RunStatus] = {}
        self.gate = asyncio.Event()
        self.gate.set()

    async def put(self, statuses: Sequence[RunStatus]) -> None:
        """See `domain.ports.StatusCache`."""
        await self.gate.wait()
        self.kept |= {status.id: status for status in statuses}

    async def get(self, run_id: UUID) -> bytes | None:
        """See `domain.ports.StatusCache`."""
        status = self.kept.get(run_id)
        return msgspec.json.encode(status) if status else None


async def until(claim: Callable[[], bool], *, within_s: float = 10.0) -> None:
    """Wait until a condition, given as a function, holds."""
    async with asyncio.timeout(within_s):
        while not claim():  # the condition belongs to others, who set no event
            await asyncio.sleep(0.002)
