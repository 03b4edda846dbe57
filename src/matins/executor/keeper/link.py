"""The executor's side of its keeper: starts it, talks with it, and outlives it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process
from typing import NamedTuple

import msgspec
import structlog

from matins.domain.runs.attempts import Result
from matins.domain.runs.output import Progress
from matins.domain.runs.states import Outcome
from matins.executor.keeper.frames import HEADER, KeeperLimits, Order, RunAs, encode
from matins.executor.keeper.proc import kill_marked
from matins.executor.news import News, Tell, tell_nobody
from matins.kernel.metrics import KEEPERS_LOST

log = structlog.get_logger()

START_S = 20.0
"""How long a keeper may take to start."""

SLACK_S = 30.0
"""A keeper that hasn't ended a command so long after all its own limits hangs, and is killed."""

PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH")
"""What a keeper gets of the executor's environment: what Python needs, and no secret."""

BACKOFF_MAX_S = 5.0
"""The longest wait before yet another keeper is started."""


class Command(msgspec.Struct, frozen=True):
    """What a keeper is to run: `env` is the whole environment, with the attempt's marks.

    `team`: whose it is; commands of different teams share nothing. `alone`: in a keeper process of
    its own, so that nothing else dies with it. `secrets` are masked in its output, of which `keep`
    bytes are told to be kept.
    """

    argv: list[str]
    env: dict[str, str]
    cwd: str | None
    timeout_s: float
    alone: bool = False
    team: str = ""
    account: RunAs | None = None
    secrets: list[str] = []
    keep: int = 0


class Keeper:
    """Runs commands in a process apart, which goes on when this one is frozen or killed.

    A keeper process that dies takes its commands along: they end as lost, and the next command
    starts a new one.
    """

    def __init__(self, limits: KeeperLimits = KeeperLimits()) -> None:  # noqa: B008 # immutable
        self._limits = limits
        self._process: _KeeperProcess | None = None
        self._apart: set[_KeeperProcess] = set()
        self._starting = asyncio.Lock()
        self._failures = 0
        self._contact_at: float | None = None
        self._is_closed = False

    async def start(self) -> None:
        """Start the keeper process unless it lives. Raises OSError if that fails."""
        await self._living()

    async def run(
        self, command: Command, cancel: asyncio.Event, tell: Tell = tell_nobody
    ) -> Result:
        """Run a command to its end; cancelled as a task, it is killed at once."""
        if cancel.is_set():
            return Result(Outcome.CANCELLED, "cancelled before it was started")
        try:
            if command.alone:
                return await self._run_apart(command, cancel, tell)
            process = await self._living()
        except OSError as error:
            return Result(Outcome.LOST, f"no keeper could be started: {error}")
        result = await process.run(command, cancel, tell)
        if process.is_alive:
            self._failures = 0
        return result

    async def _run_apart(self, command: Command, cancel: asyncio.Event, tell: Tell) -> Result:
        if self._is_closed:
            raise OSError("the executor is ending")
        process = await _KeeperProcess.spawn(self._limits)
        self._apart.add(process)
        process.send({"contact": self._contact_at})
        try:
            await process.ready()
            return await process.run(command, cancel, tell)
        finally:
            self._apart.discard(process)
            await process.close()

    def contact(self, asked_at: float | None = None) -> None:
        """Say that the gateway was reached.

        `asked_at`: when the question was sent that is now answered, as `Clock.elapsed_s` reads it;
        without it the keeper takes the moment at which it hears of it, which is right only if this
        process was not frozen in between.
        """
        self._contact_at = asked_at
        for process in self._processes():
            process.send({"contact": asked_at})

    async def close(self) -> None:
        """End the keeper and all that it runs."""
        self._is_closed = True
        await asyncio.gather(*(process.close() for process in self._processes()))

    def _processes(self) -> list[_KeeperProcess]:
        return [*self._apart, *([self._process] if self._process else [])]

    async def _living(self) -> _KeeperProcess:
        async with self._starting:
            if self._is_closed:
                raise OSError("the executor is ending")
            if self._process is None or not self._process.is_alive:
                if self._failures:
                    await asyncio.sleep(min(0.05 * 2**self._failures, BACKOFF_MAX_S))
                self._failures += 1
                self._process = await _KeeperProcess.spawn(self._limits)
            await self._process.ready()
            return self._process


class _Frame(msgspec.Struct):
    id: int
    result: Result | None = None
    apart: bool | None = None
    live: str = ""
    kept: str = ""
    output: str = ""
    progress: tuple[float | None, float | None, str] | None = None

    def news(self) -> News:
        """Return what it says of a command that runs."""
        progress = Progress(*self.progress) if self.progress else None
        return News(self.live, self.kept, self.output, progress)


class _Open(NamedTuple):
    """A command that runs."""

    order: Order
    end: asyncio.Future[Result]
    tell: Tell


