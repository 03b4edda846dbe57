"""A database under virtual time with maintenance windows, and a scheduler that admits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import msgspec
from tests.sql.owned import EVERY_MINUTE, MINUTE, NOON, TEAM, Owned, serve_the_default_pool

from matins.domain.executors.protocol import End, Ending, Heartbeat, Poll, RunStatus
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.windows import Window
from matins.domain.runs.admission.deciding import decide
from matins.domain.runs.admission.waiting import CarriedOut, Decision, Waiting
from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.claims import BEGINNING, AwaitedEnd
from matins.domain.runs.states import Outcome, RunState
from matins.domain.views import WindowChanged
from matins.store.dispatch import PostgresDispatch
from matins.store.waiting import PostgresWaitingRoom
from matins.store.windows import PostgresWindows

EVERYTHING = range(256)


def minute(number: float) -> datetime:
    """So many minutes after noon."""
    return NOON + number * MINUTE


def window(first: float, last: float, **given: object) -> Window:
    """Return the window `upgrade`, from one minute after noon to another."""
    made = Window("upgrade", minute(first), minute(last), reason="new disks")
    return msgspec.structs.replace(made, **given)


def labelled(**labels: str) -> JobSpec:
    """Return a job that is due every minute, named after its labels."""
    name = "-".join(labels.values()) or "job"
    return msgspec.structs.replace(EVERY_MINUTE, name=name, labels=labels)


class Windowed(Owned):
    """Windows of the team, a scheduler that admits, and one executor."""

    def __init__(self, dsn: str) -> None:
        super().__init__(dsn)
        self.windows = PostgresWindows(self.database)
        self.room = PostgresWaitingRoom(self.database, self.database)
        self.dispatch = PostgresDispatch(self.database, self.database, self.database)
        self.executor = uuid4()
        self._seq = 0

    async def put(self, wanted: Window, team: str = TEAM) -> WindowChanged:
        """Put a window now."""
        return await self.window_owner.put(team, wanted)

    async def fire_at(self, instant: datetime, name: str = "job") -> str:
        """Let a job fire at an instant; gives what the newest row says."""
        self.now = instant
        await self.fire(name)
        await self.look()
        return (await self.newest(name))[1]

    async def newest(self, name: str = "job") -> tuple[RunState, str]:
        """State, and reason or state, of a job's newest row."""
        page = await self.reads.runs_of_job(TEAM, name, None, 1)
        [run] = page.runs
        return run.state, run.reason or run.state

    async def coming_up(self) -> list[Waiting]:
        """Return what a scheduler's look finds due."""
        return await self.room.load_waiting(dict.fromkeys(EVERYTHING, BEGINNING), self.now, 1000)

    async def look(self, at: datetime | None = None) -> int:
        """One look of a scheduler, and what follows from it; gives the length of the queue."""
        self.now = at or self.now
        await self.admit(await self.coming_up())
        return await self.queued()

    async def ended(self) -> list[AwaitedEnd]:
        """Return the ends that due times are to follow."""
        return await self._agenda.ended_runs(EVERYTHING, 1000)

    async def admit(self, due: list[Waiting]) -> CarriedOut:
        """Decide about what a look found."""
        return await self.carry_out(decide(due, await self.room.admission_facts(due)))

    async def carry_out(self, decisions: list[Decision]) -> CarriedOut:
        """Do what was decided."""
        await self._hold_leases()
        done = await self.room.carry_out(self._holder, self._epochs, decisions)
        assert done.refused == set()
        return done

    async def begin(self) -> Attempt:
        """Hand out the one run that is queued."""
        [attempt] = await self.dequeue()
        return attempt

    async def dequeue(self) -> list[Attempt]:
        """Hand out what is queued."""
        self._seq += 1
        await self.dispatch.heartbeat(Heartbeat(self.executor, "one", ["default"], 9, self._seq))
        poll = Poll(self.executor, self._seq, ["default"], 9)
        handout = await self.dispatch.dequeue(poll, "default")
        assert handout is not None
        return handout.attempts

    async def fail(self, attempt: Attempt, retry_in: timedelta) -> RunStatus:
        """Let an attempt fail, to be tried again in a while."""
        end = End(attempt.run_id, attempt.number, Result(Outcome.FAILED, "no"))
        ending = Ending(end, RunState.RETRYING, "no", retry_in.total_seconds())
        [recorded] = await self.dispatch.record(self.executor, [ending])
        return recorded.status

    async def status(self, run: UUID) -> RunStatus:
        """Return how a run stands."""
        [status] = await self.reads.statuses([run])
        return status

    async def held(self, name: str = "upgrade") -> int:
        """Return how many runs a window holds."""
        return (await self.windows.show(TEAM, name)).held


@asynccontextmanager
async def windowed(dsn: str) -> AsyncIterator[Windowed]:
    """Open it, and close its connections in the end."""
    opened = Windowed(dsn)
    await serve_the_default_pool(opened.database)
    try:
        yield opened
    finally:
        await opened.database.close()
