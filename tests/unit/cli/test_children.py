"""Roles as children of `matins up`: stopped in order, or at once."""

from __future__ import annotations

import asyncio
import signal

from matins.cli.children import Child


async def test_a_role_that_takes_its_time_is_killed_once_there_is_hurry() -> None:
    child = Child("executor", [], {})
    child._process = await asyncio.create_subprocess_exec(
        *("sh", "-c", "trap '' TERM; echo ready; sleep 600 & wait; wait"),
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert child._process.stdout
    await child._process.stdout.readline()
    hurry = asyncio.Event()
    stopping = asyncio.create_task(child.stop(600, hurry))
    await asyncio.sleep(0)
    assert not stopping.done()
    hurry.set()
    async with asyncio.timeout(10):
        await stopping
    assert child._process.returncode == -signal.SIGKILL
    assert await child._process.stdout.read() == b""  # nor is any of its own processes left
