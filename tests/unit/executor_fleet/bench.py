"""An executor over rows in memory: a link that can be cut, and a runner that does as told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from random import Random
from uuid import UUID

from tests.unit.gateway.rows import Rows, Statuses

from matins.domain.executors.protocol import (
    Handout,
    Heartbeat,
    HeartbeatAnswer,
    Output,
    OutputAnswer,
    Poll,
    Report,
    ReportAnswer,
)
from matins.domain.runs.attempts import Attempt, Result
from matins.domain.runs.states import Outcome
from matins.domain.values.errors import MatinsError, UnavailableError
from matins.executor.fleet import Executor
from matins.executor.news import Tell
from matins.gateway.output import OutputReceiver
from matins.gateway.report import Recorder
from matins.kernel.settings import Settings
from matins.testing.memory.hints import MemoryHints
from matins.testing.memory.output import MemoryKeptOutput, MemoryLiveOutput
from matins.testing.virtual import VirtualClock, VirtualTime, run_virtual


class CutLink:
    """The GatewayLink port. Calls named in `away` fail before, in `deaf` after doing their work."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.recorder = Recorder(rows, Statuses(), MemoryHints(), Random(1))
        self.away: set[str] = set()
        self.deaf: set[str] = set()
        self.refusal: MatinsError | None = None
        self.polls: list[Poll] = []
        self.reports: list[Report] = []
        self.heartbeats: list[Heartbeat] = []
        self.outputs: list[Output] = []
        self.live = MemoryLiveOutput()
        self.kept = MemoryKeptOutput()
        self.receiver = OutputReceiver(self.live, self.kept)
        self.heartbeat_s = 0.0
        """How long the answer to a heartbeat is on its way."""

    async def poll(self, poll: Poll) -> Handout:
        """See `domain.ports.GatewayLink`."""
        self.polls.append(poll)
        self._enter("poll")
        waits = 0.0
        handout = await self.rows.find_handout(poll) if poll.repeat else None
        while handout is None and waits < poll.wait_s:
            for pool in poll.pools:
                handout = await self.rows.dequeue(poll, pool)
                if handout is not None:
                    break
            else:
                waits += 0.05
                await asyncio.sleep(0.05)
        self._leave("poll")
        return handout or Handout()

    async def report(self, report: Report) -> ReportAnswer:
        """See `domain.ports.GatewayLink`."""
        self.reports.append(report)
        self._enter("report")
        answer = await self.recorder.report(report)
        self._leave("report")
        return answer

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """See `domain.ports.GatewayLink`."""
        self.heartbeats.append(heartbeat)
        self._enter("heartbeat")
        answer = await self.rows.heartbeat(heartbeat)
        await asyncio.sleep(self.heartbeat_s)
        self._leave("heartbeat")
        return answer

    async def output(self, output: Output) -> OutputAnswer:
        """See `domain.ports.GatewayLink`."""
        self.outputs.append(output)
        self._enter("output")
        answer = await self.receiver.output(output)
        self._leave("output")
        return answer

    def _enter(self, name: str) -> None:
        if self.refusal:
            raise self.refusal
        if name in self.away:
            raise UnavailableError(f"{name}: cut")

    def _leave(self, name: str) -> None:
        if name in self.deaf:
            raise UnavailableError(f"{name}: no answer came")


class Obedient:
    """A runner whose attempts last `lasts_s`, unless `cancel` ends them; `deaf` ones go on."""

    def __init__(self) -> None:
        self.lasts_s = 0.0
        self.is_deaf = False
        self.error: Exception | None = None
        self.started: list[tuple[UUID, int]] = []
        self.tells: dict[tuple[UUID, int], Tell] = {}
        self.running: set[tuple[UUID, int]] = set()
        self.is_closed = False

    async def run(self, attempt: Attempt, cancel: asyncio.Event, tell: Tell) -> Result:
        """See `executor.targets.Runner`."""
        name = (attempt.run_id, attempt.number)
        self.tells[name] = tell
        self.started.append(name)
        if self.error:
            raise self.error
        if not self.lasts_s:
            return Result(Outcome.SUCCEEDED)
        self.running.add(name)
        try:
            async with asyncio.timeout(self.lasts_s):
                await (asyncio.Event() if self.is_deaf else cancel).wait()
        except TimeoutError:
            return Result(Outcome.SUCCEEDED)
        finally:
            self.running.discard(name)
        return Result(Outcome.CANCELLED, "cancelled")

    async def close(self) -> None:
        """See `executor.targets.Runner`."""
        self.is_closed = True


class Bench:
    """An executor and all that it touches, in virtual time."""

    def __init__(self, slots: int = 30) -> None:
        self.rows = Rows()
        self.link = CutLink(self.rows)
        self.runner = Obedient()
        self.contacts: list[float] = []
        self.clock = VirtualClock(VirtualTime())
        self.settings = Settings(slots=slots)
        self.executor = Executor(
            self.link,
            {"http": self.runner},
            self.clock,
            Random(1),
            self.settings,
            "bench",
            self.contacts.append,
        )

    async def until(self, claim: Callable[[], bool], *, within_s: float = 120.0) -> float:
        """Let time pass until a condition holds; gives the seconds that it took."""
        began = self.clock.elapsed_s()
        async with asyncio.timeout(within_s):
            while not claim():  # virtual time costs nothing
                await asyncio.sleep(0.01)
        return self.clock.elapsed_s() - began


@asynccontextmanager
async def at_work(bench: Bench) -> AsyncIterator[Bench]:
    """Run the executor until the end of the block, and then stop it."""
    running = asyncio.create_task(bench.executor.run())
    yield bench
    await bench.executor.stop()
    await running


def virtual(scenario: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Run a test in virtual time."""

    @wraps(scenario)
    def test() -> None:
        async def main() -> None:
            await scenario()

        run_virtual(main())

    return test
