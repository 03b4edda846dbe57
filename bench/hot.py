"""What the hot statements cost PostgreSQL, in processor time of its own process for each call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from uuid import UUID, uuid4

import asyncpg

from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll
from matins.domain.runs.admission.deciding import decide
from matins.domain.runs.admission.waiting import Waiting
from matins.domain.runs.attempts import Result
from matins.domain.runs.claims import BEGINNING, Claim
from matins.domain.runs.states import Outcome, RunState
from matins.domain.values.ids import partition_of, run_id
from matins.store.agenda import PostgresAgenda
from matins.store.database import Database
from matins.store.dispatch import PostgresDispatch
from matins.store.leases import PostgresLeases
from matins.store.waiting import PostgresWaitingRoom
from matins.store.watch import PostgresWatch

Figures = dict[str, float]

BATCH = 100

WARM = 10
"""After so many rounds plans are made and pages are read."""

_ALL = range(256)
_BEGINNING = dict.fromkeys(_ALL, BEGINNING)
_SUCCEEDED = Result(Outcome.SUCCEEDED)
_FAILED = Result(Outcome.FAILED, "no")


class Engine:
    """Schedulers and a gateway on one session, whose server process is watched."""

    def __init__(self, database: Database, pid: int) -> None:
        self.pid = pid
        self.spent_us: dict[str, list[float]] = defaultdict(list)
        self._leases = PostgresLeases(database)
        self._agenda = PostgresAgenda(database, database, self._leases)
        self._room = PostgresWaitingRoom(database, database)
        self._dispatch = PostgresDispatch(database, database, database)
        self._watch = PostgresWatch(database)
        self._executor, self._holder = uuid4(), uuid4()
        self._epochs: dict[int, int] = {}
        self._seq = 0

    async def start(self) -> None:
        """Take all leases."""
        await self._leases.count_alive(1)
        self._epochs = await self._leases.acquire(self._holder, 256, 36_000)

    async def round(self, jobs: list[UUID], due: datetime) -> None:
        """Run a batch of jobs: they are claimed, handed out, fail, are admitted and succeed."""
        claims = [
            Claim(run_id(job, due, "scheduled"), job, 1, partition_of(job), "default", due, due)
            for job in jobs
        ]
        async with self.watched("heartbeat"):
            await self._dispatch.heartbeat(self._heartbeat([]))
        async with self.watched("dequeue, empty"):
            await self._dequeue()
        async with self.watched(f"claim {BATCH}"):
            made = await self._agenda.claim(self._holder, self._epochs, claims)
        assert len(made.made) == len(jobs), made
        async with self.watched(f"dequeue {BATCH}"):
            held = await self._dequeue()
        async with self.watched(f"heartbeat, {BATCH} held"):
            await self._dispatch.heartbeat(self._heartbeat([(run, 1) for run in held]))
        async with self.watched(f"record {BATCH}"):
            await self._record(held, 1, RunState.RETRYING)
        async with self.watched("look for retries"):
            retries = await self._room.load_waiting(_BEGINNING, due + timedelta(days=1), BATCH)
        await self._admit(retries)
        assert await self._dequeue() == held
        await self._record(held, 2, RunState.SUCCEEDED)
        async with self.watched("look for ends, lost executors"):
            await self._agenda.ended_runs(_ALL, 1000)
            await self._watch.executors()
            await self._watch.abandoned_runs(1000)

    async def _admit(self, retries: list[Waiting]) -> None:
        async with self.watched(f"admit {BATCH}"):
            decisions = decide(retries, await self._room.admission_facts(retries))
            await self._room.carry_out(self._holder, self._epochs, decisions)

    async def _dequeue(self) -> list[UUID]:
        self._seq += 1
        poll = Poll(self._executor, self._seq, ["default"], BATCH)
        given = await self._dispatch.dequeue(poll, "default")
        return sorted(attempt.run_id for attempt in given.attempts) if given else []

    async def _record(self, runs: list[UUID], number: int, state: RunState) -> None:
        result, wait_s = (_SUCCEEDED, None) if state is RunState.SUCCEEDED else (_FAILED, 0.0)
        ends = [Ending(End(run, number, result), state, result.reason, wait_s) for run in runs]
        assert len(await self._dispatch.record(self._executor, ends)) == len(runs)

    def _heartbeat(self, held: list[tuple[UUID, int]]) -> Heartbeat:
        polls = [self._seq] if held else []
        return Heartbeat(
            self._executor, "bench", ["default"], BATCH, self._seq + 1, [], polls, [], held
        )

    @asynccontextmanager
    async def watched(self, name: str) -> AsyncIterator[None]:
        """Note the processor time that the server's process spends meanwhile."""
        before = cpu_us(self.pid)
        yield
        self.spent_us[name].append(cpu_us(self.pid) - before)


def cpu_us(pid: int) -> float:
    """Processor time of a process since it began, in microseconds."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1000


async def compare(dsns: list[str], jobs: list[UUID], due: datetime, rounds: int) -> list[Figures]:
    """Play the same rounds in several databases by turns; gives medians in microseconds."""
    for dsn in dsns:  # or the server would do it in between
        vacuum = await asyncpg.connect(dsn)
        await vacuum.execute("VACUUM ANALYZE")
        await vacuum.close()
    databases = [Database(dsn, name="hot", size=1, by_key_only=True) for dsn in dsns]
    engines = []
    for database in databases:
        async with database.session() as session:
            pid = await session.fetchval("SELECT pg_backend_pid()")
        engines.append(Engine(database, pid))
        await engines[-1].start()
    for index in range(rounds):
        first = index * BATCH % (len(jobs) - BATCH)
        for engine in engines:
            await engine.round(jobs[first : first + BATCH], due + timedelta(seconds=index))
            if index == WARM:
                engine.spent_us.clear()
    for database in databases:
        await database.close()
    return [{name: median(spent) for name, spent in engine.spent_us.items()} for engine in engines]
