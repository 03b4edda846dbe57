"""Virtual time: an event loop that never waits, and a clock for each process simulated in it."""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

P = ParamSpec("P")
T = TypeVar("T")

START = datetime(2026, 1, 1, tzinfo=UTC)
"""Where virtual time begins unless told otherwise."""

_READ_ERROR = timedelta(milliseconds=20)


class DeadlockError(RuntimeError):
    """Nothing is ready and no timer is set: the program waits for what can never come."""


class _NoWait(selectors.BaseSelector):
    """A selector that moves the loop's time forward instead of sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self._inner = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout == 0:  # the loop has work, and nothing here waits for what comes from outside
            return []
        ready = self._inner.select(0)
        if not ready and timeout is None:
            raise DeadlockError("nothing is ready and no timer is set")
        if not ready and timeout:
            self.now += timeout
        return ready

    def register(
        self,
        fileobj: FileDescriptorLike,
        events: int,
        data: object = None,
    ) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def get_map(self) -> Mapping[FileDescriptorLike, selectors.SelectorKey]:
        return self._inner.get_map()

    def close(self) -> None:
        self._inner.close()


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in which a day of sleeping takes no time. Raises DeadlockError.

    Only for code that waits on timers and on other tasks: real sockets and threads know nothing
    of virtual time.
    """

    def __init__(self) -> None:
        self._no_wait = _NoWait()
        super().__init__(self._no_wait)
        # Timers this near count as due. asyncio's own 1 ns is lost in a float after a month, and
        # the loop would go round for ever: nothing else lets its time pass.
        self._clock_resolution = 1e-6

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._no_wait.now


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in virtual time; tasks that are left over are cancelled."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def in_virtual_time(main: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make a plain function, such as a test, of a coroutine function that wants virtual time."""

    @functools.wraps(main)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_virtual(main(*args, **kwargs))

    return run


class VirtualTime:
    """The database's clock in virtual time. Make it inside of the running loop."""

    def __init__(self, start: datetime = START) -> None:
        self._loop = asyncio.get_running_loop()
        self._start = start - timedelta(seconds=self._loop.time())
        self.jumped_s = 0.0
        """The sum of all jumps so far, in seconds."""

    def now(self) -> datetime:
        """Return the database's time."""
        return self._start + timedelta(seconds=self._loop.time() + self.jumped_s)

    def jump(self, seconds: float) -> None:
        """Let the database's clock jump, forwards or backwards."""
        self.jumped_s += seconds


class VirtualClock:
    """The clock of one simulated process, which can be frozen or stopped for good.

    `boot_s` is how long its host has been up; `behind_s` by how much it takes the database's time
    to be earlier than it is, as a process does that measured it over a slow connection.
    """

    def __init__(self, time: VirtualTime, *, boot_s: float = 0.0, behind_s: float = 0.0) -> None:
        self._loop = asyncio.get_running_loop()
        self._time = time
        self._boot_s = boot_s
        self._behind = min(timedelta(seconds=behind_s), _READ_ERROR)
        self._jumped_s = time.jumped_s
        self._frozen_until = 0.0
        self.freezes = 0
        """How often it was frozen."""
        self._stopped: asyncio.Future[None] | None = None

    @property
    def jumped_s(self) -> float:
        """The sum of all jumps of the database's clock, seen or not."""
        return self._time.jumped_s

    def now(self) -> datetime:
        """Return the database's time as this process believes it to be, never ahead of it."""
        unseen = timedelta(seconds=self._time.jumped_s - self._jumped_s)
        return self._time.now() - unseen - self._behind

    def elapsed_s(self) -> float:
        """Seconds since this process's host was booted."""
        return self._loop.time() + self._boot_s

    async def sleep(self, seconds: float) -> None:
        """Wait so long, and until the process is no longer frozen."""
        await asyncio.sleep(max(seconds, 0))
        await self.gate()

    def host_ahead_s(self) -> float:
        """Return how far the host's wall clock is ahead: simulated hosts have none."""
        return 0.0

    async def measure(self) -> bool:
        """See the database's jumps; False if there was one since the last time."""
        await self.gate()
        same = self._jumped_s == self._time.jumped_s
        self._jumped_s = self._time.jumped_s
        return same

    def freeze(self, seconds: float) -> None:
        """Stop the process at its next step, as SIGSTOP does, and let it go on after so long."""
        self.freezes += 1
        self._frozen_until = max(self._frozen_until, self._loop.time() + seconds)

    def stop(self) -> None:
        """Stop the process for good at its next step, as SIGKILL does."""
        if self._stopped is None:
            self._stopped = self._loop.create_future()

    async def gate(self) -> None:
        """Pass if the process runs; wait while it is frozen, for ever once it is stopped."""
        left_s = self._frozen_until - self._loop.time()
        if self._stopped is None and left_s > 0:
            await asyncio.sleep(left_s)
            await self.gate()
        elif self._stopped is not None:
            await asyncio.shield(self._stopped)

    def dispose(self) -> None:
        """Cancel all that waits for a process which was stopped, at the end of a simulation."""
        if self._stopped is not None:
            self._stopped.cancel()
