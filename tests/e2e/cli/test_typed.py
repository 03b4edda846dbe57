"""A command that hangs fails its test alone: neither the loop nor the process waits for it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from threading import Event

import pytest
from tests.e2e.cli.typed import in_thread

HANGS = """
import asyncio
from threading import Event
from tests.e2e.cli.typed import in_thread

async def main():
    try:
        await in_thread(Event().wait, 0.01)
    except TimeoutError:
        print("timed out", flush=True)

asyncio.run(main())
"""


def test_a_process_ends_though_a_command_in_it_hangs() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", HANGS], stdout=subprocess.PIPE, timeout=60, check=True
    )
    assert ran.stdout == b"timed out\n"


async def test_a_command_may_end_when_nobody_waits_for_it_any_more() -> None:
    released, ended = Event(), Event()

    def work() -> int:
        released.wait()
        ended.set()
        return 0

    with pytest.raises(TimeoutError):
        await in_thread(work, 0.01)
    released.set()
    assert await asyncio.to_thread(ended.wait, 10)


async def test_what_a_command_raises_is_raised_where_it_is_waited_for() -> None:
    def work() -> int:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        await in_thread(work, 10)
    assert await in_thread(lambda: 3, 10) == 3