class _KeeperProcess:
    """One keeper process and the commands that it was given."""

    def __init__(
        self,
        process: Process,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        limits: KeeperLimits,
    ) -> None:
        self._process = process
        self._reader, self._writer = streams
        self._limits = limits
        self._ids = itertools.count(1)
        self._open: dict[int, _Open] = {}
        self._is_ready = asyncio.Event()
        self._is_closing = False
        self._tending = asyncio.create_task(self._tend(), name="keeper")
        self.is_alive = True

    @classmethod
    async def spawn(cls, limits: KeeperLimits) -> _KeeperProcess:
        """Start the process, in a session of its own: what ends the executor doesn't reach it."""
        arguments = ("-P", "-m", "matins.executor.keeper", json.dumps(limits._asdict()))
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    *arguments,
                    stdin=theirs.fileno(),
                    stdout=PIPE,
                    env={name: os.environ[name] for name in PASSED_ON if name in os.environ},
                    start_new_session=True,
                )
            streams = await asyncio.open_unix_connection(sock=ours)
        except BaseException:
            ours.close()
            raise
        return cls(process, streams, limits)

    async def ready(self) -> None:
        """Wait until it answers. Raises OSError if it does not."""
        try:
            async with asyncio.timeout(START_S):
                await self._is_ready.wait()
        except TimeoutError as error:
            await self.close()
            raise OSError(f"it was not ready within {START_S:g} s") from error
        if not self.is_alive:
            raise OSError(f"it ended with exit code {self._process.returncode}")

    def send(self, frame: dict[str, object]) -> None:
        """Tell it something; a dead one hears nothing."""
        if self.is_alive:
            self._writer.write(encode(frame))

    async def run(self, command: Command, cancel: asyncio.Event, tell: Tell) -> Result:
        """See Keeper.run. Nothing is awaited between the look at `cancel` and the order."""
        if cancel.is_set():
            return Result(Outcome.CANCELLED, "cancelled before it was started")
        number = next(self._ids)
        order = Order(
            *(number, command.argv, command.env, command.cwd, command.timeout_s),
            *(command.team, command.account),
            secrets=command.secrets,
            keep=command.keep,
        )
        end: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._open[number] = _Open(order, end, tell)
        self.send({"run": order._asdict()})
        stopping = asyncio.create_task(self._cancel_when(cancel, number))
        try:
            await asyncio.wait({end}, timeout=self._patience_s(command.timeout_s))
            if not end.done():
                self._kill()
            return await asyncio.shield(end)
        except asyncio.CancelledError:
            self.send({"kill": number})
            await asyncio.wait({end}, timeout=self._patience_s(0))
            raise
        finally:
            stopping.cancel()

    async def close(self) -> None:
        """Hang up: it kills what it runs, and ends."""
        self._is_closing = True
        self._writer.close()
        await asyncio.shield(self._tending)

    def _patience_s(self, timeout_s: float) -> float:
        limits = self._limits
        return timeout_s + limits.grace_s + limits.drain_s + 2 * limits.clear_s + SLACK_S

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def _cancel_when(self, cancel: asyncio.Event, number: int) -> None:
        await cancel.wait()
        self.send({"cancel": number})

    async def _tend(self) -> None:
        """Listen until the keeper has ended, or can't be listened to; then it is buried."""
        await self._listen()
        self.is_alive = False
        self._writer.close()  # unless it is at its end, this tells it to end
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(2 * self._limits.clear_s):
                await self._process.stdout.read()  # until the last of its processes has cleared up
        except TimeoutError:
            self._kill()
        await self._process.wait()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()
        await _kill_remains([command.order for command in self._open.values()])
        self._lose_commands()

    async def _listen(self) -> None:
        try:
            while True:
                size = int.from_bytes(await self._reader.readexactly(HEADER), "big")
                frame = msgspec.json.decode(await self._reader.readexactly(size), type=_Frame)
                self._hear(frame)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except Exception:  # whatever it is, the keeper must be replaced
            log.exception("keeper.unheard")

    def _hear(self, frame: _Frame) -> None:
        if frame.apart is not None:
            log.info("keeper.started", pid=self._process.pid, apart=frame.apart)
            self._is_ready.set()
        command = self._open.get(frame.id)
        if command is None:
            return
        if frame.result is None:
            command.tell(frame.news())
            return
        del self._open[frame.id]
        if not command.end.done():
            command.end.set_result(frame.result)

    def _lose_commands(self) -> None:
        """Say that its commands are lost, now that nothing is left of them."""
        lost = Result(Outcome.LOST, "its keeper ended before it")
        if not self._is_closing:
            lost = msgspec.structs.replace(lost, company=len(self._open) - 1)
            KEEPERS_LOST.inc()
            log.error("keeper.lost", pid=self._process.pid, commands=len(self._open))
        for command in self._open.values():
            if not command.end.done():
                command.end.set_result(lost)
        self._open.clear()
        self._is_ready.set()


async def _kill_remains(orders: list[Order]) -> None:
    """Kill what bears the marks of these attempts until nothing is found, for some seconds."""
    mark_sets = [order.marks() for order in orders]
    for _ in range(100):
        if not mark_sets or not await asyncio.to_thread(kill_marked, mark_sets):
            return
        await asyncio.sleep(0.02)
