"""The skeleton of all that runs for long: a role is a set of tasks that live and die together."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, NoReturn, Protocol

import structlog

from matins.domain.values.errors import UnavailableError
from matins.kernel.contact import Contact
from matins.kernel.metrics import TASKS_RESTARTED

log = structlog.get_logger()

RESTART_PAUSE_S = 1.0
"""Between the end of a task that should have none and its next beginning."""


class Service(Protocol):
    """Something that runs until it is stopped."""

    async def run(self) -> None:
        """Work until `stop` was called; an exception takes the whole role down."""

    async def stop(self) -> None:
        """Ask `run` to come to an end, and return at once."""


class Stopwatch(Protocol):
    """What `repeat` needs of a clock."""

    def elapsed_s(self) -> float:
        """Return how long the host has been up, in seconds."""

    async def sleep(self, seconds: float) -> None:
        """Wait so long."""


async def run_services(services: Sequence[Service], stopping: asyncio.Event) -> None:
    """Run services until `stopping` is set, then stop them, last first, and wait for their end.

    A service that raises, or that ends before it was asked to, takes the others down with it.
    """
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_run_until_stopped(service, stopping)) for service in services]
        await stopping.wait()
        for service, task in reversed(list(zip(services, tasks, strict=True))):
            await service.stop()
            await asyncio.wait([task])


async def _run_until_stopped(service: Service, stopping: asyncio.Event) -> None:
    await service.run()
    if not stopping.is_set():
        raise RuntimeError(f"{type(service).__name__} ended without being asked to")


async def repeat(
    work: Callable[[], Awaitable[object]],
    every_s: float,
    clock: Stopwatch,
    stopping: asyncio.Event,
    *,
    name: str,
) -> None:
    """Do the work again and again, `every_s` apart, until `stopping` is set.

    While a peer is unavailable it is tried again after the same pause, and the log says when that
    begins, now and then meanwhile, and when it is over; anything else is raised.
    """
    contact = Contact(clock.elapsed_s, "work.unavailable", "work.available", work=name)
    while not stopping.is_set():
        try:
            await work()
        except UnavailableError as error:
            contact.failed(error)
        else:
            contact.worked()
        await pause(every_s, clock, stopping)


async def repeat_at_hints(
    look: Callable[[], Awaitable[float]],
    retry_s: float,
    clock: Stopwatch,
    hinted: asyncio.Event,
    stopping: asyncio.Event,
    *,
    name: str,
) -> None:
    """Look again and again until `stopping` is set: so many seconds after a look as it returned,
    and at once while `hinted` is set, which is for `look` to clear.

    While a peer is unavailable, it is tried again after `retry_s`, and logged as by `repeat`;
    anything else is raised.
    """
    contact = Contact(clock.elapsed_s, "work.unavailable", "work.available", work=name)
    while not stopping.is_set():
        try:
            pause_s = await look()
            contact.worked()
        except UnavailableError as error:
            contact.failed(error)
            pause_s = retry_s
        await pause(pause_s, clock, hinted, stopping)


@asynccontextmanager
async def background(
    work: Callable[[], Awaitable[object]], clock: Stopwatch, *, name: str
) -> AsyncIterator[None]:
    """Do work that should never end for as long as the context lasts; see `restarted`."""
    task = asyncio.create_task(restarted(work, clock, name=name))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def restarted(
    work: Callable[[], Awaitable[object]], clock: Stopwatch, *, name: str
) -> NoReturn:
    """Do work that should never end; begin it again, and count that, whenever it does."""
    while True:
        try:
            await work()
            log.error("task.ended", task=name)
        except Exception:  # whatever it is: without this task its service would limp on unseen
            log.exception("task.died", task=name)
        TASKS_RESTARTED.labels(name).inc()
        await clock.sleep(RESTART_PAUSE_S)


async def pause(seconds: float, clock: Stopwatch, *events: asyncio.Event) -> None:
    """Wait for so long, or until one of the events is set."""
    if any(event.is_set() for event in events):
        return
    waits: list[Coroutine[Any, Any, Any]] = [
        clock.sleep(seconds),
        *(event.wait() for event in events),
    ]
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def stop_on_signals(stopping: asyncio.Event, at_once: Callable[[], None] | None = None) -> None:
    """Let SIGTERM and SIGINT set `stopping`. Call it in the running loop of the main thread.

    SIGINT while it stops, as by a second Ctrl-C, calls `at_once`; without that, it ends the process
    here and now.
    """
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        if stopping.is_set():
            (at_once or _end_at_once)()
        stopping.set()

    loop.add_signal_handler(signal.SIGTERM, stopping.set)
    loop.add_signal_handler(signal.SIGINT, interrupt)


def _end_at_once() -> None:
    """End by SIGINT, so that a shell knows why."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.raise_signal(signal.SIGINT)
