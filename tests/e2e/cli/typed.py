"""Commands typed at an API that is served in this process, on real PostgreSQL and Valkey."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any

import msgspec
import pytest

from matins.cli.app import run

ENDS_S = 60.0
"""So long a command may take. It is less than a test may, so that the test says which one hung."""


class Ran(msgspec.Struct):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output as one JSON document."""
        return json.loads(self.out)


class Typist:
    """Types commands; each runs in a thread, as it has an event loop of its own."""

    def __init__(self, printed: pytest.CaptureFixture[str]) -> None:
        self._printed = printed

    async def __call__(self, *words: str) -> Ran:
        self._printed.readouterr()
        code = await in_thread(lambda: run(words), ENDS_S)
        shown = self._printed.readouterr()
        return Ran(code, shown.out, shown.err)


async def in_thread(work: Callable[[], int], within_s: float) -> int:
    """Return what work returns in a thread of its own. Raises TimeoutError when it takes longer.

    Neither the loop nor the process waits for the thread at its end, as they do for those of
    `asyncio.to_thread`: work that hangs fails its test, and the other tests go on.
    """
    outcome = Future[int]()
    outcome.set_running_or_notify_cancel()  # so that it may end when nobody waits any more

    def do() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # raised where it is waited for
            outcome.set_exception(error)

    Thread(target=do, name="typed", daemon=True).start()
    async with asyncio.timeout(within_s):
        return await asyncio.wrap_future(outcome)
