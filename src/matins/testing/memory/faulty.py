"""Faults at every await of a port: a process that calls may crash or freeze, an answer be lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, TypeVar, cast

from matins.domain.runs.claims import Claimed
from matins.domain.values.errors import MatinsError, UnavailableError
from matins.testing.virtual import VirtualClock

T = TypeVar("T")


@dataclass
class FaultRates:
    """How likely it is that something befalls a call, as shares of 1; shared by all processes."""

    fail_before: float = 0.0
    """It is not done, and says "unavailable"."""
    fail_after: float = 0.0
    """It is done, and says "unavailable"."""
    straggle: float = 0.0
    """It says "unavailable", and is done some time later."""
    slow: float = 0.0
    """It takes up to `slow_s` seconds."""
    slow_s: float = 3.0
    late_s: float = 12.0
    """The longest that a straggler takes."""
    hints_lost: float = 0.0
    away: bool = False
    """Nothing can be reached at all."""

    def clear(self) -> None:
        """Let nothing befall any call from now on."""
        self.fail_before = self.fail_after = self.straggle = self.slow = self.hints_lost = 0.0
        self.away = False


def usual_fault_rates() -> FaultRates:
    """Return the rates of a simulation: of a hundred calls one or two go wrong."""
    return FaultRates(
        fail_before=0.004, fail_after=0.006, straggle=0.005, slow=0.01, hints_lost=0.2
    )


class Process:
    """A simulated process: its ports and its clock answer only while it runs.

    `trap`, if set, is the name of a method: in the middle of the next call of it the process is
    frozen for `trap_s` seconds, or crashes if that is None, and the call itself comes late.
    """

    def __init__(
        self, clock: VirtualClock, rng: Random, rates: FaultRates, seen: Counter[str]
    ) -> None:
        self.clock = clock
        self.rng = rng
        self.rates = rates
        self.seen = seen
        self.crashed = asyncio.Event()
        self.stopping = asyncio.Event()
        """Set when it is asked to end in good order."""
        self.trap = ""
        self.trap_s: float | None = None
        self.cut: Literal["", "calls", "answers"] = ""
        """The direction in which nothing passes between this process and all others."""
        self._stragglers: set[asyncio.Task[Any]] = set()

    def crash(self) -> None:
        """End it at this instruction; nothing that it waits for will ever come."""
        self.clock.stop()
        self.crashed.set()

    async def call(self, name: str, method: Callable[[], Awaitable[T]]) -> T:
        """Call a port's method, with whatever befalls the call. Raises UnavailableError."""
        await self.clock.gate()
        rng, rates = self.rng, self.rates
        if self.trap == name:
            self._spring(name, method)
            await self.clock.gate()
            raise UnavailableError("the answer came while the process was frozen")
        await asyncio.sleep(rng.uniform(0.0005, 0.005))
        fate = rng.random()
        if rates.away or self.cut == "calls" or fate < rates.fail_before:
            raise UnavailableError("it could not be reached")
        fate -= rates.fail_before
        if fate < rates.straggle:
            self._later(name, method, rng.uniform(0, rates.late_s))
            raise UnavailableError("there was no answer in time")
        fate -= rates.straggle
        if fate < rates.slow:
            await asyncio.sleep(rng.uniform(0, rates.slow_s))
        answer = await method()
        self._note(answer)
        await self.clock.gate()
        if self.cut == "answers":
            self.seen[f"{name}: answers cut off"] += 1
            raise UnavailableError("no answer comes through")
        if rates.fail_after and rng.random() < rates.fail_after:
            self.seen[f"{name}: answer lost"] += 1
            raise UnavailableError("the answer was lost")
        return answer

    async def hear(self, words: AsyncIterator[str]) -> AsyncIterator[str]:
        """Listen to hints, some of which get lost."""
        async for word in words:
            await self.clock.gate()
            if self.cut != "answers" and self.rng.random() >= self.rates.hints_lost:
                yield word

    def _note(self, answer: object) -> None:
        if isinstance(answer, Claimed) and answer.refused:
            self.seen["late claim fenced"] += 1

    def _spring(self, name: str, method: Callable[[], Awaitable[object]]) -> None:
        """Let the trap close on the process, while its call is still on the way."""
        self.trap = ""
        self.seen[f"{name}: caught in it"] += 1
        # At once, or when the lease under which it was sent has just run out.
        late_s = self.rates.late_s
        bounds = self.rng.choice(((0.0, 1.0), (0.8 * late_s, late_s)))
        self._later(name, method, self.rng.uniform(*bounds))
        if self.trap_s is None:
            self.crash()
        else:
            self.clock.freeze(self.trap_s)

    def _later(self, name: str, method: Callable[[], Awaitable[object]], late_s: float) -> None:
        async def arrive() -> None:
            await asyncio.sleep(late_s)
            with suppress(MatinsError):  # nobody is left to be told
                self._note(await method())

        self.seen[f"{name}: came late"] += 1
        task = asyncio.create_task(arrive())
        self._stragglers.add(task)
        task.add_done_callback(self._stragglers.discard)


class _Faulty:
    def __init__(self, port: object, process: Process) -> None:
        self._port = port
        self._process = process

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self._port, name)
        if name == "listen":
            return lambda channel: self._process.hear(method(channel))
        if name == "transact":
            return self._transact
        return lambda *args, **kwargs: self._process.call(name, lambda: method(*args, **kwargs))

    async def _transact(
        self, step: Callable[[object], Awaitable[object]], **named: object
    ) -> object:
        """Play a step of which each statement is a call, and so is its end."""
        transact: Callable[..., Awaitable[object]] = self._port.transact  # type: ignore[attr-defined]

        async def play(tx: object) -> object:
            return await step(faulty(tx, self._process))

        return await self._process.call("transact", lambda: transact(play, **named))


def faulty(port: T, process: Process) -> T:
    """Return the same port, as a process sees it whose calls fail at its rates."""
    return cast("T", _Faulty(port, process))
